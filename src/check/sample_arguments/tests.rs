use super::*;
use gosling_json_schema::Schema;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 9, "maxLength": 10},
            "count": {"type": "integer", "minimum": 3},
            "few": {"type": "number", "exclusiveMaximum": 0},
            "kind": {"enum": ["a", "b"]},
            "place": {"$ref": "#/$defs/place"},
            "list": {"type": "array", "minItems": 2, "items": {"type": "boolean"}},
            "rest": {"type": "string"},
        },
        "required": ["name", "count", "few", "kind", "place", "list"],
        "$defs": {"place": {
            "type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"],
        }},
    })
}

#[test]
fn made_up_arguments_are_valid_and_the_others_are_not() {
    let checked = Schema::new(schema()).unwrap();
    let faults = |arguments| checked.faults(&Value::Object(arguments)).len();
    let valid = arguments(&schema());
    assert_eq!(valid.len(), 6);
    assert_eq!(faults(valid), 0);
    let (name, lacking) = incomplete(&schema()).unwrap();
    assert_eq!(name, "name");
    assert_ne!(faults(lacking), 0);
    let (name, wrong) = mistyped(&schema()).unwrap();
    assert_eq!(name, "name");
    assert_ne!(faults(wrong), 0);
}

#[test]
fn a_schema_without_demands_or_with_circles_is_survived() {
    assert_eq!(incomplete(&json!({"type": "object"})), None);
    assert_eq!(mistyped(&json!({"properties": {"a": {}}})), None);
    let circle = json!({
        "type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"],
    });
    assert_eq!(arguments(&circle).len(), 1);
    assert_eq!(arguments(&json!({"$ref": "#"})), Map::new());
}

#[test]
fn a_schema_that_multiplies_its_values_makes_no_large_arguments() {
    let names: Vec<String> = (0..12).map(|n| format!("a{n}")).collect();
    let properties: Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), json!({"$ref": "#"})))
        .collect();
    let wide = json!({"type": "object", "properties": properties, "required": names});
    let mut deep = json!({"type": "boolean"});
    for _ in 0..7 {
        deep = json!({"type": "array", "minItems": 1_000, "items": deep});
    }
    let deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"]});
    for schema in [wide, deep] {
        let made = Value::Object(arguments(&schema)).to_string();
        assert!(made.len() < MAX_MEMORY, "{}", made.len());
    }
}
