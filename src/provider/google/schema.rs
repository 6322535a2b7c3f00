//! JSON Schemas as Gemini takes them for the parameters of functions.
//!
//! It takes the subset of JSON Schema that <https://ai.google.dev/api/generate-content> lists for
//! `responseJsonSchema`, and refuses a request over a keyword that it does not know. What only narrows a
//! value is left out, since the tool's server judges that anyway; what gives it a shape is translated.

use serde_json::{Map, Value, json};

/// Kept as they are.
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
/// Hold one schema.
const NESTED: [&str; 2] = ["items", "additionalProperties"];
/// Hold a list of schemas.
const LISTS: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];
/// Hold schemas by name.
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

/// One schema. Its depth is bounded by that of the JSON it was parsed from.
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
                // An old way to say `prefixItems`.
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
    keep_enum_of_one_kind(&mut cleaned);
    for part in all_of {
        merge(&mut cleaned, clean(part));
    }
    Value::Object(cleaned)
}

/// Beside a reference nothing may stand but what begins with a `$`.
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

/// Gemini takes choices of strings and of numbers only.
fn keep_enum_of_one_kind(fields: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = fields.get("enum") else {
        fields.remove("enum");
        return;
    };
    let fits = values.iter().all(Value::is_string) || values.iter().all(Value::is_number);
    if !fits || values.is_empty() {
        fields.remove("enum");
    }
}

/// Adds a part of an `allOf`. What is said twice keeps its first meaning, but properties and required
/// names add up.
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
mod tests {
    use super::*;

    fn cleaned(schema: Value) -> Value {
        parameters(&schema.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_gemini_takes_stays_and_the_rest_goes() {
        assert_eq!(
            cleaned(json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "x",
                "type": "object",
                "properties": {
                    "n": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "multipleOf": 3},
                    "s": {"type": ["string", "null"], "pattern": "^a", "minLength": 1},
                    "k": {"const": "fixed"},
                    "const": {"type": "string", "enum": ["a", "b"]},
                    "mixed": {"enum": ["a", 1, null]},
                    "list": {"type": "array", "items": {"type": "string", "examples": ["q"]}},
                },
                "required": ["n"],
                "additionalProperties": false,
                "if": {"required": ["k"]},
            })),
            json!({
                "type": "object",
                "properties": {
                    "n": {"type": "integer", "maximum": 9},
                    "s": {"type": ["string", "null"]},
                    "k": {"enum": ["fixed"]},
                    "const": {"type": "string", "enum": ["a", "b"]},
                    "mixed": {},
                    "list": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["n"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn references_are_kept_alone_and_all_of_is_merged() {
        assert_eq!(
            cleaned(json!({
                "properties": {
                    "a": {"$ref": "#/definitions/A", "description": "gone"},
                    "b": {"allOf": [
                        {"properties": {"x": {"type": "string"}}, "required": ["x"]},
                        {"properties": {"y": {"type": "string"}}, "required": ["y"]},
                    ], "description": "kept"},
                },
                "definitions": {"A": {"type": "string", "pattern": "."}},
            })),
            json!({
                "properties": {
                    "a": {"$ref": "#/$defs/A"},
                    "b": {
                        "description": "kept",
                        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
                        "required": ["x", "y"],
                    },
                },
                "$defs": {"A": {"type": "string"}},
                "type": "object",
            })
        );
    }

    #[test]
    fn a_function_without_parameters_has_no_schema() {
        for none in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
            json!(5),
        ] {
            assert_eq!(parameters(&none.to_string()), None, "{none}");
        }
    }
}
