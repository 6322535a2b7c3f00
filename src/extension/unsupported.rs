//! What Goose brings along and gosling does not: what to tell people whose configuration has it.

use super::{ExtensionConfig, platform_extensions};
use crate::builtin;
use crate::features;
use crate::sys::lock;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Goose's builtin extensions that are missing here, and what does some of the same.
const BUILTINS: [(&str, &str); 3] = [
    (
        "computercontroller",
        "; scripts and commands run with `developer`, a browser with an MCP server for that",
    ),
    (
        "autovisualiser",
        "; `developer` can write a chart to a file",
    ),
    ("tutorial", ""),
];

/// The same of the parts of Goose's own agent, up to its retry releases.
const PLATFORM: [(&str, &str); 9] = [
    ("analyze", "; `developer` has a tool of that name"),
    ("apps", ""),
    (
        "chatrecall",
        "; GET /sessions/search finds what was said before",
    ),
    ("code_execution", ""),
    (
        "extensionmanager",
        "; clients add and remove extensions with /agent/add_extension and /agent/remove_extension",
    ),
    ("orchestrator", ""),
    ("skills", ""),
    ("summon", ""),
    (
        "tom",
        "; what the model shall always know goes into a file `.goosehints`",
    ),
];

/// Why there is no builtin extension with this key, which gosling does not have.
pub(super) fn builtin(key: &str) -> String {
    match alternative(&BUILTINS, key) {
        Some(alternative) => format!(
            "gosling does not ship this extension of Goose; disable it, or, where Goose is installed, \
             have it as type `stdio` with `cmd: goose` and `args: [mcp, {key}]`{alternative}"
        ),
        None => {
            let known = builtin::NAMES.join(", ");
            let hint = features::hint(key);
            format!("there is no builtin extension of this name, only {known}{hint}")
        }
    }
}

/// Why there is no platform extension with this key, which gosling does not have.
pub(super) fn platform(key: &str) -> String {
    match alternative(&PLATFORM, key) {
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

fn alternative(missing: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let found = missing.iter().find(|(name, _)| *name == key);
    found.map(|(_, alternative)| *alternative)
}

/// Whether a failure of this extension is news for the log. What Goose's clients enable for everybody
/// would be in it with every session otherwise, so it is news once.
pub(crate) fn is_first_report(config: &ExtensionConfig) -> bool {
    static REPORTED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
    let key = config.key();
    let missing = match config {
        ExtensionConfig::Builtin(_) => alternative(&BUILTINS, &key),
        ExtensionConfig::Platform(_) => alternative(&PLATFORM, &key),
        _ => None,
    };
    missing.is_none() || lock(&REPORTED).insert((config.kind(), key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_missing_that_gosling_has() {
        for (key, _) in BUILTINS {
            assert!(!builtin::NAMES.contains(&key), "{key}");
        }
        for (key, _) in PLATFORM {
            assert!(!platform_extensions::is_ours(key), "{key}");
        }
    }

    #[test]
    fn it_is_news_once_and_other_failures_always_are() {
        let config = |kind: &str, name: &str| {
            ExtensionConfig::from_value(json!({"type": kind, "name": name})).unwrap()
        };
        for (kind, name, again) in [
            ("builtin", "Tutorial", false),
            ("platform", "apps", false),
            ("builtin", "apps", true),
            ("builtin", "developer", true),
        ] {
            let config = config(kind, name);
            assert!(is_first_report(&config), "{kind} {name}");
            assert_eq!(is_first_report(&config), again, "{kind} {name}");
        }
    }
}
