use super::*;
use gosling_testing::arbitrary::Unstructured;
use gosling_testing::property_testing::{any_json, any_text, check, vec_of};
use serde_json::json;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn says(property: Value, value: Value) -> String {
    let schema = json!({"type": "object", "properties": {"x": property}});
    match complete(&schema, map(json!({ "x": value }))) {
        Ok(_) => "fits".to_owned(),
        Err(reasons) => reasons.join("; "),
    }
}

#[test]
fn what_is_left_out_is_filled_in_and_what_is_given_stays() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ann"},
            "age": {"type": "integer", "default": 7},
            "free": {"type": "string"},
        },
        "required": ["name", "age"],
    });
    assert_eq!(defaults(&schema), map(json!({"name": "Ann", "age": 7})));
    let answer = complete(&schema, map(json!({"age": 8, "more": null}))).unwrap();
    assert_eq!(answer, map(json!({"age": 8, "more": null, "name": "Ann"})));
}

#[test]
fn everything_that_does_not_fit_is_named() {
    let schema = json!({
        "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}},
        "required": ["a", "b", "c"],
    });
    let wrong = complete(&schema, map(json!({"a": "1", "b": 0}))).unwrap_err();
    assert_eq!(
        wrong,
        [
            "`c` is missing",
            "`a` is not a number",
            "`b` is neither true nor false"
        ]
    );
}

#[test]
fn texts_numbers_and_lists_have_their_bounds() {
    let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
    assert_eq!(says(text.clone(), json!("äöü")), "fits");
    assert!(says(text.clone(), json!("a")).contains("less than 2"));
    assert!(says(text, json!("abcd")).contains("more than 3"));
    let number = json!({"type": "number", "minimum": -0.5, "maximum": 10});
    assert_eq!(says(number.clone(), json!(-0.5)), "fits");
    assert!(says(number.clone(), json!(-1)).contains("less than"));
    assert!(says(number, json!(10.1)).contains("more than 10"));
    let whole = json!({"type": "integer"});
    assert_eq!(says(whole.clone(), json!(3.0)), "fits");
    assert!(says(whole, json!(3.5)).contains("whole"));
}

#[test]
fn choices_come_plain_titled_and_several_at_once() {
    let plain = json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]});
    let titled = json!({"type": "string", "oneOf": [
        {"const": "a", "title": "A"}, {"const": "b", "title": "B"}]});
    for one in [&plain, &titled] {
        assert_eq!(says(one.clone(), json!("b")), "fits");
        assert!(says(one.clone(), json!("A")).contains(r#"none of "a", "b""#));
    }
    for items in [
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
    ] {
        let several = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": items});
        assert_eq!(says(several.clone(), json!(["b", "a"])), "fits");
        assert!(says(several.clone(), json!(["c"])).contains("an entry that is none of"));
        assert!(says(several.clone(), json!([])).contains("less than 1"));
        assert!(says(several.clone(), json!(["a", "b", "a"])).contains("more than 2"));
        assert!(says(several, json!("a")).contains("not a list"));
    }
}

#[test]
fn formats_are_judged_loosely() {
    for (format, good, bad) in [
        ("email", "a@b", "a@"),
        ("uri", "urn:x", "x"),
        ("date", "2025-12-31", "2025-13-01"),
        ("date-time", "2025-12-31T23:59:59Z", "2025-12-31"),
        ("colour", "any", ""),
    ] {
        let property = json!({"type": "string", "format": format});
        assert_eq!(says(property.clone(), json!(good)), "fits", "{format}");
        assert_eq!(says(property, json!(bad)) == "fits", format == "colour");
    }
}

#[test]
fn a_schema_of_any_shape_does_no_harm() {
    for schema in [
        json!(null),
        json!([]),
        json!({"properties": [], "required": 5}),
        json!({"properties": {"x": 5}, "required": [5]}),
        json!({"properties": {"x": {"type": "array", "items": 5, "enum": 1, "oneOf": [1]}}}),
    ] {
        assert!(complete(&schema, map(json!({"x": []}))).is_ok(), "{schema}");
    }
}

#[test]
fn any_schema_and_answer_do_no_harm_and_what_fits_fits_again() {
    const WORDS: [&str; 20] = [
        "properties",
        "required",
        "default",
        "type",
        "string",
        "integer",
        "number",
        "boolean",
        "array",
        "items",
        "enum",
        "oneOf",
        "anyOf",
        "const",
        "format",
        "minLength",
        "maximum",
        "minItems",
        "date",
        "a@b",
    ];
    check(|u| {
        let of = |u: &mut Unstructured<'_>| any_json(u, &WORDS, 3);
        let mut schema = of(u)?;
        let answer = of(u)?;
        let Value::Object(answer) = answer else {
            return Ok(());
        };
        if u.ratio(1, 2)? {
            let mut names: Vec<String> = answer.keys().cloned().collect();
            names.extend(WORDS.map(str::to_owned));
            let properties = vec_of(u, 4, |u| {
                let name = u.choose(&names)?.clone();
                let mut property = any_json(u, &WORDS, 3)?;
                if u.ratio(1, 2)? {
                    property = json!({"type": u.choose(&WORDS)?, "default": property});
                }
                Ok((name, property))
            })?;
            let properties: Map<String, Value> = properties.into_iter().collect();
            schema = json!({"properties": properties});
            if u.ratio(1, 4)? {
                schema["required"] = json!([any_text(u)?]);
            }
        }
        match complete(&schema, answer.clone()) {
            Ok(whole) => {
                assert!(answer.iter().all(|(name, value)| whole[name] == *value));
                assert!(
                    defaults(&schema)
                        .keys()
                        .all(|name| whole.contains_key(name))
                );
                assert_eq!(complete(&schema, whole.clone()), Ok(whole));
            }
            Err(wrong) => {
                assert!(!wrong.is_empty());
                for reason in wrong {
                    assert_eq!(printable(&reason, 1000), reason);
                }
            }
        }
        Ok(())
    });
}
