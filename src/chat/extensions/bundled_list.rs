//! Lists of bundled extensions: the file `bundled-extensions.json` that Goose Desktop is built with. What is
//! valid here is what Goose's `validate-extensions` accepts; every fault is found, not only the first one of an
//! entry.

use crate::json::kind_of;
use crate::text::printable;
use serde_json::{Map, Value};
use std::fmt;

/// The largest file, in bytes.
pub const MAX_FILE: u64 = 4 << 20;

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

/// Whether a field may be missing or null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Needed,
    /// It may be null, and not missing.
    Nullable,
    /// It may be missing, and not null.
    Optional,
    /// It may be missing or null.
    Free,
}

use Kind::{Count, Switch, Text, TextMap, Texts, Tools};
use Presence::{Free, Needed, Nullable, Optional};

type Field = (&'static str, Kind, Presence);

/// The fields of every entry besides `type`.
const OF_ALL: &[Field] = &[
    ("id", Text, Needed),
    ("name", Text, Needed),
    ("enabled", Switch, Optional),
];

/// The fields of each type. Others are ignored.
const TYPES: [(&str, &[Field]); 7] = [
    ("sse", &[("description", Text, Free), ("uri", Text, Free)]),
    (
        "stdio",
        &[
            ("description", Text, Free),
            ("cmd", Text, Needed),
            ("args", Texts, Needed),
            ("envs", TextMap, Optional),
            ("env_keys", Texts, Optional),
            ("timeout", Count, Free),
            ("bundled", Switch, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
    (
        "builtin",
        &[
            ("description", Text, Free),
            ("display_name", Text, Free),
            ("timeout", Count, Free),
            ("bundled", Switch, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
    (
        "platform",
        &[
            ("description", Text, Nullable),
            ("display_name", Text, Free),
            ("bundled", Switch, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
    (
        "streamable_http",
        &[
            ("description", Text, Nullable),
            ("uri", Text, Needed),
            ("envs", TextMap, Optional),
            ("env_keys", Texts, Optional),
            ("headers", TextMap, Optional),
            ("timeout", Count, Free),
            ("bundled", Switch, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
    (
        "frontend",
        &[
            ("description", Text, Nullable),
            ("tools", Tools, Needed),
            ("instructions", Text, Free),
            ("bundled", Switch, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
    (
        "inline_python",
        &[
            ("description", Text, Nullable),
            ("code", Text, Needed),
            ("timeout", Count, Free),
            ("dependencies", Texts, Free),
            ("available_tools", Texts, Optional),
        ],
    ),
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
        for field in OF_ALL {
            self.field(fields, *field);
        }
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind,
            _ => return self.field(fields, ("type", Text, Needed)),
        };
        let Some((_, of_type)) = TYPES.iter().find(|(name, _)| name == kind) else {
            let known = TYPES.map(|(name, _)| name).join(", ");
            let kind = printable(kind, MAX_NAME);
            let reason = format!("{kind:?} is no type of extensions; write one of {known}");
            return self.fault("type".to_owned(), reason);
        };
        for field in *of_type {
            let is_url = field.0 == "uri" && fields.contains_key("url");
            if is_url && kind == "streamable_http" && !fields.contains_key("uri") {
                let reason = "it is missing; the entry has a field `url`, rename that to `uri`";
                self.fault("uri".to_owned(), reason.to_owned());
            } else {
                self.field(fields, *field);
            }
        }
    }

    fn field(&mut self, fields: &Map<String, Value>, (name, kind, presence): Field) {
        let value = match fields.get(name) {
            None if matches!(presence, Optional | Free) => return,
            None => return self.fault(name.to_owned(), "it is missing".to_owned()),
            Some(Value::Null) if matches!(presence, Nullable | Free) => return,
            Some(value) => value,
        };
        match (kind, value) {
            (Text, Value::String(_)) | (Switch, Value::Bool(_)) => {}
            (Count, Value::Number(number)) if number.is_u64() => {}
            (Texts, Value::Array(values)) => {
                for (n, value) in values.iter().enumerate() {
                    self.is_text(|| format!("{name}[{n}]"), value);
                }
            }
            (TextMap, Value::Object(values)) => {
                for (key, value) in values {
                    self.is_text(|| format!("{name}.{}", printable(key, MAX_NAME)), value);
                }
            }
            (Tools, Value::Array(tools)) => {
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
                    Text => "a string",
                    Switch => "true or false",
                    Count => "a whole number of seconds",
                    Texts => "an array of strings",
                    TextMap => "an object of strings",
                    Tools => "an array of tools",
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
