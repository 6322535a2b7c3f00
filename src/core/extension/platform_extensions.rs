//! The platform extensions: parts of Goose's own agent, which its clients expect in the list of extensions.
//!
//! gosling has `todo` and, of later releases, `developer`, both as builtin extensions. The others are listed
//! as disabled, with a description that says so, unless the configuration contains them. Nothing is written
//! to the configuration.

use crate::builtin;
use serde_json::{Map, Value, json};

/// Key, name and display name, in Goose's order.
const KNOWN: [(&str, &str, &str); 5] = [
    ("extensionmanager", "Extension Manager", "Extension Manager"),
    ("chatrecall", "chatrecall", "Chat Recall"),
    ("tom", "tom", "Top Of Mind"),
    ("todo", "todo", "Todo"),
    ("summon", "summon", "Summon"),
];

/// The keys of those that gosling has, in some builds.
pub(super) const OURS: [&str; 2] = ["developer", "todo"];

/// The descriptions of those that gosling has, and of the others.
const AVAILABLE_DESCRIPTION: &str =
    "A checklist for each session, so that long work stays on its way";
const UNAVAILABLE_DESCRIPTION: &str = "Part of Goose's own agent; not available in gosling";

/// Whether an entry with this key is activated as the builtin extension of the same name.
pub fn is_ours(key: &str) -> bool {
    OURS.contains(&key)
}

/// The keys and entries of the extensions for which `present` returns false.
pub fn absent(present: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
    let missing = KNOWN.iter().filter(|(key, ..)| !present(key));
    let entry = |(key, name, display_name): &(&str, &str, &str)| {
        let description = if builtin::has(key) {
            AVAILABLE_DESCRIPTION
        } else {
            UNAVAILABLE_DESCRIPTION
        };
        let entry = json!({
            "enabled": false, "type": "platform", "name": name, "description": description,
            "display_name": display_name, "bundled": true, "available_tools": [],
        });
        ((*key).to_owned(), entry)
    };
    missing.map(entry).collect()
}

/// Adds the absent extensions to the `extensions` of a whole configuration.
pub fn complete(config: &mut Map<String, Value>) {
    let section = config.entry("extensions").or_insert_with(|| json!({}));
    if let Value::Object(section) = section {
        section.extend(absent(|key| section.contains_key(key)));
    }
}

#[cfg(test)]
mod tests;
