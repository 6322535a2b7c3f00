//! Extensions of Goose that gosling does not have: the errors that name an alternative.

use super::{ExtensionConfig, platform_extensions};
use crate::builtin;
use crate::features;
use crate::sys::lock;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Goose's builtin extensions that gosling does not have, one a line, and an alternative for each.
const BUILTINS: &str = "\
computercontroller; `developer` runs scripts and commands; for a browser use an MCP server
autovisualiser; `developer` can write a chart to a file
tutorial";

/// The platform extensions of Goose (parts of its agent, up to its later releases) that gosling does not
/// have, one a line, and an alternative for each.
const PLATFORM: &str = "\
analyze; `developer` has a tool `analyze`
apps
chatrecall; GET /sessions/search searches earlier messages
code_execution
extensionmanager; clients add and remove extensions with /agent/add_extension and /agent/remove_extension
orchestrator
skills
summon
tom; write permanent instructions for the model into a file `.goosehints`";

/// The error for an unknown builtin extension with this key.
pub(super) fn builtin(key: &str) -> String {
    match alternative(BUILTINS, key) {
        Some(alternative) => format!(
            "gosling does not ship this extension of Goose; disable it, or, where Goose is installed, \
             configure it as type `stdio` with `cmd: goose` and `args: [mcp, {key}]`{alternative}"
        ),
        None => {
            let names = builtin::names();
            let known = match &*names {
                [] => String::new(),
                names => format!(", only {}", names.join(", ")),
            };
            let hint = features::hint_among(features::SERVERS, key);
            format!("there is no builtin extension of this name{known}{hint}")
        }
    }
}

/// The error for an unknown platform extension with this key.
pub(super) fn platform(key: &str) -> String {
    match alternative(PLATFORM, key) {
        Some(alternative) => {
            format!(
                "this is a part of Goose's own agent that gosling does not have; disable it{alternative}"
            )
        }
        None => {
            let known = platform_extensions::OURS.join(", ");
            format!("there is no platform extension of this name, only {known}")
        }
    }
}

/// Whether an extension with this key is, or may become, a part of Goose or gosling. Users could take another one
/// of this name for it.
pub fn is_reserved(key: &str) -> bool {
    features::SERVERS.contains(&key)
        || platform_extensions::is_ours(key)
        || alternative(BUILTINS, key).is_some()
        || alternative(PLATFORM, key).is_some()
}

/// What follows the key in its line; `None` if no line has it.
fn alternative(missing: &'static str, key: &str) -> Option<&'static str> {
    let mut alternatives = missing.lines().filter_map(|line| line.strip_prefix(key));
    alternatives.find(|rest| rest.is_empty() || rest.starts_with(';'))
}

/// Whether to log a failure of this extension. Goose's clients enable some unsupported extensions by default,
/// so every session would log them: each of these is logged once per process.
pub(crate) fn is_first_report(config: &ExtensionConfig) -> bool {
    static REPORTED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
    let key = config.key();
    let missing = match config {
        ExtensionConfig::Builtin(_) => alternative(BUILTINS, &key),
        ExtensionConfig::Platform(_) => alternative(PLATFORM, &key),
        _ => None,
    };
    missing.is_none() || lock(&REPORTED).insert((config.kind(), key))
}

#[cfg(test)]
mod tests;
