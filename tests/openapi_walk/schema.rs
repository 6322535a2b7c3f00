//! Validation against the schemas of an OpenAPI 3.0 document, as far as the document uses them.

use serde_json::Value;

/// Where `value` does not fit `schema`; empty if it fits. `$ref` refers into `document`.
pub fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(document, schema, value, "", &mut faults);
    faults
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.strip_prefix('#').expect("a local reference"));
        return check(document, target.expect("it exists"), value, at, faults);
    }
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(document, part, value, at, faults);
    }
    for key in ["oneOf", "anyOf"] {
        let Some(options) = schema[key].as_array() else {
            continue;
        };
        let each = options
            .iter()
            .map(|option| self::faults(document, option, value));
        let least = each.min_by_key(Vec::len).unwrap_or_default();
        faults.extend(least.into_iter().map(|fault| format!("{at}{fault}")));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        faults.push(format!("{at}: {value} is not one of {allowed:?}"));
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some(other) => panic!("the type {other} is not known"),
    };
    if !fits {
        let shown: String = value.to_string().chars().take(80).collect();
        return faults.push(format!(
            "{at}: {shown} is not of the type {}",
            schema["type"]
        ));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        faults.push(format!("{at}: {number} is less than {least}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        if value.is_object() && value.get(name).is_none() {
            faults.push(format!("{at}: `{name}` is missing"));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(property), _) => check(document, property, value, &place, faults),
            (None, rest @ Value::Object(_)) => check(document, rest, value, &place, faults),
            (None, _) => {}
        }
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            check(
                document,
                &schema["items"],
                item,
                &format!("{at}/{n}"),
                faults,
            );
        }
    }
}

#[test]
fn each_kind_of_fault_is_found() {
    use serde_json::json;
    let document = json!({"schemas": {
        "Name": {"type": "string"},
        "Kind": {"oneOf": [
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": ["x"]}}},
            {"type": "object", "required": ["b"], "properties": {"b": {"type": "integer", "minimum": 0}}},
        ]},
        "All": {"type": "object", "required": ["name"], "properties": {
            "name": {"$ref": "#/schemas/Name"},
            "kinds": {"type": "array", "items": {"$ref": "#/schemas/Kind"}},
            "note": {"type": "string", "nullable": true},
            "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "both": {"allOf": [{"$ref": "#/schemas/Name"}, {"type": "string"}]},
        }},
    }});
    let schema = json!({"$ref": "#/schemas/All"});
    let good = json!({"name": "n", "kinds": [{"a": "x"}, {"b": 1}], "note": null, "map": {"k": true}, "both": "b", "more": 1});
    assert_eq!(faults(&document, &schema, &good), [""; 0]);
    for (key, value) in [
        ("name", json!(1)),
        ("kinds", json!({})),
        ("kinds", json!([{"a": "y"}])),
        ("kinds", json!([{"b": -1}])),
        ("kinds", json!([{"b": 1.5}])),
        ("kinds", json!([{}])),
        ("note", json!(1)),
        ("map", json!({"k": 1})),
        ("both", json!(1)),
    ] {
        let mut bad = good.clone();
        bad[key] = value.clone();
        assert_eq!(
            faults(&document, &schema, &bad).len(),
            if key == "both" { 2 } else { 1 },
            "{key}: {value}"
        );
    }
    assert_eq!(
        faults(&document, &schema, &json!({"kinds": []})),
        [": `name` is missing"]
    );
}
