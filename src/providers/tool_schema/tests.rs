use super::*;
use serde_json::{Map, Value, json};

const ANY_NAME: SchemaRules = SchemaRules {
    max_tools: 128,
    property_names: None,
};
const PLAIN_NAMES: SchemaRules = SchemaRules {
    max_tools: 128,
    property_names: Some(("_.-", 64)),
};

fn fixed(schema: &Value, rules: &SchemaRules) -> (Value, Repaired) {
    let repaired = repaired(&schema.to_string(), rules).unwrap();
    (
        crate::json::from_str(repaired.schema.get()).unwrap(),
        repaired,
    )
}

#[test]
fn an_ordinary_schema_stays_as_it_is() {
    for schema in [
        r#"{"type":"object","properties":{}}"#,
        r#"{ "properties": {"a": {"type": "string", "enum": ["x"]}}, "type": "object", "required": ["a"] }"#,
        r#"{"type":"object","properties":{"a":{"type":["array","null"],"items":{"anyOf":[{"type":"string"},true]}}},
            "additionalProperties":false,"$schema":"x","$defs":{"b":{"not":{}}}}"#,
        r##"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"$ref":"#"}}}"##,
    ] {
        assert!(holds(schema, &PLAIN_NAMES), "{schema}");
    }
}

#[test]
fn whatever_a_server_calls_a_schema_becomes_one() {
    let empty = json!({"type": "object", "properties": {}});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    for (given, expected) in [
        (json!({}), empty.clone()),
        (json!(true), empty.clone()),
        (json!(null), empty.clone()),
        (json!([1]), empty.clone()),
        (json!({"type": ["object"], "properties": []}), empty.clone()),
        (json!({"type": ["object", "null"]}), empty.clone()),
        (
            json!({"type": null, "properties": {}, "required": null}),
            empty.clone(),
        ),
        (json!({"enum": [1], "not": {}}), empty.clone()),
        (
            json!({"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"]}}}),
            object(
                json!({"a": {"type": "array", "items": {}}, "b": {"type": ["array", "null"], "items": {}}}),
            ),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": null}, "b": 7, "c": {"properties": []}}}),
            object(json!({"a": {}, "b": {}, "c": {"properties": {}}})),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": ["string"]}}, "required": ["a", 1]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
    ] {
        assert!(!holds(&given.to_string(), &ANY_NAME), "{given}");
        assert_eq!(fixed(&given, &ANY_NAME).0, expected, "{given}");
        assert!(holds(&expected.to_string(), &ANY_NAME), "{expected}");
    }
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    let schema = json!({"$defs": {"by_name": {"properties": {"name": {"type": "string"}}, "required": ["name"]}},
        "required": ["kind"], "properties": {"kind": {}},
        "anyOf": [{"$ref": "#/$defs/by_name"},
            {"properties": {"id": {"type": "integer"}}, "required": ["id"]}]});
    let (fixed, repaired) = fixed(&schema, &ANY_NAME);
    let names: Vec<_> = fixed["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 3, "{fixed}");
    assert_eq!(fixed["required"], json!(["kind"]));
    assert_eq!(
        repaired.note,
        "Give one of these sets of arguments: (name) or (id)."
    );
    let schema = json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]});
    let (all, repaired) = super::tests::fixed(&schema, &ANY_NAME);
    assert_eq!(all["required"], json!(["a", "b"]));
    assert_eq!(repaired.note, "");
}

#[test]
fn names_outside_of_the_alphabet_are_renamed_and_named_back() {
    let long = "x".repeat(65);
    let schema = json!({"type": "object", "required": ["@id"], "properties": {
        "@id": {"type": "string"}, "größe": {"type": "object", "properties": {"a b": {}}}, &long: {}, "": {}, "ok.1-_": {}}});
    let (fixed, repaired) = fixed(&schema, &PLAIN_NAMES);
    assert!(holds(&fixed.to_string(), &PLAIN_NAMES), "{fixed}");
    assert_eq!(repaired.renamed.len(), 5, "{:?}", repaired.renamed);
    let new = fixed["required"][0].as_str().unwrap();
    assert_eq!(repaired.renamed[new], "@id");
    let inner = repaired
        .renamed
        .iter()
        .find(|(_, own)| *own == "a b")
        .unwrap()
        .0;
    let outer = repaired
        .renamed
        .iter()
        .find(|(_, own)| *own == "größe")
        .unwrap()
        .0;
    let call = json!({new: "1", outer: {inner: [{inner: 1}]}, "ok.1-_": 2});
    let own = renamed_arguments(&call.to_string(), &repaired.renamed).unwrap();
    let own: Value = crate::json::from_str(own.get()).unwrap();
    assert_eq!(
        own,
        json!({"@id": "1", "größe": {"a b": [{"a b": 1}]}, "ok.1-_": 2})
    );
}

#[test]
fn what_is_too_large_or_deep_is_refused_with_words() {
    let large = json!({"description": "x".repeat(MAX_SCHEMA)}).to_string();
    assert!(repaired(&large, &ANY_NAME).unwrap_err().contains("256 KiB"));
    let deep = format!("{}1{}", "{\"items\":".repeat(300), "}".repeat(300));
    assert!(
        repaired(&deep, &ANY_NAME)
            .unwrap_err()
            .contains("too deeply")
    );
}

/// The rules as the vendors write them, checked on the value.
fn breaks(schema: &Value, rules: &SchemaRules, is_top: bool) -> bool {
    let Value::Object(fields) = schema else {
        return is_top || !schema.is_boolean();
    };
    let kinds = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) if !is_top && kinds.len() > 1 => {
            kinds.iter().filter_map(Value::as_str).collect()
        }
        None => Vec::new(),
        _ => return true,
    };
    let has = |name: &str| fields.contains_key(name);
    let union = ["anyOf", "oneOf", "allOf", "enum", "not"];
    let wrong_top =
        is_top && (kinds != ["object"] || !has("properties") || union.iter().any(|it| has(it)));
    let wrong_names = match fields.get("required") {
        None => false,
        Some(Value::Array(names)) => names.iter().any(|it| !it.is_string()),
        Some(_) => true,
    };
    let properties = match fields.get("properties") {
        None => Map::new(),
        Some(Value::Object(all)) => all.clone(),
        Some(_) => return true,
    };
    let inside = ["items", "not", "additionalProperties"]
        .into_iter()
        .filter_map(|it| fields.get(it));
    let lists = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|it| fields.get(it)?.as_array());
    wrong_top
        || wrong_names
        || (kinds.contains(&"array") && !has("items"))
        || properties.keys().any(|name| !rules.accepts_name(name))
        || properties.values().any(|it| breaks(it, rules, false))
        || inside
            .into_iter()
            .any(|it| breaks(it, rules, false) && !it.is_array())
        || lists
            .into_iter()
            .flatten()
            .any(|it| breaks(it, rules, false))
}

/// A value that may be a schema, from the digits of a number.
fn random(seed: &mut u64, depth: u32) -> Value {
    let mut next = |most: u64| {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % most
    };
    if depth == 0 || next(6) == 0 {
        let all = [
            json!(true),
            json!(null),
            json!([]),
            json!("object"),
            json!(1),
            json!({}),
        ];
        return all[next(6) as usize].clone();
    }
    let names = [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "not",
        "additionalProperties",
    ];
    let mut fields = Map::new();
    for _ in 0..next(5) {
        let name = names[next(names.len() as u64) as usize];
        let value = match (name, next(4)) {
            ("type", 0) => json!("array"),
            ("type", 1) => json!(["array", "null"]),
            ("type", 2) => json!("object"),
            ("required", 0..=2) => json!(["a", "b c", 3]),
            ("properties", 0..=2) => {
                let [a, b] = [(); 2].map(|()| random(seed, depth - 1));
                fields.insert(name.to_owned(), json!({"a": a, "b c": b}));
                return Value::Object(fields);
            }
            ("anyOf" | "oneOf" | "allOf", 0..=2) => {
                let parts = [(); 2].map(|()| random(seed, depth - 1));
                fields.insert(name.to_owned(), json!(parts));
                return Value::Object(fields);
            }
            _ => {
                let value = random(seed, depth - 1);
                fields.insert(name.to_owned(), value);
                return Value::Object(fields);
            }
        };
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

#[test]
fn every_repaired_schema_holds_the_rules() {
    let mut seed = 1;
    for _ in 0..20_000 {
        let schema = random(&mut seed, 4);
        for rules in [&ANY_NAME, &PLAIN_NAMES] {
            let is_fine = holds(&schema.to_string(), rules);
            assert!(!(is_fine && breaks(&schema, rules, true)), "{schema}");
            let (fixed, repaired) = fixed(&schema, rules);
            assert!(!breaks(&fixed, rules, true), "{schema} {fixed}");
            assert!(holds(repaired.schema.get(), rules), "{schema} {fixed}");
            assert_eq!(fixed, super::tests::fixed(&schema, rules).0);
            if is_fine {
                assert_eq!(fixed, schema, "an ordinary schema changed");
            }
        }
    }
}
