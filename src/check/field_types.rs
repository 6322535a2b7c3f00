//! The types of fields: what the entries of lists and the parts of contents have to have, and whether answers
//! agree with each other. Pure. MCP 2025-11-25, schema; SERVER §7.

use super::declaration::declare_checks;
use super::list_kind::ListKind;
use crate::text::printable;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeMap;

declare_checks! {
    TYPES_STEADY = 111 "types-steady" "7" Must Minimum [("7", 2), ("7", 3)]
        requires: "A field has the same type in all answers to the same request."
        why: "Typed clients fail on the answer that differs."
        fix: "Return empty lists as `[]`, single values in lists of one, and leave out missing fields."
    INTEGERS = 112 "integers" "7" Should Minimum [("7", 5)]
        requires: "Whole numbers are written as such: neither as 1.0 nor as text."
        why: "Typed clients refuse fractions and texts where they expect integers."
        fix: "Convert the value to an integer before you write it."
}

/// The most places of an answer that are compared.
const MAX_PLACES: usize = 5_000;

/// The longest place that is compared, in bytes. Longer ones, and what is below them, are ignored.
const MAX_PLACE: usize = 1_000;

/// Fields whose content is the server's own: any type is right.
const FREE: [&str; 8] = [
    "_meta",
    "annotations",
    "data",
    "icons",
    "inputSchema",
    "outputSchema",
    "structuredContent",
    "experimental",
];

/// Keywords of JSON Schema, and fields of MCP, that are integers.
const INTEGER_FIELDS: [&str; 8] = [
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "size",
    "ttl",
];

/// What a field has to be: what a value of another type is in words, and whether a value is right.
pub(super) type FieldType = (&'static str, fn(&Value) -> bool);

pub(super) const STRING: FieldType = ("not a string", Value::is_string);
pub(super) const NUMBER: FieldType = ("not a number", Value::is_number);
pub(super) const BOOLEAN: FieldType = ("not a boolean", Value::is_boolean);
pub(super) const OBJECT: FieldType = ("not an object", Value::is_object);
pub(super) const LIST: FieldType = ("not a list", Value::is_array);
const TEXT: FieldType = ("not a text", is_filled);
const BASE64: FieldType = ("not base64", is_base64);

/// Whether a field has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It is missing otherwise.
    Required,
    /// It has a wrong type otherwise.
    Typed,
    Optional,
}
pub(super) use Presence::{Optional, Required, Typed};

/// What a field has to be. A dot in its name leads into an object.
pub(super) type FieldRule = (&'static str, Presence, FieldType);

/// The fields of all entries.
const OF_ENTRIES: &[FieldRule] = &[
    ("name", Required, TEXT),
    ("title", Optional, STRING),
    ("description", Optional, STRING),
    ("_meta", Optional, OBJECT),
];

/// The other fields of the entries of a list.
fn rules(kind: ListKind) -> &'static [FieldRule] {
    match kind {
        ListKind::Tools => &[
            ("inputSchema", Required, OBJECT),
            ("outputSchema", Optional, OBJECT),
            ("annotations", Optional, OBJECT),
            ("annotations.readOnlyHint", Optional, BOOLEAN),
            ("annotations.destructiveHint", Optional, BOOLEAN),
            ("annotations.idempotentHint", Optional, BOOLEAN),
            ("annotations.openWorldHint", Optional, BOOLEAN),
        ],
        ListKind::Resources => &[
            ("uri", Required, TEXT),
            ("mimeType", Optional, STRING),
            ("size", Optional, NUMBER),
        ],
        ListKind::Templates => &[
            ("uriTemplate", Required, TEXT),
            ("mimeType", Optional, STRING),
        ],
        ListKind::Prompts => &[("arguments", Optional, LIST)],
    }
}

/// What is wrong with these fields, one sentence each.
pub(super) fn faults(value: &Value, rules: &[FieldRule]) -> impl Iterator<Item = String> {
    rules
        .iter()
        .filter_map(move |(field, presence, (wrong, is_right))| {
            let found = field.split('.').try_fold(value, |it, name| it.get(name));
            match found {
                Some(found) if is_right(found) => None,
                None if *presence == Optional => None,
                None if *presence == Required => Some(format!("`{field}` is missing")),
                _ => Some(format!("`{field}` is {wrong}")),
            }
        })
}

/// What is wrong with the fields of an entry.
pub(super) fn entry_faults(kind: ListKind, entry: &Value) -> Vec<String> {
    let name = entry["name"].as_str().or(entry["uri"].as_str());
    let name = printable(name.unwrap_or("an entry"), 80);
    if !entry.is_object() {
        return vec![format!("{}: an entry is not an object", kind.method())];
    }
    let mut found: Vec<String> = faults(entry, OF_ENTRIES).collect();
    found.extend(faults(entry, rules(kind)));
    if kind == ListKind::Prompts {
        for argument in entry["arguments"].as_array().into_iter().flatten() {
            if !is_filled(&argument["name"]) {
                found.push("an argument has no `name`".to_owned());
            }
            let rules = [("required", BOOLEAN), ("description", STRING)];
            let wrong = rules.into_iter().filter(|(field, (_, is_right))| {
                argument.get(field).is_some_and(|it| !is_right(it))
            });
            found.extend(
                wrong.map(|(field, (wrong, _))| format!("`{field}` of an argument is {wrong}")),
            );
        }
    }
    found
        .iter()
        .map(|fault| format!("{name}: {fault}"))
        .collect()
}

fn is_filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// What is wrong with one part of a content, of a tool's result or of a prompt's message.
pub(super) fn content_fault(part: &Value) -> Option<String> {
    let rules: &[FieldRule] = match part["type"].as_str().unwrap_or_default() {
        "text" => &[("text", Typed, STRING)],
        "image" | "audio" => &[("mimeType", Typed, STRING), ("data", Typed, BASE64)],
        "resource" => return resource_fault(&part["resource"]),
        "resource_link" => &[("uri", Typed, TEXT), ("name", Typed, TEXT)],
        _ => {
            let fault = "its `type` is not text, image, audio, resource or resource_link";
            return Some(format!("a part of the content: {fault}"));
        }
    };
    let fault = faults(part, rules).next();
    fault.map(|fault| format!("a part of the content: {fault}"))
}

/// What is wrong with one of the contents of a resource.
pub(super) fn resource_fault(contents: &Value) -> Option<String> {
    let uri = printable(contents["uri"].as_str().unwrap_or("contents"), 80);
    let rules = [("uri", Typed, TEXT), ("mimeType", Optional, STRING)];
    let fault = faults(contents, &rules).next().or_else(|| {
        match (contents.get("text"), contents.get("blob")) {
            (Some(_), Some(_)) => Some("it has both `text` and `blob`".to_owned()),
            (None, None) => Some("it has neither `text` nor `blob`".to_owned()),
            _ => {
                let rules = [("text", Optional, STRING), ("blob", Optional, BASE64)];
                faults(contents, &rules).next()
            }
        }
    });
    fault.map(|fault| format!("{uri}: {fault}"))
}

fn is_base64(value: &Value) -> bool {
    let text = value.as_str();
    text.is_some_and(|text| STANDARD.decode(text).is_ok())
}

/// The place of a number that should be written as an integer and is a fraction or a text, if there is one. Looks
/// into schemas, too.
pub(super) fn fraction_for_integer(value: &Value) -> Option<String> {
    match value {
        Value::Array(values) => values.iter().find_map(fraction_for_integer),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let is_fraction = value.is_f64() && value.as_f64().is_some_and(|it| it.fract() == 0.0);
            let is_digits = value
                .as_str()
                .is_some_and(|text| text.parse::<i64>().is_ok());
            if INTEGER_FIELDS.contains(&name.as_str()) && (is_fraction || is_digits) {
                return Some(format!("`{name}`"));
            }
            // The names of properties and the values of defaults are the server's own.
            if name == "default" || name == "examples" || name == "enum" || name == "const" {
                return None;
            }
            fraction_for_integer(value)
        }),
        _ => None,
    }
}

/// A field that has one type in some of these answers and another type in others, or within one of them.
pub(super) fn conflict(answers: &[Value]) -> Option<String> {
    let mut types = BTreeMap::new();
    let mut found = None;
    for answer in answers {
        compare(answer, String::new(), &mut types, &mut found);
    }
    found
}

fn compare(
    value: &Value,
    place: String,
    types: &mut BTreeMap<String, &'static str>,
    found: &mut Option<String>,
) {
    if found.is_some() || types.len() >= MAX_PLACES {
        return;
    }
    let kind = type_name(value);
    match types.get(&place) {
        None => {
            types.insert(place.clone(), kind);
        }
        Some(before) if *before != kind => {
            let place = printable(&place, 100);
            *found = Some(format!(
                "`{place}` is {before} in one place and {kind} in another"
            ));
            return;
        }
        Some(_) => {}
    }
    match value {
        Value::Array(values) => {
            for value in values {
                compare(value, format!("{place}[]"), types, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if !FREE.contains(&name.as_str()) && place.len() + name.len() < MAX_PLACE {
                    let dot = if place.is_empty() { "" } else { "." };
                    compare(value, format!("{place}{dot}{name}"), types, found);
                }
            }
        }
        _ => {}
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
