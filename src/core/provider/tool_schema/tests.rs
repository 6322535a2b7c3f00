use super::*;

#[test]
fn what_is_missing_is_added_and_the_rest_stays() {
    for (given, expected) in [
        ("{}", r#"{"type":"object","properties":{}}"#),
        (" { } ", r#"{"type":"object","properties":{} }"#),
        ("true", r#"{"type":"object","properties":{}}"#),
        ("null", r#"{"type":"object","properties":{}}"#),
        ("[1,2]", r#"{"type":"object","properties":{}}"#),
        (
            r#"{"type":"object"}"#,
            r#"{"properties":{},"type":"object"}"#,
        ),
        (
            r#"{"properties":{"a":1e2}, "x":1}"#,
            r#"{"type":"object","properties":{"a":1e2}, "x":1}"#,
        ),
        (
            r#"{"type": "object","properties":{}}"#,
            r#"{"type": "object","properties":{}}"#,
        ),
        (
            r#"{"type":"object","properties": [ ]}"#,
            r#"{"type":"object","properties": { }}"#,
        ),
        (
            r#"{"properties":{"a":{"properties":[],"b":"\"properties\":[]"}},"required":[]}"#,
            r#"{"type":"object","properties":{"a":{"properties":{},"b":"\"properties\":[]"}},"required":[]}"#,
        ),
    ] {
        let raw = RawValue::from_string(given.trim().to_owned()).unwrap();
        assert_eq!(complete(&raw).get(), expected);
    }
}
