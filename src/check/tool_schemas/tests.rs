use super::*;
use serde_json::json;

const NONE: [&Check; 0] = [];

fn found(schema: Value) -> Vec<&'static Check> {
    let tool = json!({"name": "a", "inputSchema": schema});
    faults(&tool).into_iter().map(|(check, _)| check).collect()
}

#[test]
fn each_fault_of_a_schema_is_found_alone() {
    let fine = json!({
        "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"],
        "$defs": {"a": {"type": "string", "default": {"$ref": "x.json"}}},
    });
    assert_eq!(found(fine), NONE);
    assert_eq!(found(json!({})), [TOOL_SCHEMA_OBJECT]);
    let wrong = json!({"type": "object", "properties": {"a": {"type": "text"}}});
    assert_eq!(found(wrong), [TOOL_SCHEMA_VALID]);
    let remote = json!({"type": "object", "properties": {"a": {"$ref": "x.json"}}});
    assert_eq!(found(remote), [TOOL_SCHEMA_LOCAL]);
    let nested = json!({
        "type": "object",
        "properties": {"a": {"type": "object", "required": ["b"]}},
    });
    assert_eq!(found(nested), [TOOL_SCHEMA_REQUIRED]);
    let combined = json!({
        "type": "object", "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    assert_eq!(found(combined), NONE);
    let large = json!({"type": "object", "description": "x".repeat(MAX_SIZE)});
    assert_eq!(found(large), [TOOL_SCHEMA_SIZE]);
}

#[test]
fn an_output_schema_is_an_object() {
    let with = |output: Value| {
        let schema = json!({"type": "object"});
        let tool = json!({"name": "a", "inputSchema": schema, "outputSchema": output});
        faults(&tool).len()
    };
    assert_eq!(with(json!({"type": "object"})), 0);
    assert_eq!(with(json!({"type": "array"})), 1);
    assert_eq!(with(json!({"type": 1})), 1);
}
