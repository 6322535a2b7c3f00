//! Converts a JSON Schema to the subset that Gemini accepts for the parameters of functions.
//!
//! <https://ai.google.dev/api/generate-content> lists the subset for `responseJsonSchema`; Gemini refuses a
//! request with any other keyword. The conversion drops keywords that only restrict a value, which the
//! tool's server checks anyway, and translates those that describe its structure.

use serde_json::{Map, Value, json};

/// Keywords that are kept unchanged.
const PLAIN: [&str; 10] = [
    "type",
    "format",
    "title",
    "description",
    "required",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "propertyOrdering",
];
/// Keywords with one schema.
const NESTED: [&str; 2] = ["items", "additionalProperties"];
/// Keywords with a list of schemas.
const LISTS: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];
/// Keywords with schemas by name.
const MAPS: [&str; 2] = ["properties", "$defs"];
const OLD_REFERENCE: &str = "#/definitions/";

/// The schema of a function's parameters; `None` if it has none.
pub(super) fn parameters(schema: &str) -> Option<Value> {
    let schema: Value = crate::json::from_str(schema).ok()?;
    let mut cleaned = clean(schema);
    let fields = cleaned.as_object_mut()?;
    let has = |name: &str| {
        let inner = fields.get(name);
        inner
            .and_then(Value::as_object)
            .is_some_and(|inner| !inner.is_empty())
    };
    let composed = ["$ref", "anyOf", "oneOf"]
        .iter()
        .any(|name| fields.contains_key(*name));
    if !has("properties") && !has("additionalProperties") && !composed {
        return None;
    }
    fields.insert("type".to_owned(), "object".into());
    Some(cleaned)
}

/// Converts one schema. The JSON parser has limited its depth.
fn clean(schema: Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    if let Some(Value::String(reference)) = fields.get("$ref") {
        return reference_to(reference, fields.get("$defs").cloned());
    }
    let mut cleaned = Map::new();
    let mut all_of = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "const" => {
                cleaned.insert("enum".to_owned(), json!([value]));
            }
            "enum" => {
                cleaned.insert(name, value);
            }
            "definitions" => {
                cleaned.insert("$defs".to_owned(), each(value));
            }
            "allOf" => all_of = list(value),
            plain if PLAIN.contains(&plain) => {
                cleaned.insert(name, value);
            }
            nested if NESTED.contains(&nested) => match value {
                // The old form of `prefixItems`.
                Value::Array(schemas) => {
                    let schemas = schemas.into_iter().map(clean).collect();
                    cleaned.insert("prefixItems".to_owned(), Value::Array(schemas));
                }
                value => {
                    cleaned.insert(name, clean(value));
                }
            },
            many if LISTS.contains(&many) => {
                let schemas = list(value).into_iter().map(clean).collect();
                cleaned.insert(name, Value::Array(schemas));
            }
            map if MAPS.contains(&map) => {
                cleaned.insert(name, each(value));
            }
            _ => {}
        }
    }
    remove_mixed_enum(&mut cleaned);
    for part in all_of {
        merge(&mut cleaned, clean(part));
    }
    Value::Object(cleaned)
}

/// A reference. Only keywords that begin with `$` may stand beside it.
fn reference_to(reference: &str, definitions: Option<Value>) -> Value {
    let reference = match reference.strip_prefix(OLD_REFERENCE) {
        Some(name) => format!("#/$defs/{name}"),
        None => reference.to_owned(),
    };
    let mut cleaned = Map::new();
    cleaned.insert("$ref".to_owned(), reference.into());
    if let Some(definitions) = definitions {
        cleaned.insert("$defs".to_owned(), each(definitions));
    }
    Value::Object(cleaned)
}

fn each(schemas: Value) -> Value {
    match schemas {
        Value::Object(schemas) => {
            let cleaned = schemas
                .into_iter()
                .map(|(name, inner)| (name, clean(inner)));
            Value::Object(cleaned.collect())
        }
        _ => json!({}),
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

/// Removes an `enum` that is neither of strings nor of numbers, which Gemini refuses.
fn remove_mixed_enum(fields: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = fields.get("enum") else {
        fields.remove("enum");
        return;
    };
    let fits = values.iter().all(Value::is_string) || values.iter().all(Value::is_number);
    if !fits || values.is_empty() {
        fields.remove("enum");
    }
}

/// Merges a part of an `allOf`. The first value of a keyword wins, but properties and required names are
/// combined.
fn merge(into: &mut Map<String, Value>, part: Value) {
    let Value::Object(part) = part else { return };
    for (name, value) in part {
        match (into.get_mut(&name), value) {
            (None, value) => {
                into.insert(name, value);
            }
            (Some(Value::Object(there)), Value::Object(more)) if name == "properties" => {
                there.extend(more);
            }
            (Some(Value::Array(there)), Value::Array(more)) if name == "required" => {
                there.extend(more);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
