//! The pins of a list of tools: hashes of what a model sees of each tool, and how two lists differ.

use crate::extension::ExtensionConfig;
use crate::extension::launch::hash;
use crate::extension::pinning::{Change, Difference};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::Tool;
use crate::review::Comparison;
use crate::text::{printable, redact};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most tools that are pinned.
const MAX_TOOLS: usize = 2_000;

/// How much of a description is kept, in characters.
const MAX_TEXT: usize = 300;

/// The longest name that is kept whole, in characters.
const MAX_NAME: usize = 200;

/// What is hashed of a tool, by the names in MCP.
const PARTS: [&str; 6] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "_meta",
];

/// The pins of all tools of a server, with what was launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pins {
    /// The hash of the program and its arguments, the address, or the code.
    pub launch: String,
    /// The hash of where that runs and of the names of its variables; `None` in pins of versions that did not
    /// compare it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<String>,
    /// By name.
    pub tools: BTreeMap<String, ToolPin>,
}

/// The pin of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolPin {
    /// The hash of each part, empty for one that the tool does not have. Pins of earlier versions have fewer.
    hashes: Vec<String>,
    /// The beginning of the description.
    text: String,
}

impl Pins {
    /// The pins of what a server lists.
    ///
    /// # Errors
    /// There are more than 2,000 tools.
    pub fn of(
        config: &ExtensionConfig,
        listed: &[Tool],
        secrets: &[String],
    ) -> Result<Self, String> {
        if listed.len() > MAX_TOOLS {
            return Err(format!("the server lists more than {MAX_TOOLS} tools"));
        }
        let tools = listed
            .iter()
            .map(|tool| (name(&tool.name).into_owned(), ToolPin::of(tool, secrets)));
        Ok(Pins {
            tools: tools.collect(),
            ..Pins::without_tools(config)
        })
    }

    /// The pins of a launch alone.
    pub fn without_tools(config: &ExtensionConfig) -> Self {
        Pins {
            launch: launch(config),
            surroundings: Some(surroundings(config)),
            tools: BTreeMap::new(),
        }
    }

    /// Whether both are of the same launch, as far as it is pinned.
    pub fn has_launch_of(&self, other: &Pins) -> bool {
        let pinned = self.surroundings.as_ref().zip(other.surroundings.as_ref());
        self.launch == other.launch && pinned.is_none_or(|(before, now)| before == now)
    }

    /// Adds what an earlier version did not pin, from `now`, where all else is the same; returns whether there was
    /// something to add.
    pub fn complete(&mut self, now: &Pins) -> bool {
        let mut has_added = self.surroundings.is_none() && now.surroundings.is_some();
        if has_added {
            self.surroundings.clone_from(&now.surroundings);
        }
        for (name, pin) in &mut self.tools {
            let Some(now) = now.tools.get(name).filter(|now| !pin.differs_from(now)) else {
                continue;
            };
            let missing = now.hashes.get(pin.hashes.len()..).unwrap_or_default();
            has_added |= !missing.is_empty();
            pin.hashes.extend_from_slice(missing);
        }
        has_added
    }

    /// Whether both have the same tools.
    #[cfg(any(test, fuzzing))]
    pub fn has_hashes_of(&self, other: &Pins) -> bool {
        let hashes = |pins: &Pins| -> Vec<_> {
            let tools = pins.tools.iter();
            tools
                .map(|(name, pin)| (name.clone(), pin.hashes.clone()))
                .collect()
        };
        hashes(self) == hashes(other)
    }

    /// How `now` differs from these.
    pub fn compare(&self, now: &Pins) -> Comparison {
        let mut changes = Vec::new();
        for (name, pin) in &now.tools {
            match self.tools.get(name) {
                None => changes.push(change(name, Difference::Added, None, Some(pin))),
                Some(before) if before.differs_from(pin) => {
                    changes.push(change(name, Difference::Changed, Some(before), Some(pin)));
                }
                Some(_) => {}
            }
        }
        let removed = self.tools.iter();
        let removed = removed.filter(|(name, _)| !now.tools.contains_key(*name));
        changes
            .extend(removed.map(|(name, pin)| change(name, Difference::Removed, Some(pin), None)));
        Comparison {
            launch_changed: !self.has_launch_of(now),
            changes,
        }
    }
}

/// The name of a tool in pins and reports: one that is long or has invisible characters is shortened, and gets
/// the beginning of its hash, so that no two tools have the same.
pub fn name(name: &str) -> Cow<'_, str> {
    let shown = printable(name, MAX_NAME);
    if shown == name {
        return Cow::Borrowed(name);
    }
    let hash = hash(&[name]);
    Cow::Owned(format!("{shown} ({})", &hash[..16]))
}

fn change(
    name: &str,
    difference: Difference,
    before: Option<&ToolPin>,
    after: Option<&ToolPin>,
) -> Change {
    let mut parts = Vec::new();
    if let (Some(before), Some(after)) = (before, after) {
        parts.extend(before.different_parts(after));
    }
    let is_shown = difference != Difference::Changed || parts.contains(&"description");
    let text = |pin: Option<&ToolPin>| pin.filter(|_| is_shown).map(|pin| pin.text.clone());
    Change {
        tool: name.to_owned(),
        change: difference,
        parts,
        before: text(before),
        after: text(after),
    }
}

impl ToolPin {
    fn of(tool: &Tool, secrets: &[String]) -> Self {
        let annotations = tool.annotations.as_ref();
        let annotations = annotations.map(|it| crate::json::to_value(it).unwrap_or_default());
        let json = |raw: &RawJson| hash(&[&canonical(raw.get())]);
        let parts = [
            tool.title.as_ref().map(|text| hash(&[text])),
            tool.description.as_ref().map(|text| hash(&[text])),
            Some(json(&tool.input_schema)),
            tool.output_schema.as_ref().map(json),
            annotations.map(|it| hash(&[&it.to_string()])),
            tool.meta.as_ref().map(json),
        ];
        let text = tool.description.as_deref().unwrap_or_default();
        ToolPin {
            hashes: parts.map(Option::unwrap_or_default).to_vec(),
            text: printable(&redact(text, secrets), MAX_TEXT),
        }
    }

    /// The names of the parts that are pinned and differ in `now`.
    fn different_parts(&self, now: &ToolPin) -> impl Iterator<Item = &'static str> {
        let both = self.hashes.iter().zip(&now.hashes).zip(PARTS);
        both.filter_map(|((before, now), part)| (before != now).then_some(part))
    }

    fn differs_from(&self, now: &ToolPin) -> bool {
        self.different_parts(now).next().is_some()
    }
}

/// The hash of what an extension launches. Variables, headers and settings do not belong to it.
fn launch(config: &ExtensionConfig) -> String {
    let value = config.to_value();
    let launched = ["type", "cmd", "args", "uri", "code", "dependencies"];
    let launched = launched.map(|field| value.get(field).map(Value::to_string).unwrap_or_default());
    hash(&launched.each_ref().map(String::as_str))
}

/// The hash of the names of an extension's variables, and of where it runs.
fn surroundings(config: &ExtensionConfig) -> String {
    let mut variables: Vec<&str> = config.variables().collect();
    variables.sort_unstable();
    variables.dedup();
    let place = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
    let places = [place(config.cwd()), place(config.container())];
    hash(&[&places[0], &places[1], &variables.join(" ")])
}

/// The JSON text without the order of members and white space. A text in which a name occurs twice in an object
/// stays as it is: one of the two would be missing.
fn canonical(json: &str) -> String {
    let Ok(mut value) = crate::json::from_str::<Value>(json) else {
        return json.to_owned();
    };
    if crate::json::repeats_a_name(json, &value) {
        return json.to_owned();
    }
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: Value) -> ExtensionConfig {
        ExtensionConfig::from_value(value).unwrap()
    }

    fn program(args: &[&str]) -> ExtensionConfig {
        config(json!({"type": "stdio", "name": "one", "cmd": "npx", "args": args}))
    }

    fn pins(tools: Value) -> Pins {
        let tools: Vec<Tool> = crate::json::from_str(&tools.to_string()).unwrap();
        Pins::of(&program(&["a"]), &tools, &["hunter2-secret".to_owned()]).unwrap()
    }

    fn tool() -> Value {
        json!({
            "name": "t", "title": "T", "description": "reads", "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "_meta": {"n": 1},
        })
    }

    #[test]
    fn a_change_of_each_part_is_named() {
        let before = pins(json!([tool()]));
        assert_eq!(before.compare(&pins(json!([tool()]))).changes, []);
        for (field, value, expected) in [
            ("title", json!("U"), vec!["title"]),
            ("title", json!(null), vec!["title"]),
            ("description", json!("reads all"), vec!["description"]),
            (
                "inputSchema",
                json!({"type": "object", "required": []}),
                vec!["inputSchema"],
            ),
            ("outputSchema", json!(null), vec!["outputSchema"]),
            (
                "annotations",
                json!({"readOnlyHint": false}),
                vec!["annotations"],
            ),
            ("annotations", json!(null), vec!["annotations"]),
            ("_meta", json!({"n": 2}), vec!["_meta"]),
        ] {
            let mut other = tool();
            other[field] = value;
            let found = before.compare(&pins(json!([other])));
            assert_eq!(found.changes.len(), 1, "{field}");
            assert_eq!(found.changes[0].parts, expected);
            let is_description = field == "description";
            assert_eq!(found.changes[0].after.is_some(), is_description, "{field}");
        }
    }

    #[test]
    fn pins_of_an_earlier_version_are_completed_once_where_all_else_is_the_same() {
        let [mut other, mut meta] = [tool(), tool()];
        other["name"] = json!("other");
        meta["_meta"] = json!({"n": 2});
        let now = pins(json!([tool(), other]));
        let mut before = now.clone();
        before.surroundings = None;
        for pin in before.tools.values_mut() {
            pin.hashes.pop();
        }
        before.tools.get_mut("other").unwrap().hashes[1] = "changed".to_owned();
        let found = before.compare(&now);
        assert!(!found.launch_changed);
        assert_eq!(found.changes.len(), 1);
        assert_eq!(found.changes[0].parts, ["description"]);
        let mut with_surroundings = before.clone();
        with_surroundings.surroundings.clone_from(&now.surroundings);
        for before in [&mut with_surroundings, &mut before] {
            assert!(before.complete(&now));
            assert!(!before.complete(&now));
        }
        assert_eq!(with_surroundings, before);
        assert_eq!(before.surroundings, now.surroundings);
        assert_eq!(before.tools["t"], now.tools["t"]);
        assert_eq!(before.tools["other"].hashes.len(), 5, "it differs");
        let found = before.compare(&pins(json!([meta])));
        assert_eq!(found.changes[0].parts, ["_meta"]);
    }

    #[test]
    fn added_and_removed_tools_are_changes_and_the_order_is_none() {
        let named = |name: &str| json!({"name": name, "description": format!("does {name}")});
        let before = pins(json!([named("a"), named("b")]));
        let found = before.compare(&pins(json!([named("c"), named("b")])));
        let told: Vec<_> = found
            .changes
            .iter()
            .map(|it| (&*it.tool, it.change))
            .collect();
        assert_eq!(told, [("c", Difference::Added), ("a", Difference::Removed)]);
        assert_eq!(found.changes[0].after.as_deref(), Some("does c"));
        assert_eq!(found.changes[1].before.as_deref(), Some("does a"));
        let other_order = pins(json!([named("b"), named("a")]));
        assert_eq!(before.compare(&other_order).changes, []);
        assert!(before.has_hashes_of(&other_order));
        assert!(!before.has_hashes_of(&pins(json!([named("b")]))));
    }

    #[test]
    fn the_launch_is_the_program_the_address_or_the_code_with_names_of_variables_and_the_place() {
        let http = |uri: &str| config(json!({"type": "streamable_http", "name": "x", "uri": uri}));
        let python = |code: &str| {
            config(json!({"type": "inline_python", "name": "x", "description": "", "code": code}))
        };
        let mut all = vec![
            launch(&program(&["a"])),
            launch(&program(&["a", "b"])),
            launch(&program(&["ab"])),
            launch(&http("https://h/a")),
            launch(&http("https://h/b")),
            launch(&python("1")),
            launch(&python("2")),
        ];
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7);
        let more = |more: Value| {
            let mut value = json!({"type": "stdio", "name": "One", "cmd": "npx", "args": ["a"], "timeout": 5,
                "description": "d", "envs": {"A": "1"}, "env_keys": ["B"], "available_tools": ["t"]});
            value
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().cloned().unwrap());
            Pins::without_tools(&config(value))
        };
        let some = more(json!({}));
        assert_eq!(some.launch, launch(&program(&["a"])));
        for same in [
            json!({"envs": {"A": "2", "B": ""}}),
            json!({"env_keys": ["B", "A"]}),
        ] {
            assert!(some.has_launch_of(&more(same)));
        }
        for other in [
            json!({"envs": {}}),
            json!({"env_keys": []}),
            json!({"cwd": "session"}),
            json!({"container": "box"}),
        ] {
            assert!(!some.has_launch_of(&more(other)));
        }
    }

    #[test]
    fn the_canonical_form_loses_nothing_but_order_and_space() {
        for (json, expected) in [
            (
                r#"{"b":1, "a":{"d":":","c":2}}"#,
                r#"{"a":{"c":2,"d":":"},"b":1}"#,
            ),
            (r#"[ {"a" : "\"\u0041:"} ]"#, r#"[{"a":"\"A:"}]"#),
            // Models may read the first or the last.
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
            (r#"{"x":{"a":1,"a":1}}"#, r#"{"x":{"a":1,"a":1}}"#),
        ] {
            assert_eq!(canonical(json), expected);
        }
    }

    #[test]
    fn any_other_value_in_a_schema_has_another_canonical_form() {
        fn replace(value: &mut Value, at: &mut usize) {
            match value {
                Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at)),
                Value::Object(members) => members.values_mut().for_each(|item| replace(item, at)),
                leaf => {
                    if *at == 0 {
                        *leaf = json!("\u{0}other");
                    }
                    *at = at.wrapping_sub(1);
                }
            }
        }
        gosling_testing::property_testing::check(|source| {
            let value = gosling_testing::property_testing::any_json(
                source,
                &["type", "a b", "\"", ":"],
                4,
            )?;
            let mut sorted = value.clone();
            sorted.sort_all_objects();
            assert_eq!(
                canonical(&value.to_string()),
                canonical(&sorted.to_string())
            );
            let mut other = value.clone();
            let mut at = source.int_in_range(0..=7)?;
            replace(&mut other, &mut at);
            let same = canonical(&other.to_string()) == canonical(&value.to_string());
            assert_eq!(same, other == value, "{value} {other}");
            Ok(())
        });
    }

    #[test]
    fn a_pin_keeps_no_secret_and_little_text() {
        let text = format!("uses hunter2-secret {}", "x".repeat(5_000));
        let kept = pins(json!([{"name": "t", "description": text}])).tools["t"].clone();
        assert!(kept.text.starts_with("uses [secret] x"), "{}", kept.text);
        assert!(kept.text.chars().count() < 320);
        let many: Vec<Value> = (0..=MAX_TOOLS)
            .map(|n| json!({"name": n.to_string()}))
            .collect();
        let many: Vec<Tool> = crate::json::from_str(&json!(many).to_string()).unwrap();
        assert!(Pins::of(&program(&[]), &many, &[]).is_err());
        assert!(Pins::of(&program(&[]), &many[1..], &[]).is_ok());
    }
}
