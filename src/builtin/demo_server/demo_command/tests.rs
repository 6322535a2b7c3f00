use super::*;

#[test]
fn a_guess_follows_the_schema() {
    for (schema, value) in [
        (json!({"type": "string", "default": "d"}), json!("d")),
        (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
        (json!({"type": "integer"}), json!(1)),
        (
            json!({"type": "string", "description": "a name (e.g., 'Europe/London')"}),
            json!("Europe/London"),
        ),
        (json!({}), json!("hello")),
    ] {
        assert_eq!(guess(&schema), value);
    }
}
