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
    TYPES_STEADY {
        111 "types-steady" "7" Must Minimum
        [("7", 2), ("7", 3)]
        requires: "A field has the same type in all answers to the same request."
        why: "Typed clients fail on the answer that differs."
        fix: "Return empty lists as `[]`, single values in lists of one, and leave out missing fields."
    }
    INTEGERS {
        112 "integers" "7" Should Minimum
        [("7", 5)]
        requires: "Whole numbers are written as such: neither as 1.0 nor as text."
        why: "Typed clients refuse fractions and texts where they expect integers."
        fix: "Convert the value to an integer before you write it."
    }
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

/// What is wrong with the fields of an entry.
pub(super) fn entry_faults(kind: ListKind, entry: &Value) -> Vec<String> {
    let name = entry["name"].as_str().or(entry["uri"].as_str());
    let name = printable(name.unwrap_or("an entry"), 80);
    if !entry.is_object() {
        return vec![format!("{}: an entry is not an object", kind.method())];
    }
    let mut faults = Vec::new();
    let mut expect =
        |field: &str, is_required: bool, kind: &str, is_right: fn(&Value) -> bool| match entry
            .get(field)
        {
            None if is_required => faults.push(format!("{name}: `{field}` is missing")),
            Some(value) if !is_right(value) => {
                faults.push(format!("{name}: `{field}` is not {kind}"));
            }
            _ => {}
        };
    expect("name", true, "a text", is_filled);
    for field in ["title", "description"] {
        expect(field, false, "a string", Value::is_string);
    }
    expect("_meta", false, "an object", Value::is_object);
    match kind {
        ListKind::Tools => {
            expect("inputSchema", true, "an object", Value::is_object);
            expect("outputSchema", false, "an object", Value::is_object);
            expect("annotations", false, "an object", Value::is_object);
            for hint in [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ] {
                if entry["annotations"]
                    .get(hint)
                    .is_some_and(|it| !it.is_boolean())
                {
                    faults.push(format!("{name}: `annotations.{hint}` is not a boolean"));
                }
            }
        }
        ListKind::Resources => {
            expect("uri", true, "a text", is_filled);
            expect("mimeType", false, "a string", Value::is_string);
            expect("size", false, "a number", Value::is_number);
        }
        ListKind::Templates => {
            expect("uriTemplate", true, "a text", is_filled);
            expect("mimeType", false, "a string", Value::is_string);
        }
        ListKind::Prompts => {
            expect("arguments", false, "a list", Value::is_array);
            for argument in entry["arguments"].as_array().into_iter().flatten() {
                if !is_filled(&argument["name"]) {
                    faults.push(format!("{name}: an argument has no `name`"));
                }
                let required = argument.get("required");
                if required.is_some_and(|required| !required.is_boolean()) {
                    faults.push(format!(
                        "{name}: `required` of an argument is not a boolean"
                    ));
                }
                let description = argument.get("description");
                if description.is_some_and(|description| !description.is_string()) {
                    faults.push(format!(
                        "{name}: `description` of an argument is not a string"
                    ));
                }
            }
        }
    }
    faults
}

fn is_filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// What is wrong with one part of a content, of a tool's result or of a prompt's message.
pub(super) fn content_fault(part: &Value) -> Option<String> {
    let kind = part["type"].as_str().unwrap_or_default();
    let fault = match kind {
        "text" if !part["text"].is_string() => "`text` is not a string",
        "image" | "audio" if !part["mimeType"].is_string() => "`mimeType` is not a string",
        "image" | "audio" if !is_base64(&part["data"]) => "`data` is not base64",
        "resource" => return resource_fault(&part["resource"]),
        "resource_link" if !is_filled(&part["uri"]) => "`uri` is not a text",
        "resource_link" if !is_filled(&part["name"]) => "`name` is not a text",
        "text" | "image" | "audio" | "resource_link" => return None,
        _ => "its `type` is not text, image, audio, resource or resource_link",
    };
    Some(format!("a part of the content: {fault}"))
}

/// What is wrong with one of the contents of a resource.
pub(super) fn resource_fault(contents: &Value) -> Option<String> {
    let uri = printable(contents["uri"].as_str().unwrap_or("contents"), 80);
    let fault = if !is_filled(&contents["uri"]) {
        "`uri` is not a text"
    } else if contents.get("mimeType").is_some_and(|it| !it.is_string()) {
        "`mimeType` is not a string"
    } else {
        match (contents.get("text"), contents.get("blob")) {
            (Some(_), Some(_)) => "it has both `text` and `blob`",
            (None, None) => "it has neither `text` nor `blob`",
            (Some(text), None) if !text.is_string() => "`text` is not a string",
            (None, Some(blob)) if !is_base64(blob) => "`blob` is not base64",
            _ => return None,
        }
    };
    Some(format!("{uri}: {fault}"))
}

fn is_base64(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| STANDARD.decode(text).is_ok())
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
