use super::*;

#[test]
fn arguments_are_read_from_a_string_and_from_an_object() {
    for (json, text) in [
        (r#""{\"a\":1}""#, r#"{"a":1}"#),
        (r#""{""#, "{"),
        (r#"{"a": 1e2}"#, r#"{"a": 1e2}"#),
        ("null", ""),
        ("5", "5"),
    ] {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        assert_eq!(arguments_text(&raw), text);
    }
}
