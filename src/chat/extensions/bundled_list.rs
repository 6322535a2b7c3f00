//! Lists of bundled extensions: the file `bundled-extensions.json` that Goose Desktop is built with. What is
//! valid here is what Goose's `validate-extensions` accepts; every fault is found, not only the first one of an
//! entry.

use crate::extension::wrappers::has;
use crate::json::kind_of;
use crate::text::printable;
use serde_json::{Map, Value};
use std::fmt;

/// The largest file, in bytes.
pub(super) const MAX_FILE: u64 = 4 << 20;

/// The most faults that are kept.
pub const MAX_FAULTS: usize = 100;

/// The longest name that a fault shows, in characters.
const MAX_NAME: usize = 100;

/// A fault of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The entry, from 0.
    pub index: usize,
    /// Its `name`, if it has one.
    pub name: Option<String>,
    /// Its `id`, if it has one.
    pub id: Option<String>,
    /// The field, such as `args[1]`; empty for the whole entry.
    pub field: String,
    /// What is wrong there.
    pub reason: String,
}

/// `[0] Name (id=x): cmd: …`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| match text {
            Some(text) => printable(text, MAX_NAME),
            None => "unknown".to_owned(),
        };
        let (name, id) = (shown(&self.name), shown(&self.id));
        write!(f, "[{}] {name} (id={id}): ", self.index)?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// A list that has been read.
#[derive(Debug, PartialEq, Eq)]
pub struct Checked {
    /// How many entries it has.
    pub entries: usize,
    /// The first [`MAX_FAULTS`] faults, in the order of the entries.
    pub faults: Vec<Fault>,
    /// How many more there are.
    pub more: usize,
}

/// What the value of a field must be.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Switch,
    /// A whole number that is not negative.
    Count,
    Texts,
    /// An object with texts.
    TextMap,
    /// MCP tools.
    Tools,
}

/// The fields that are no text, and what their values must be.
const FIELDS: &[(&str, Kind)] = &[
    ("enabled bundled", Kind::Switch),
    ("timeout", Kind::Count),
    ("args env_keys available_tools dependencies", Kind::Texts),
    ("envs headers", Kind::TextMap),
    ("tools", Kind::Tools),
];

/// The fields of every entry besides `type`, as in [`TYPES`].
const OF_ALL: &str = "id name enabled?";

/// The types, each with its fields. Others are ignored. One with `?` may be missing, one with `*` may be null.
const TYPES: [&str; 7] = [
    "sse description?* uri?*",
    "stdio description?* cmd args envs? env_keys? timeout?* bundled?* available_tools?",
    "builtin description?* display_name?* timeout?* bundled?* available_tools?",
    "platform description* display_name?* bundled?* available_tools?",
    "streamable_http description* uri envs? env_keys? headers? timeout?* bundled?* available_tools?",
    "frontend description* tools instructions?* bundled?* available_tools?",
    "inline_python description* code timeout?* dependencies?* available_tools?",
];

/// Finds the faults of a list.
///
/// # Errors
/// The text is not a JSON array.
pub fn check(text: &[u8]) -> Result<Checked, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let entries = match crate::json::from_slice(text) {
        Ok(Value::Array(entries)) => entries,
        Ok(other) => {
            return Err(format!(
                "a list of bundled extensions is an array, and not {}",
                kind_of(&other)
            ));
        }
        Err(error) => return Err(format!("it is not valid JSON: {error}")),
    };
    let mut found = Checked {
        entries: entries.len(),
        faults: Vec::new(),
        more: 0,
    };
    for (index, entry) in entries.iter().enumerate() {
        Entry {
            index,
            entry,
            found: &mut found,
        }
        .check();
    }
    Ok(found)
}

/// An entry while it is checked.
struct Entry<'a> {
    index: usize,
    entry: &'a Value,
    found: &'a mut Checked,
}

impl Entry<'_> {
    fn fault(&mut self, field: String, reason: String) {
        if self.found.faults.len() == MAX_FAULTS {
            self.found.more += 1;
            return;
        }
        let text = |name: &str| self.entry[name].as_str().map(str::to_owned);
        self.found.faults.push(Fault {
            index: self.index,
            name: text("name"),
            id: text("id"),
            field,
            reason,
        });
    }

    fn check(&mut self) {
        let entry = self.entry;
        let Value::Object(fields) = entry else {
            let reason = format!("an entry is an object, and not {}", kind_of(entry));
            return self.fault(String::new(), reason);
        };
        for field in OF_ALL.split(' ') {
            self.field(fields, field);
        }
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind,
            _ => return self.field(fields, "type"),
        };
        let types = TYPES.map(|row| row.split_once(' ').unwrap_or_default());
        let Some((_, of_type)) = types.iter().find(|(name, _)| name == kind) else {
            let known = types.map(|(name, _)| name).join(", ");
            let kind = printable(kind, MAX_NAME);
            let reason = format!("{kind:?} is no type of extensions; write one of {known}");
            return self.fault("type".to_owned(), reason);
        };
        for field in of_type.split(' ') {
            let is_url = field == "uri" && fields.contains_key("url");
            if is_url && kind == "streamable_http" && !fields.contains_key("uri") {
                let reason = "it is missing; the entry has a field `url`, rename that to `uri`";
                self.fault("uri".to_owned(), reason.to_owned());
            } else {
                self.field(fields, field);
            }
        }
    }

    /// Checks a field that is written as in [`TYPES`].
    fn field(&mut self, fields: &Map<String, Value>, field: &str) {
        let name = field.trim_end_matches(['?', '*']);
        let value = match fields.get(name) {
            None if field.contains('?') => return,
            None => return self.fault(name.to_owned(), "it is missing".to_owned()),
            Some(Value::Null) if field.contains('*') => return,
            Some(value) => value,
        };
        let mut kinds = FIELDS.iter();
        let kind = kinds.find(|(names, _)| has(names, name));
        match (kind.map_or(Kind::Text, |(_, kind)| *kind), value) {
            (Kind::Text, Value::String(_)) | (Kind::Switch, Value::Bool(_)) => {}
            (Kind::Count, Value::Number(number)) if number.is_u64() => {}
            (Kind::Texts, Value::Array(values)) => {
                for (n, value) in values.iter().enumerate() {
                    self.is_text(|| format!("{name}[{n}]"), value);
                }
            }
            (Kind::TextMap, Value::Object(values)) => {
                for (key, value) in values {
                    self.is_text(|| format!("{name}.{}", printable(key, MAX_NAME)), value);
                }
            }
            (Kind::Tools, Value::Array(tools)) => {
                for (n, tool) in tools.iter().enumerate() {
                    if !(tool["name"].is_string() && tool["inputSchema"].is_object()) {
                        let reason =
                            "a tool is an object with a text `name` and an object `inputSchema`";
                        self.fault(format!("{name}[{n}]"), reason.to_owned());
                    }
                }
            }
            (kind, value) => {
                let wanted = match kind {
                    Kind::Text => "a string",
                    Kind::Switch => "true or false",
                    Kind::Count => "a whole number of seconds",
                    Kind::Texts => "an array of strings",
                    Kind::TextMap => "an object of strings",
                    Kind::Tools => "an array of tools",
                };
                self.fault(name.to_owned(), not(wanted, value));
            }
        }
    }

    fn is_text(&mut self, field: impl FnOnce() -> String, value: &Value) {
        if !value.is_string() {
            self.fault(field(), not("a string", value));
        }
    }
}

fn not(wanted: &str, value: &Value) -> String {
    let given = match value {
        Value::Number(number) => number.to_string(),
        other => kind_of(other).to_owned(),
    };
    format!("it must be {wanted}, and not {given}")
}

#[cfg(test)]
mod tests;
