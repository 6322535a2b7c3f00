//! The extensions that are part of Goose's own agent, which its clients expect to see listed.
//!
//! Gosling has none of them. They are shown, switched off and saying so, where the configuration
//! does not hold them; a configuration that does is shown as it is. Nothing is written.

use serde_json::{Map, Value, json};

/// Key, name and display name, in the order in which the original lists them.
const KNOWN: [(&str, &str, &str); 5] = [
    ("extensionmanager", "Extension Manager", "Extension Manager"),
    ("chatrecall", "chatrecall", "Chat Recall"),
    ("tom", "tom", "Top Of Mind"),
    ("todo", "todo", "Todo"),
    ("summon", "summon", "Summon"),
];

/// What is said of each of them.
const DESCRIPTION: &str = "Part of Goose's own agent; not available in gosling";

/// The keys and entries of those that are not `present` by their key.
pub fn absent(present: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
    let missing = KNOWN.iter().filter(|(key, ..)| !present(key));
    let entry = |name: &str, display_name: &str| {
        json!({
            "enabled": false, "type": "platform", "name": name, "description": DESCRIPTION,
            "display_name": display_name, "bundled": true, "available_tools": [],
        })
    };
    missing
        .map(|(key, name, display_name)| ((*key).to_owned(), entry(name, display_name)))
        .collect()
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
