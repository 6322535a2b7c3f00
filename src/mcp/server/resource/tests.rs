use super::*;

#[test]
fn a_template_takes_its_variables_out_of_a_uri() {
    for (template, uri, expected) in [
        (
            "demo://hi/{name}",
            "demo://hi/Ada",
            Some(json!({"name": "Ada"})),
        ),
        (
            "demo://hi/{name}",
            "demo://hi/J%C3%BCrgen%20%2F",
            Some(json!({"name": "Jürgen /"})),
        ),
        ("demo://hi/{name}", "demo://hi/", None),
        ("demo://hi/{name}", "demo://hi/a/b", None),
        ("demo://hi/{name}", "demo://hi/%FF", None),
        ("demo://hi/{name}", "demo://ho/Ada", None),
        ("demo://hi/{name}", "", None),
        (
            "m://{scope}/{item}.md",
            "m://local/a.md.md",
            Some(json!({"scope": "local", "item": "a.md"})),
        ),
        (
            "m://{scope}/{item}.md",
            "m://local/notes.md",
            Some(json!({"scope": "local", "item": "notes"})),
        ),
        ("m://{scope}/{item}.md", "m://local/notes.txt", None),
        ("m://fixed", "m://fixed", Some(json!({}))),
        ("m://fixed", "m://fixed/", None),
        ("m://broken/{name", "m://broken/x", None),
    ] {
        let found = variables(template, uri).map(Value::Object);
        assert_eq!(found, expected, "{template} {uri}");
    }
}
