//! The schemas of tools: whether strict clients accept them. Pure. SERVER §5.1.

use super::declaration::{Check, declare_checks};
use crate::text::printable;
use gosling_json_schema::Schema;
use serde_json::Value;

declare_checks! {
    TOOL_SCHEMA_VALID = 56 "tool-schema-valid" "5.1" Must Minimum [("5.1", 4), ("7", 4), ("12", 5)]
        requires: "Each `inputSchema` is valid JSON Schema."
        why: "Models' APIs refuse the whole request for one invalid schema."
        fix: "Validate the schema with a JSON Schema validator."
    TOOL_SCHEMA_OBJECT = 57 "tool-schema-object" "5.1" Must Minimum [("5.1", 4), ("12", 5)]
        requires: "Each `inputSchema` has `\"type\": \"object\"` at its root."
        why: "Arguments are always objects, and models' APIs refuse other schemas."
        fix: "Make the root an object with `properties`. A tool without arguments has `{\"type\": \"object\"}`."
    TOOL_SCHEMA_REQUIRED = 58 "tool-schema-required" "5.1" Must Minimum [("5.1", 4), ("12", 5)]
        requires: "Each name in `required` is one of `properties`."
        why: "Strict models' APIs refuse such schemas, and the model does not know what to fill in."
        fix: "Add the property, or remove the name from `required`."
    TOOL_SCHEMA_LOCAL = 59 "tool-schema-local" "5.1" Must Minimum [("5.1", 4), ("12", 5)]
        requires: "Each `$ref` in a schema leads to a place in the same schema."
        why: "Clients do not fetch other documents, least of all offline."
        fix: "Inline the other document, or put it into `$defs`."
    TOOL_SCHEMA_SIZE = 60 "tool-schema-size" "5.1" Should Minimum [("5.1", 4)]
        requires: "No `inputSchema` has more than 32 KiB."
        why: "The model gets all schemas with every request; large ones cost tokens and exceed limits of APIs."
        fix: "Shorten the schema, or split the tool."
    OUTPUT_SCHEMA_VALID = 61 "output-schema-valid" "5.1" Must Minimum [("7", 4)]
        requires: "Each `outputSchema` is valid JSON Schema with `\"type\": \"object\"` at its root."
        why: "Clients that check structured results fail on the schema."
        fix: "Correct the schema, or leave it out."
}

/// The largest input schema, in bytes of JSON.
const MAX_SIZE: usize = 32 << 10;
/// How deep a schema is searched.
const MAX_DEPTH: usize = 64;

/// What is wrong with the schemas of a tool.
pub(super) fn faults(tool: &Value) -> Vec<(&'static Check, String)> {
    let name = printable(tool["name"].as_str().unwrap_or("a tool"), 80);
    let mut faults = Vec::new();
    let schema = &tool["inputSchema"];
    if schema.is_object() {
        let mut found = |check, fault: String| faults.push((check, format!("{name}: {fault}")));
        if schema["type"] != "object" {
            let fault = "`type` at the root is not \"object\"";
            found(TOOL_SCHEMA_OBJECT, fault.to_owned());
        }
        if let Some(reference) = remote_reference(schema, 0) {
            let reference = printable(reference, 80);
            let fault = format!("`$ref` leads to another document: {reference}");
            found(TOOL_SCHEMA_LOCAL, fault);
        } else if let Err(fault) = Schema::new(schema.clone()) {
            found(TOOL_SCHEMA_VALID, fault.to_string());
        }
        if let Some(missing) = missing_property(schema, 0) {
            let missing = printable(missing, 80);
            let fault = format!("`required` names {missing}, which is not in `properties`");
            found(TOOL_SCHEMA_REQUIRED, fault);
        }
        let size = schema.to_string().len();
        if size > MAX_SIZE {
            let fault = format!("the schema has {} KiB", size >> 10);
            found(TOOL_SCHEMA_SIZE, fault);
        }
    }
    let output = &tool["outputSchema"];
    if output.is_object() {
        let fault = match Schema::new(output.clone()) {
            Err(fault) => Some(fault.to_string()),
            Ok(_) if output["type"] != "object" => {
                Some("`type` at the root is not \"object\"".to_owned())
            }
            Ok(_) => None,
        };
        if let Some(fault) = fault {
            faults.push((OUTPUT_SCHEMA_VALID, format!("{name}: {fault}")));
        }
    }
    faults
}

/// A `$ref` to another document.
fn remote_reference(schema: &Value, depth: usize) -> Option<&str> {
    if depth > MAX_DEPTH {
        return None;
    }
    match schema {
        Value::Array(schemas) => schemas
            .iter()
            .find_map(|it| remote_reference(it, depth + 1)),
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            let reference = reference.filter(|reference| !reference.starts_with('#'));
            let mut below = fields.iter().filter(|(name, _)| !is_data(name));
            reference.or_else(|| below.find_map(|(_, it)| remote_reference(it, depth + 1)))
        }
        _ => None,
    }
}

/// A name in `required` that is not in `properties`, where no other keyword could allow it.
fn missing_property(schema: &Value, depth: usize) -> Option<&str> {
    if depth > MAX_DEPTH {
        return None;
    }
    match schema {
        Value::Array(schemas) => schemas
            .iter()
            .find_map(|it| missing_property(it, depth + 1)),
        Value::Object(fields) => {
            // Below `allOf`, `anyOf` and the like, the properties may be those of the schema around.
            let is_whole = fields.get("type").is_some_and(|it| it == "object");
            let combines = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"];
            let own = if is_whole && !combines.iter().any(|it| fields.contains_key(*it)) {
                let names = schema["required"].as_array().into_iter().flatten();
                let mut names = names.filter_map(Value::as_str);
                names.find(|name| schema["properties"].get(*name).is_none())
            } else {
                None
            };
            let mut below = fields.iter().filter(|(name, _)| !is_data(name));
            own.or_else(|| below.find_map(|(_, it)| missing_property(it, depth + 1)))
        }
        _ => None,
    }
}

/// Whether the keyword's value is data, not schemas.
fn is_data(keyword: &str) -> bool {
    matches!(
        keyword,
        "const" | "default" | "enum" | "examples" | "required"
    )
}

#[cfg(test)]
mod tests;
