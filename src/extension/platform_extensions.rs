//! The extensions that are part of Goose's own agent, which its clients expect to see listed.
//!
//! Gosling has `todo`, as a builtin extension, and of retry releases `developer`, and none of the others.
//! They are shown, switched off and saying so, where the configuration does not hold them; a configuration
//! that does is shown as it is. Nothing is written.

use super::ExtensionConfig;
use serde_json::{Map, Value, json};

/// Key, name and display name, in the order in which the original lists them.
const KNOWN: [(&str, &str, &str); 5] = [
    ("extensionmanager", "Extension Manager", "Extension Manager"),
    ("chatrecall", "chatrecall", "Chat Recall"),
    ("tom", "tom", "Top Of Mind"),
    ("todo", "todo", "Todo"),
    ("summon", "summon", "Summon"),
];

/// The keys of those that gosling has.
pub(super) const OURS: [&str; 2] = ["developer", "todo"];

/// What is said of it, and of each of the others.
const ABOUT_OURS: &str = "A checklist for each session, so that long work stays on its way";
const DESCRIPTION: &str = "Part of Goose's own agent; not available in gosling";

/// Whether an entry with this key is activated as the builtin extension of that name.
pub fn is_ours(key: &str) -> bool {
    OURS.contains(&key)
}

/// Whether this is a server that has nothing but the session's data, and so no place of its own.
pub(super) fn only_has_data(config: &ExtensionConfig) -> bool {
    let is_shipped = matches!(
        config,
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_)
    );
    is_shipped && config.key() == "todo"
}

/// The keys and entries of those that are not `present` by their key.
pub fn absent(present: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
    let missing = KNOWN.iter().filter(|(key, ..)| !present(key));
    let entry = |(key, name, display_name): &(&str, &str, &str)| {
        let description = match is_ours(key) {
            true => ABOUT_OURS,
            false => DESCRIPTION,
        };
        let entry = json!({
            "enabled": false, "type": "platform", "name": name, "description": description,
            "display_name": display_name, "bundled": true, "available_tools": [],
        });
        ((*key).to_owned(), entry)
    };
    missing.map(entry).collect()
}

/// Adds the absent ones to the `extensions` of a whole configuration.
pub fn complete(config: &mut Map<String, Value>) {
    let section = config.entry("extensions").or_insert_with(|| json!({}));
    if let Value::Object(section) = section {
        section.extend(absent(|key| section.contains_key(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_stays_and_the_rest_is_switched_off() {
        let mut config = Map::new();
        config.insert("extensions".into(), json!({"todo": {"enabled": true}}));
        complete(&mut config);
        let section = &config["extensions"];
        assert_eq!(section["todo"], json!({"enabled": true}));
        assert_eq!(section["tom"]["enabled"], false);
        assert_eq!(section.as_object().unwrap().len(), KNOWN.len());
    }
}
