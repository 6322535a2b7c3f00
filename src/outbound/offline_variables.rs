//! What `--offline` tells programs that gosling starts. They are only asked: what a child process connects
//! to is its own affair, and a network of its own would take loopback servers and the user's ids from it.

use std::env;

/// By these variables launchers of programs, such as `npx` and `uvx`, use what is installed or cached, and
/// otherwise fail at once instead of waiting for a network.
const VARIABLES: [(&str, &str); 5] = [
    ("npm_config_offline", "true"),
    ("UV_OFFLINE", "1"),
    ("PIP_NO_INDEX", "1"),
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
];

/// The variables for a child process, without those that this process has a value for.
pub(crate) fn for_children() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_unset = |(name, _): &(&str, &str)| env::var_os(name).is_none();
    VARIABLES.into_iter().filter(is_unset)
}
