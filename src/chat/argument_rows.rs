//! Shows the arguments of a call that the user is asked to approve: completely, in their order, with invisible
//! characters escaped. No I/O.
//!
//! Text stands after `|`, each line on its own row, so that it cannot be confused with other arguments or
//! questions. A long line continues after `↪`.

use crate::escaped_text::escape_invisible;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The longest text on one row, in characters.
const MAX_ROW: usize = 2_000;
/// Values that are nested deeper are shown as JSON.
const DEPTH: usize = 16;

/// The rows of a JSON text of arguments. A duplicate name is shown twice.
pub(super) fn arguments(json: &str) -> Vec<String> {
    let mut rows = Vec::new();
    match Value::of(json) {
        Value::Object(entries) if entries.is_empty() => {}
        Value::Object(entries) => add_entries(entries, 0, &mut rows),
        _ => add("", json, 0, &mut rows),
    }
    rows
}

/// The rows of a text, one a line.
pub(super) fn text(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    add_text("", text, 0, &mut rows);
    rows
}

/// The outermost level of a JSON text.
enum Value<'a> {
    Object(Vec<(String, &'a str)>),
    Array(Vec<&'a str>),
    Text(String),
    /// Numbers, booleans, null, and invalid JSON.
    Other,
}

impl<'a> Value<'a> {
    fn of(json: &'a str) -> Self {
        let value = match json.trim_start().as_bytes().first() {
            Some(b'{') => crate::json::from_str::<Entries<'a>>(json).map(|it| Value::Object(it.0)),
            Some(b'[') => crate::json::from_str::<Vec<&'a RawValue>>(json)
                .map(|items| Value::Array(items.into_iter().map(RawValue::get).collect())),
            Some(b'"') => crate::json::from_str(json).map(Value::Text),
            _ => return Value::Other,
        };
        value.unwrap_or(Value::Other)
    }
}

/// The entries of an object, duplicate names included.
struct Entries<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    entries.push((name, value.get()));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(All)
    }
}

fn add_entries(entries: Vec<(String, &str)>, depth: usize, rows: &mut Vec<String>) {
    for (name, json) in entries {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.$@/".contains(c);
        let name = if !name.is_empty() && name.chars().all(plain) {
            name
        } else {
            escape_invisible(&serde_json::Value::from(name).to_string())
        };
        add(&name, json, depth, rows);
    }
}

fn add(name: &str, json: &str, depth: usize, rows: &mut Vec<String>) {
    let indent = "  ".repeat(depth + 1);
    match Value::of(json) {
        Value::Text(text) => add_text(name, &text, depth, rows),
        Value::Object(entries) if !entries.is_empty() && depth < DEPTH => {
            rows.push(format!("{indent}{name}:"));
            add_entries(entries, depth + 1, rows);
        }
        Value::Array(items) if !items.is_empty() && depth < DEPTH => {
            rows.push(format!("{indent}{name}:"));
            for (n, item) in items.into_iter().enumerate() {
                add(&(n + 1).to_string(), item, depth + 1, rows);
            }
        }
        _ => {
            let name = match name {
                "" => String::new(),
                name => format!("{name}: "),
            };
            add_line(&format!("{indent}{name}"), json, depth, rows);
        }
    }
}

fn add_text(name: &str, text: &str, depth: usize, rows: &mut Vec<String>) {
    let indent = "  ".repeat(depth + 1);
    let mut before = match name {
        "" => format!("{indent}| "),
        name => format!("{indent}{name} | "),
    };
    for line in text.split('\n') {
        add_line(&before, line, depth, rows);
        before = format!("{indent}  | ");
    }
}

/// Adds one line, on as many rows as necessary.
fn add_line(before: &str, line: &str, depth: usize, rows: &mut Vec<String>) {
    let line = escape_invisible(line);
    let mut rest = line.as_str();
    let mut before = before.to_owned();
    loop {
        let end = rest
            .char_indices()
            .nth(MAX_ROW)
            .map_or(rest.len(), |(at, _)| at);
        rows.push(format!("{before}{}", &rest[..end]));
        rest = &rest[end..];
        if rest.is_empty() {
            return;
        }
        before = "  ".repeat(depth + 2) + "↪ ";
    }
}

#[cfg(test)]
mod tests;
