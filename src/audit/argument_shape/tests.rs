use super::*;
use serde_json::{Map, json};

fn shape_of(value: &Value) -> Value {
    serde_json::from_str(&written(&value.to_string())).unwrap()
}

/// The shape of a text, as it is written.
fn written(text: &str) -> String {
    let mut out = Vec::new();
    Shape::of(text.as_bytes()).write(&mut Members::begin(&mut out), "");
    String::from_utf8(out).unwrap()[r#"{"":"#.len()..].to_owned()
}

#[test]
fn a_shape_has_names_types_and_sizes_and_no_value() {
    let arguments = json!({
        "command": "rm -rf secret", "lines": [1, 2, 3], "n": 7, "on": true, "none": null,
        "deep": {"a": {"b": {"c": "secret"}}}, "odd\u{1b}[31m": 1,
    });
    let shape = shape_of(&arguments);
    assert_eq!(shape["command"], "string of 13");
    assert_eq!(shape["lines"], "array of 3");
    assert_eq!(
        (&shape["n"], &shape["on"]),
        (&json!("number"), &json!("boolean"))
    );
    assert_eq!(shape["none"], Value::Null);
    assert_eq!(shape["deep"]["a"]["b"], "object of 1");
    let text = shape.to_string();
    assert!(
        !text.contains("secret") && !text.contains("\\u001b"),
        "{text}"
    );
}

#[test]
fn large_and_deep_arguments_have_small_shapes() {
    let many: Map<String, Value> = (0..10_000).map(|n| (n.to_string(), json!(n))).collect();
    assert_eq!(shape_of(&many.into())["…"], 9_960);
    let deep = (0..90).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert!(shape_of(&deep).to_string().len() < 100);
}

#[test]
fn each_name_stands_once_in_a_shape() {
    let of = written;
    assert_eq!(
        of(r#"{"a": 1, "b": 2, "a": "x"}"#),
        r#"{"a":"string of 1","b":"number"}"#
    );
    let many: Vec<String> = (0..50).map(|n| format!("\"{n}\":1")).collect();
    let text = of(&format!("{{\"…\":1,{}}}", many.join(",")));
    assert_eq!(text.matches('…').count(), 1, "{text}");
    assert_eq!(of("{\"a\": "), "null");
}
