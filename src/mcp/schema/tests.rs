use super::*;
use gosling_testing::property_testing::{any_json, check};
use serde_json::json;

fn coerce(schema: &Value, arguments: Value) -> Option<Value> {
    super::coerce(schema, arguments.as_object().unwrap()).map(Value::Object)
}

fn typed(kind: Value) -> Value {
    json!({"type": "object", "properties": {"a": {"type": kind}}})
}

#[test]
fn what_is_obviously_meant_is_put_right() {
    for (kind, sent, meant) in [
        (json!("integer"), json!("17"), json!(17)),
        (json!("integer"), json!(17.0), json!(17)),
        (json!("number"), json!(" -2.5e3 "), json!(-2500.0)),
        (json!("boolean"), json!("True"), json!(true)),
        (json!("object"), json!("{\"b\": 1}"), json!({"b": 1})),
        (json!("array"), json!("[1, 2]"), json!([1, 2])),
        (json!("string"), json!(5), json!("5")),
        (json!(["integer", "null"]), json!("5"), json!(5)),
    ] {
        let coerced = coerce(&typed(kind), json!({"a": sent, "b": "5"}));
        assert_eq!(coerced, Some(json!({"a": meant, "b": "5"})));
    }
}

#[test]
fn what_fits_or_is_not_obvious_stays() {
    for (kind, sent) in [
        (json!("string"), json!("17")),
        (json!("integer"), json!("seventeen")),
        (json!("integer"), json!(1.5)),
        (json!("integer"), json!("1.5")),
        (json!("boolean"), json!("yes")),
        (json!("object"), json!("[1]")),
        (json!(["string", "integer"]), json!("17")),
        (json!("hologram"), json!("17")),
        (json!("integer"), json!(null)),
    ] {
        assert_eq!(coerce(&typed(kind), json!({"a": sent})), None, "{sent}");
    }
    assert_eq!(coerce(&json!({}), json!({"a": "1"})), None);
    assert_eq!(coerce(&json!(true), json!({"a": "1"})), None);
}

#[test]
fn it_looks_inside_and_behind_references() {
    let schema = json!({
        "properties": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            "any": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "loop": {"$ref": "#/$defs/loop"},
        },
        "$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
    });
    let sent = json!({"list": [1, "2"], "any": "3", "loop": "4"});
    let meant = json!({"list": [1, 2], "any": 3, "loop": "4"});
    assert_eq!(coerce(&schema, sent), Some(meant));
}

#[test]
fn a_schema_that_branches_at_every_level_costs_no_more_than_its_size() {
    let level = |n: usize| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{n}")}); 50]});
    let defs: Map<String, Value> = (0..12).map(|n| (n.to_string(), level(n + 1))).collect();
    let mut schema = json!({"properties": {"a": level(0)}, "$defs": defs});
    schema["$defs"]["12"] = json!({"type": "integer"});
    assert_eq!(coerce(&schema, json!({"a": "3"})), None);
}

#[test]
fn what_does_not_fit_is_named() {
    let schema = json!({
        "required": ["a", "b"],
        "additionalProperties": false,
        "properties": {
            "a": {"type": "integer"},
            "c": {"enum": ["x", "y"]},
            "d": {"properties": {"e": {"type": "string"}}},
        },
    });
    let sent = json!({"a": "one", "c": "z", "d": {"e": []}, "f": 1});
    assert_eq!(
        mismatches(&schema, sent.as_object().unwrap()),
        [
            "`b` is missing",
            "`a` is a string, not integer",
            "`c` is not one of [\"x\",\"y\"]",
            "`d.e` is an array, not string",
            "`f` is not known",
        ]
    );
    let fits = json!({"a": 1, "b": 2, "c": "x"});
    let mut open = schema;
    open["additionalProperties"] = json!(true);
    assert!(mismatches(&open, fits.as_object().unwrap()).is_empty());
}

#[test]
fn any_schema_and_arguments_do_no_harm_and_what_was_put_right_stays_so() {
    const WORDS: [&str; 20] = [
        "type",
        "properties",
        "items",
        "required",
        "enum",
        "anyOf",
        "oneOf",
        "$ref",
        "#",
        "#/properties/a",
        "string",
        "integer",
        "number",
        "boolean",
        "array",
        "object",
        "null",
        "17",
        "a",
        "[1]",
    ];
    check(|u| {
        let mut schema = any_json(u, &WORDS, 5)?;
        let arguments = any_json(u, &WORDS, 4)?;
        let Value::Object(arguments) = arguments else {
            return Ok(());
        };
        if u.ratio(1, 2)? {
            let names = arguments.keys().cloned();
            let schemas: Result<Map<String, Value>, _> = names
                .map(|name| {
                    let kind = *u.choose(&WORDS[10..17])?;
                    Ok((name, json!({"type": kind, "items": {"type": "integer"}})))
                })
                .collect();
            schema = json!({"type": "object", "properties": schemas?});
        }
        assert!(mismatches(&schema, &arguments).len() <= MAX_MISMATCHES);
        if let Some(meant) = super::coerce(&schema, &arguments) {
            assert_ne!(meant, arguments);
            assert!(meant.keys().eq(arguments.keys()));
            assert_eq!(
                super::coerce(&schema, &meant),
                None,
                "{schema} {arguments:?}"
            );
        }
        Ok(())
    });
}
