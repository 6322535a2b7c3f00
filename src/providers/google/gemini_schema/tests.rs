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
