use super::keyword_validation::MAX_FAULTS;
use super::place::MAX_POINTER;
use super::reader::MAX_SCHEMAS;
use super::*;
use gosling_testing::arbitrary::{self, Unstructured};
use gosling_testing::property_testing::{any_json, check};
use serde_json::{Map, json};
use std::time::{Duration, Instant};

fn schema(schema: Value) -> Schema {
    Schema::new(schema).unwrap()
}

/// The faults, one on a line.
fn faults(of: &Value, value: Value) -> String {
    let faults = schema(of.clone()).faults(&value);
    let lines: Vec<String> = faults.iter().map(SchemaFault::to_string).collect();
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
        json!({"exclusiveMaximum": 9_007_199_254_740_996.0, "minimum": -2.5}),
        &[json!(9_007_199_254_740_995_i64), json!(-2), json!(-2.5)],
        &[json!(9_007_199_254_740_996_i64), json!(-3), json!(1e300)],
    );
    fits(
        json!({"minimum": 0.0, "exclusiveMaximum": 1e300}),
        &[json!(-0.0), json!(0), json!(u64::MAX)],
        &[json!(-1), json!(-0.1)],
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
fn a_dynamic_reference_leads_to_its_anchor_in_the_document() {
    let tree = json!({
        "$dynamicAnchor": "node",
        "properties": {"next": {"$dynamicRef": "#node"}, "name": {"$ref": "#text"}},
        "unevaluatedProperties": false,
        "$defs": {"text": {"$dynamicAnchor": "text", "type": "string"}},
    });
    fits(
        tree,
        &[json!({"next": {"next": {}, "name": "a"}})],
        &[json!({"next": {"next": 1, "nxt": {}}}), json!({"name": 1})],
    );
}

#[test]
fn what_another_keyword_evaluates_is_not_unevaluated() {
    fits(
        json!({
            "properties": {"a": {}}, "unevaluatedProperties": {"type": "null"},
            "allOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/c"}],
            "dependentSchemas": {"a": {"properties": {"d": {}}}},
            "$defs": {"c": {"properties": {"c": {}}}},
        }),
        &[
            json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": null}),
            json!({"d": null}),
            json!([1]),
        ],
        &[json!({"a": 1, "e": 1}), json!({"d": 1})],
    );
    let kind = |kind: &str, also: &str| json!({"properties": {"kind": {"const": kind}, also: {}}, "required": ["kind"]});
    for combined in ["anyOf", "oneOf"] {
        fits(
            json!({combined: [kind("a", "x"), kind("b", "y")], "unevaluatedProperties": false}),
            &[json!({"kind": "a", "x": 1}), json!({"kind": "b", "y": 1})],
            &[
                json!({"kind": "a", "y": 1}),
                json!({"kind": "a", "x": 1, "z": 1}),
            ],
        );
    }
    fits(
        json!({
            "if": kind("a", "x"), "then": {"properties": {"y": {}}}, "else": {"properties": {"z": {}}},
            "unevaluatedProperties": false,
        }),
        &[json!({"kind": "a", "x": 1, "y": 1}), json!({"z": 1})],
        &[
            json!({"kind": "a", "z": 1}),
            json!({"kind": "b", "z": 1}),
            json!({"y": 1}),
        ],
    );
    fits(
        json!({"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": false}),
        &[json!({})],
        &[json!({"a": 1})],
    );
    fits(
        json!({"allOf": [{"additionalProperties": {"type": "integer"}}], "unevaluatedProperties": false}),
        &[json!({"a": 1})],
        &[json!({"a": "x"})],
    );
    fits(
        json!({
            "prefixItems": [{"type": "string"}], "contains": {"minimum": 5},
            "unevaluatedItems": {"type": "null"},
        }),
        &[json!(["a", 5, null, 6]), json!({"a": 1})],
        &[json!(["a", 5, 4]), json!([5, "a"])],
    );
    fits(
        json!({"allOf": [{"prefixItems": [true]}, {"items": true}], "unevaluatedItems": false}),
        &[json!([1, 2])],
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
            json!({"$schema": "https://example.com/dialect"}),
            "/$schema",
            "must be a dialect of json-schema.org",
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
        "$id": "https://example.com/s", "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"pattern": "^a"}},
        "patternProperties": {"^x-": {}}, "additionalProperties": false,
    }));
    assert_eq!(
        of.unchecked(),
        ["/properties/a/pattern", "/patternProperties"]
    );
    assert_eq!(of.faults(&json!({"a": "b", "x-y": 1})), []);
}

/// Each schema has an unchecked keyword, and by the standard it takes the value or refuses it because of that
/// keyword alone.
#[test]
fn what_is_not_checked_leaves_open_what_depends_on_it() {
    let text = json!({"pattern": "^a"});
    let named = json!({"patternProperties": {"^x": false}});
    for (of, value) in [
        (json!({"not": text}), json!("b")),
        (json!({"not": {"not": {"not": text}}}), json!("b")),
        (json!({"not": named}), json!({"x": 1})),
        (json!({"not": {"items": text}}), json!(["b"])),
        (json!({"not": {"propertyNames": text}}), json!({"b": 1})),
        (json!({"oneOf": [text, {"type": "string"}]}), json!("b")),
        (json!({"oneOf": [text, false]}), json!("a")),
        (json!({"if": text, "then": false}), json!("b")),
        (json!({"if": text, "else": false}), json!("a")),
        (
            json!({"contains": text, "maxContains": 1}),
            json!(["a", "b"]),
        ),
        (
            json!({"not": {"contains": text, "minContains": 2}}),
            json!(["a", "b"]),
        ),
        (json!({"not": {"anyOf": [false, text]}}), json!("b")),
        (
            json!({"not": {"dependencies": {"a": ["b"]}}}),
            json!({"a": 1}),
        ),
        (
            json!({"not": {"patternProperties": {"^x": {}}, "additionalProperties": false}}),
            json!({"b": 1}),
        ),
        (
            json!({"patternProperties": {"^x": {}}, "unevaluatedProperties": false}),
            json!({"x": 1}),
        ),
        (
            json!({
                "anyOf": [{"properties": {"a": text}}, true], "unevaluatedProperties": false,
            }),
            json!({"a": "a"}),
        ),
        (
            json!({
                "if": {"properties": {"a": text}}, "then": true, "else": {"properties": {"b": true}},
                "unevaluatedProperties": false,
            }),
            json!({"a": "b", "b": 1}),
        ),
        (
            json!({"not": {
                "anyOf": [{"properties": {"a": text}}, true], "unevaluatedProperties": false,
            }}),
            json!({"a": "b"}),
        ),
        (
            json!({"contains": text, "unevaluatedItems": false}),
            json!(["a"]),
        ),
        (
            json!({"not": {"contains": text, "unevaluatedItems": false}}),
            json!(["b"]),
        ),
        (
            json!({"not": {"dependentSchemas": {"a": named}}}),
            json!({"a": 1, "x": 1}),
        ),
        (
            json!({"not": {"$ref": "#/$defs/named"}, "$defs": {"named": named}}),
            json!({"x": 1}),
        ),
    ] {
        assert_eq!(faults(&of, value.clone()), "", "{value} and {of}");
    }
}

#[test]
fn what_is_certain_in_spite_of_unchecked_keywords_is_a_fault() {
    let text = json!({"pattern": "^a"});
    for (of, value) in [
        (json!({"not": text}), json!(1)),
        (json!({"not": {"anyOf": [text, true]}}), json!("b")),
        (json!({"oneOf": [text, true, true]}), json!("b")),
        (
            json!({"anyOf": [{"pattern": "^a", "maxLength": 1}]}),
            json!("ab"),
        ),
        (
            json!({"contains": text, "minContains": 3}),
            json!(["a", "b"]),
        ),
        (
            json!({"contains": text, "maxContains": 1}),
            json!([1, 2, "b"]),
        ),
        (json!({"not": {"contains": text}}), json!([1, "b"])),
        (
            json!({"patternProperties": {"^x": {}}, "required": ["a"]}),
            json!({"x": 1}),
        ),
        (
            json!({"if": {"properties": {"a": {"pattern": "^a", "type": "string"}}}, "else": false}),
            json!({"a": 1}),
        ),
    ] {
        assert_ne!(faults(&of, value.clone()), "", "{value} and {of}");
    }
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
    let nested = (0..30).fold(
        json!({}),
        |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": {}}),
    );
    let many: Value = (0..100_000).collect();
    let closed = vec![json!({"items": true}); 4_000];
    let mut last = vec![json!([[[1, 2, 3], "x"]]); 3_000];
    last.push(json!([[[1, 2, 3], "y"]]));
    for (of, value) in [
        (json!({"$ref": "#"}), json!(1)),
        (json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), json!(1)),
        (doubling, json!(1)),
        (nested, json!({"a": 1})),
        (
            json!({"unevaluatedProperties": {}, "anyOf": [{"$ref": "#"}]}),
            json!({"a": 1}),
        ),
        (json!({"uniqueItems": true}), many.clone()),
        (
            json!({"unevaluatedItems": true, "allOf": closed}),
            many.clone(),
        ),
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
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            start.elapsed()
        );
    }
    let all_wrong = schema(json!({"items": {"type": "null"}})).faults(&many);
    assert_eq!(all_wrong.len(), MAX_FAULTS);
}

/// A schema, and the same without unchecked keywords: each is replaced as if its regular expression fitted every
/// text, or none.
fn any_schema(u: &mut Unstructured<'_>, depth: u32) -> Result<(Value, Value), arbitrary::Error> {
    let inner = |u: &mut Unstructured<'_>| any_schema(u, depth - 1);
    let both = |schema: Value| Ok((schema.clone(), schema));
    match u.int_in_range(0..=if depth == 0 { 4 } else { 9 })? {
        0 => return both(u.arbitrary::<bool>()?.into()),
        1 => return both(json!({"type": u.choose(&["string", "object", "array", "integer"])?})),
        2 => return both(json!({"maxLength": 1, "minimum": 1, "minItems": 1, "required": ["a"]})),
        3 | 4 => {
            let fits = u.arbitrary::<bool>()?;
            let as_if = if fits {
                json!(true)
            } else {
                json!({"not": {"type": "string"}})
            };
            return Ok((json!({"pattern": "x"}), as_if));
        }
        5 => {
            let (schema, checked) = inner(u)?;
            let fits = u.arbitrary::<bool>()?;
            let as_if = if fits {
                json!({"additionalProperties": checked})
            } else {
                json!(true)
            };
            return Ok((json!({"patternProperties": {"x": schema}}), as_if));
        }
        _ => {}
    }
    let (mut schema, mut checked) = (Map::new(), Map::new());
    for _ in 0..u.int_in_range(1..=3)? {
        let keyword = *u.choose(&[
            "not",
            "if",
            "then",
            "else",
            "contains",
            "items",
            "additionalProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "allOf",
            "anyOf",
            "oneOf",
            "prefixItems",
            "properties",
            "dependentSchemas",
        ])?;
        let ((a, checked_a), (b, checked_b)) = (inner(u)?, inner(u)?);
        let argument = |a: Value, b: Value| match keyword {
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => json!([a, b]),
            "properties" | "dependentSchemas" => json!({"a": a, "b": b}),
            _ => a,
        };
        schema.insert(keyword.to_owned(), argument(a, b));
        checked.insert(keyword.to_owned(), argument(checked_a, checked_b));
        if keyword == "contains" {
            let (least, most) = (u.int_in_range(0..=2)?, u.int_in_range(1..=2)?);
            for map in [&mut schema, &mut checked] {
                map.insert("minContains".to_owned(), json!(least));
                map.insert("maxContains".to_owned(), json!(most));
            }
        }
    }
    Ok((schema.into(), checked.into()))
}

#[test]
fn a_fault_is_one_whatever_the_unchecked_keywords_say() {
    check(|u| {
        let (of, checked) = any_schema(u, 4)?;
        let value = any_json(u, &["a", "b"], 3)?;
        let is_valid = faults(&checked, value.clone()).is_empty();
        let has_faults = !faults(&of, value.clone()).is_empty();
        assert!(!(is_valid && has_faults), "{value} and {of}, as {checked}");
        let negation = faults(&json!({"not": checked}), value.clone());
        assert_ne!(is_valid, negation.is_empty(), "{value} and {checked}");
        Ok(())
    });
}

#[test]
fn anything_may_be_a_schema_or_a_value() {
    const WORDS: [&str; 26] = [
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
        "unevaluatedItems",
        "unevaluatedProperties",
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
