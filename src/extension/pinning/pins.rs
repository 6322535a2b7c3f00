//! The pins of a list of tools: hashes of what a model sees of each tool, and how two lists differ.

use super::review::Comparison;
use super::{Change, Difference};
use crate::extension::ExtensionConfig;
use crate::mcp::types::Tool;
use crate::text::{printable, redact};
use ring::digest::{Context, SHA256};
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
const PARTS: [&str; 5] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

/// The pins of all tools of a server, with what was launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pins {
    /// The hash of the program and its arguments, the address, or the code.
    pub launch: String,
    /// By name.
    pub tools: BTreeMap<String, ToolPin>,
}

/// The pin of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolPin {
    /// The hash of each part, empty for one that the tool does not have.
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
            launch: launch(config),
            tools: tools.collect(),
        })
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
                Some(before) if before.hashes != pin.hashes => {
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
            launch_changed: self.launch != now.launch,
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
        let hash = |pin: &ToolPin, n: usize| pin.hashes.get(n).cloned();
        let differs = |n: &usize| hash(before, *n) != hash(after, *n);
        parts.extend((0..PARTS.len()).filter(differs).map(|n| PARTS[n]));
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
        let parts = [
            tool.title.as_ref().map(|text| hash(&[text])),
            tool.description.as_ref().map(|text| hash(&[text])),
            Some(hash(&[&canonical(tool.input_schema.get())])),
            (tool.output_schema.as_ref()).map(|schema| hash(&[&canonical(schema.get())])),
            annotations.map(|it| hash(&[&it.to_string()])),
        ];
        let text = tool.description.as_deref().unwrap_or_default();
        ToolPin {
            hashes: parts.map(Option::unwrap_or_default).to_vec(),
            text: printable(&redact(text, secrets), MAX_TEXT),
        }
    }
}

/// The hash of what an extension launches. Variables, headers and settings do not belong to it.
pub fn launch(config: &ExtensionConfig) -> String {
    let value = config.to_value();
    let launched = ["type", "cmd", "args", "uri", "code", "dependencies"];
    let launched = launched.map(|field| value.get(field).map(Value::to_string).unwrap_or_default());
    hash(&launched.each_ref().map(String::as_str))
}

/// SHA-256 of these texts with their lengths, in hexadecimal digits.
fn hash(texts: &[&str]) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The JSON text without the order of members and white space. A text in which a name occurs twice in an object
/// stays as it is: one of the two would be missing.
fn canonical(json: &str) -> String {
    let Ok(mut value) = crate::json::from_str::<Value>(json) else {
        return json.to_owned();
    };
    value.sort_all_objects();
    let canonical = value.to_string();
    if members(&canonical) == members(json) {
        canonical
    } else {
        json.to_owned()
    }
}

/// The number of members of all objects.
fn members(json: &str) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
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
        ] {
            let mut other = tool();
            other[field] = value;
            let found = before.compare(&pins(json!([other])));
            assert_eq!(found.changes.len(), 1, "{field}");
            assert_eq!(found.changes[0].parts, expected);
            let is_description = field == "description";
            assert_eq!(found.changes[0].after.is_some(), is_description, "{field}");
        }
        let mut same = tool();
        same["_meta"] = json!({"n": 2});
        assert_eq!(before.compare(&pins(json!([same]))).changes, []);
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
        assert_eq!(
            before
                .compare(&pins(json!([named("b"), named("a")])))
                .changes,
            []
        );
    }

    #[test]
    fn the_launch_is_the_program_the_address_or_the_code_and_nothing_else() {
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
        let more = config(
            json!({"type": "stdio", "name": "One", "cmd": "npx", "args": ["a"], "timeout": 5,
            "description": "d", "envs": {"A": "1"}, "env_keys": ["B"], "available_tools": ["t"]}),
        );
        assert_eq!(launch(&more), launch(&program(&["a"])));
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
        crate::property_testing::check(|source| {
            let value = crate::property_testing::any_json(source, &["type", "a b", "\"", ":"], 4)?;
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
    }
}
