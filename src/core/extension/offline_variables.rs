//! The environment variables that `--offline` sets for child processes. They are a request, not a barrier:
//! gosling does not control what a child connects to. A network namespace would also cut the child off from
//! loopback servers and change its user ids.

use std::env;

/// They make package launchers such as `npx` and `uvx` use what is installed or cached, and otherwise fail at
/// once instead of waiting for a network.
const VARIABLES: [(&str, &str); 5] = [
    ("npm_config_offline", "true"),
    ("UV_OFFLINE", "1"),
    ("PIP_NO_INDEX", "1"),
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
];

/// The variables to set for a child process: those that this process does not have.
pub fn for_children() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_unset = |(name, _): &(&str, &str)| env::var_os(name).is_none();
    VARIABLES.into_iter().filter(is_unset)
}
