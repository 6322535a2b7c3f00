use super::*;
use crate::property_testing::{any_json, check};
use serde_json::json;
use std::time::{Duration, Instant};

fn schema(schema: Value) -> Schema {
    Schema::new(schema).unwrap()
}

/// The faults, one on a line.
fn faults(of: &Value, value: Value) -> String {
    let faults = schema(of.clone()).faults(&value);
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    lines.join("\n")
}

#[track_caller]
fn fits(of: Value, values: &[Value], others: &[Value]) {
    for value in values {
        assert_eq!(faults(&of, value.clone()), "", "{value} and {of}");
    }
    for value in others {
        assert_ne!(faults(&of, value.clone()), "", "{value} and {of}");
    }
}

#[test]
fn types_and_fixed_values() {
    fits(
        json!({"type": "integer"}),
        &[json!(1), json!(2.0), json!(u64::MAX)],
        &[json!(1.5), json!("1"), json!(null)],
    );
    fits(
        json!({"type": ["string", "null"]}),
        &[json!("x"), json!(null)],
        &[json!(1)],
    );
    fits(
        json!({"const": {"a": 1, "b": [2.0]}}),
        &[json!({"b": [2], "a": 1.0})],
        &[json!({"a": 1}), json!({"a": 1, "b": [2, 3]}), json!(true)],
    );
    fits(
        json!({"enum": [0, "x"]}),
        &[json!(0.0), json!("x")],
        &[json!(false), json!("")],
    );
}

#[test]
fn bounds_of_numbers_strings_and_lists() {
    fits(
        json!({"minimum": 2, "exclusiveMaximum": 3}),
        &[json!(2), json!(2.9), json!("x")],
        &[json!(1), json!(3)],
    );
    fits(
        json!({"maximum": 9_007_199_254_740_992_i64}),
        &[json!(9_007_199_254_740_992_i64)],
        &[json!(9_007_199_254_740_993_i64)],
    );
    fits(
        json!({"multipleOf": 0.0001}),
        &[json!(0.0075), json!(4)],
        &[json!(0.00751)],
    );
    fits(
        json!({"multipleOf": 2.5}),
        &[json!(0), json!(7.5), json!(1e300)],
        &[json!(7), json!(1e-300)],
    );
    fits(
        json!({"minLength": 2, "maxLength": 2}),
        &[json!("äö"), json!("👍👍")],
        &[json!("ä"), json!("abc")],
    );
    fits(
        json!({"minItems": 1, "maxItems": 2.0}),
        &[json!([1]), json!({})],
        &[json!([]), json!([1, 2, 3])],
    );
    fits(
        json!({"uniqueItems": true}),
        &[json!([1, "1", true, [1], {"a": 1}])],
        &[json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])],
    );
}

#[test]
fn items_and_properties() {
    let pair = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    fits(
        pair,
        &[json!(["a", 1, 2]), json!([])],
        &[json!([1]), json!(["a", "b"])],
    );
    let old = json!({"items": [{"type": "string"}], "additionalItems": false});
    fits(old, &[json!(["a"])], &[json!(["a", 1]), json!([1])]);
    let contains = json!({"contains": {"minimum": 5}, "maxContains": 1});
    fits(contains, &[json!([5, 1])], &[json!([1]), json!([5, 6])]);
    fits(
        json!({"contains": true, "minContains": 0}),
        &[json!([])],
        &[],
    );
    let closed = json!({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    fits(
        closed,
        &[json!({"a": "x"}), json!([])],
        &[json!({}), json!({"a": 1}), json!({"a": "x", "b": 1})],
    );
    fits(
        json!({"additionalProperties": {"type": "integer"}}),
        &[json!({"a": 1})],
        &[json!({"a": "x"})],
    );
    fits(
        json!({"propertyNames": {"maxLength": 2}, "minProperties": 1}),
        &[json!({"ab": 1})],
        &[json!({"abc": 1}), json!({})],
    );
    fits(
        json!({"dependentRequired": {"a": ["b"]}}),
        &[json!({"b": 1}), json!({"a": 1, "b": 2})],
        &[json!({"a": 1})],
    );
    fits(
        json!({"dependentSchemas": {"a": {"minProperties": 2}}}),
        &[json!({"b": 1})],
        &[json!({"a": 1})],
    );
}

#[test]
fn combined_schemas_and_references() {
    fits(
        json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}),
        &[json!("x"), json!(5)],
        &[json!(4)],
    );
    fits(
        json!({"oneOf": [{"type": "integer"}, {"minimum": 5}]}),
        &[json!(4), json!(5.5)],
        &[json!(5), json!(4.5)],
    );
    fits(
        json!({"allOf": [{"minimum": 1}, {"maximum": 2}], "not": {"const": 2}}),
        &[json!(1)],
        &[json!(0), json!(2), json!(3)],
    );
    let conditional = json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}});
    fits(
        conditional,
        &[json!({"a": 1, "b": 1}), json!({"c": 1})],
        &[json!({"a": 1}), json!({})],
    );
    let tree = json!({
        "$ref": "#/$defs/a~1b%25", "$defs": {
            "a/b%": {"type": "object", "properties": {"next": {"$ref": "#node"}}},
            "n": {"$anchor": "node", "anyOf": [{"type": "null"}, {"$ref": "#"}]},
        },
    });
    fits(
        tree,
        &[json!({"next": {"next": null}})],
        &[json!(1), json!({"next": {"next": 1}})],
    );
    fits(
        json!({"format": "email", "ours": {"type": "nothing"}, "$comment": 5}),
        &[json!("no address")],
        &[],
    );
}

#[test]
fn a_fault_says_where_and_what() {
    let of = json!({
        "type": "object", "required": ["title", "a/b"],
        "properties": {"list": {"items": {"type": "object", "properties": {"n": {"maximum": 3}}}}},
        "additionalProperties": false,
    });
    let found = faults(
        &of,
        json!({"list": [{"n": 1}, {"n": 4}, 5], "more": 1, "a/b": 1}),
    );
    assert_eq!(
        found,
        "`/title` is missing\n\
         `/list/1/n` is more than 3\n\
         `/list/2` is a number, not object\n\
         `/more` is not a property of the schema\n\
         `/a~1b` is not a property of the schema"
    );
    let none = json!({"anyOf": [{"type": "null"}, {"required": ["x"]}]});
    assert_eq!(
        faults(&none, json!({})),
        "the whole value fits no schema of `anyOf`; the whole value is an object, not null; `/x` is missing"
    );
}

#[test]
fn a_schema_that_makes_no_sense_is_refused_with_its_place() {
    for (schema, place, reason) in [
        (json!([]), "", "is not a schema"),
        (json!({"type": "text"}), "/type", "must be a type"),
        (
            json!({"properties": {"a": {"type": []}}}),
            "/properties/a/type",
            "must be a type",
        ),
        (
            json!({"properties": "x"}),
            "/properties",
            "must be an object of schemas",
        ),
        (json!({"anyOf": []}), "/anyOf", "must be a list of schemas"),
        (json!({"items": 5}), "/items", "is not a schema"),
        (json!({"minimum": "1"}), "/minimum", "must be a number"),
        (
            json!({"exclusiveMinimum": true}),
            "/exclusiveMinimum",
            "must be a number",
        ),
        (json!({"multipleOf": 0}), "/multipleOf", "greater than zero"),
        (
            json!({"minLength": -1}),
            "/minLength",
            "a whole number from zero",
        ),
        (json!({"required": "a"}), "/required", "a list of names"),
        (
            json!({"$ref": "#/nowhere"}),
            "/$ref",
            "not a place in this schema",
        ),
        (
            json!({"$ref": "https://example.com/s"}),
            "/$ref",
            "not a place in this schema",
        ),
        (
            json!({"$ref": "#/ours", "ours": {"type": 1}}),
            "/$ref",
            "where `/type` must be a type",
        ),
        (
            json!({"items": {"$id": "x"}}),
            "/items/$id",
            "not supported",
        ),
    ] {
        let fault = Schema::new(schema.clone()).unwrap_err();
        assert_eq!(fault.pointer, place, "{schema}: {fault}");
        assert!(fault.reason.contains(reason), "{schema}: {fault}");
    }
}

#[test]
fn what_is_not_checked_is_listed_and_refuses_nothing() {
    let of = schema(json!({
        "$id": "https://example.com/s",
        "properties": {"a": {"pattern": "^a"}},
        "patternProperties": {"^x-": {}}, "additionalProperties": false,
    }));
    assert_eq!(
        of.unchecked(),
        ["/properties/a/pattern", "/patternProperties"]
    );
    assert_eq!(of.faults(&json!({"a": "b", "x-y": 1})), []);
}

#[test]
fn hostile_schemas_and_values_end_soon() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(Schema::new(deep).unwrap_err().reason.contains("deep"));
    let wide = Value::Array(vec![json!({}); MAX_SCHEMAS + 1]);
    assert!(
        Schema::new(json!({"anyOf": wide}))
            .unwrap_err()
            .reason
            .contains("schemas")
    );
    let names: Map<String, Value> = (0..5_000)
        .map(|n| (n.to_string(), json!({"type": 1})))
        .collect();
    let long = json!({"properties": {"x".repeat(100_000): {"properties": names}}});
    assert!(Schema::new(long).unwrap_err().pointer.len() < 2 * MAX_POINTER);
    let doubling = json!({
        "$ref": "#/$defs/a40",
        "$defs": (1..=40).map(|n| {
            let next = json!({"$ref": format!("#/$defs/a{}", n - 1)});
            (format!("a{n}"), json!({"anyOf": [next, next]}))
        }).chain([("a0".to_owned(), json!(false))]).collect::<Map<_, _>>(),
    });
    let many: Value = (0..100_000).collect();
    let mut last = vec![json!([[[1, 2, 3], "x"]]); 3_000];
    last.push(json!([[[1, 2, 3], "y"]]));
    for (of, value) in [
        (json!({"$ref": "#"}), json!(1)),
        (json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), json!(1)),
        (doubling, json!(1)),
        (json!({"uniqueItems": true}), many.clone()),
        (
            json!({"not": {"items": {"not": {"uniqueItems": true}}}}),
            json!([many.clone()]),
        ),
        (
            json!({"items": {"enum": last}}),
            vec![json!([[[1, 2, 3], "y"]]); 3_000].into(),
        ),
    ] {
        let start = Instant::now();
        let faults = schema(of.clone()).faults(&value);
        assert!(faults.len() == 1, "{:.100}", of.to_string());
        assert!(faults[0].reason.contains("too much work"), "{}", faults[0]);
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
    }
    let long = "n".repeat(200_000);
    let anchors: Vec<Value> = (0..9_000)
        .map(|n| json!({"$anchor": format!("a{n}")}))
        .collect();
    let objects = Value::from(vec![json!({"a": 1, "b": 2}); 100_000]);
    for (of, value) in [
        (json!({"items": {"not": {"required": [long]}}}), &objects),
        (
            json!({"items": {"not": {"properties": {&long: {}}, "type": "null"}}}),
            &objects,
        ),
        (
            json!({"items": {"$ref": "#a8999"}, "allOf": anchors}),
            &objects,
        ),
        (json!({"items": {"not": {"enum": [long]}}}), &objects),
        (
            json!({"items": {"dependentSchemas": {"a": {"minProperties": 1}}}}),
            &objects,
        ),
    ] {
        let start = Instant::now();
        let _ = schema(of).faults(value);
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{:?}",
            start.elapsed()
        );
    }
    let all_wrong = schema(json!({"items": {"type": "null"}})).faults(&many);
    assert_eq!(all_wrong.len(), MAX_FAULTS);
}

#[test]
fn anything_may_be_a_schema_or_a_value() {
    const WORDS: [&str; 24] = [
        "a",
        "#",
        "#/items",
        "string",
        "object",
        "$ref",
        "$anchor",
        "type",
        "enum",
        "const",
        "items",
        "prefixItems",
        "contains",
        "properties",
        "required",
        "additionalProperties",
        "propertyNames",
        "uniqueItems",
        "multipleOf",
        "minimum",
        "anyOf",
        "oneOf",
        "not",
        "if",
    ];
    check(|u| {
        let (of, value) = (any_json(u, &WORDS, 6)?, any_json(u, &WORDS, 4)?);
        if let Ok(schema) = Schema::new(of) {
            let _ = schema.faults(&value);
        }
        Ok(())
    });
}
