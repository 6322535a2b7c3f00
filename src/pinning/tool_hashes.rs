//! The pins of a list of tools: hashes of what a model sees of each tool, and how two lists differ.

use crate::extension::ExtensionConfig;
use crate::extension::launch::hash;
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::Tool;
use crate::text::{printable, redact};
use crate::tool_differences::{Change, Difference, Report};
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
const PARTS: &str = "title description inputSchema outputSchema annotations _meta";

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
    pub fn compare(&self, now: &Pins) -> Report {
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
        Report {
            launch_changed: !self.has_launch_of(now),
            changes,
            ..Report::default()
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
        let both = self.hashes.iter().zip(&now.hashes).zip(PARTS.split(' '));
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
mod tests;
