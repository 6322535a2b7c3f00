use super::*;
use serde_json::json;

#[test]
fn a_field_with_two_types_is_found_whatever_the_server_owns() {
    let steady =
        json!({"tools": [{"name": "a", "_meta": {"x": 1}}, {"name": "b", "_meta": {"x": ""}}]});
    assert_eq!(conflict(&[steady.clone(), steady.clone()]), None);
    let within = json!({"tools": [{"name": "a"}, {"name": ["b"]}]});
    assert!(conflict(&[within]).is_some_and(|it| it.contains("tools[].name")));
    let long = "k".repeat(MAX_PLACE);
    assert_eq!(
        conflict(&[json!({long.clone(): 1}), json!({long: ""})]),
        None
    );
    let single = json!({"tools": {"name": "a"}});
    assert!(conflict(&[steady, single]).is_some());
}

#[test]
fn contents_are_compared_with_the_schema() {
    for (part, is_right) in [
        (json!({"type": "text", "text": ""}), true),
        (json!({"type": "text", "text": 1}), false),
        (
            json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            true,
        ),
        (
            json!({"type": "image", "data": "A", "mimeType": "image/png"}),
            false,
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "text": ""}}),
            true,
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b"}}),
            false,
        ),
        (
            json!({"type": "resource_link", "uri": "a:b", "name": "b"}),
            true,
        ),
        (json!({"type": "video"}), false),
        (json!("text"), false),
    ] {
        assert_eq!(content_fault(&part).is_none(), is_right, "{part}");
    }
}

#[test]
fn whole_numbers_are_integers_where_the_protocol_has_them() {
    assert_eq!(
        fraction_for_integer(&json!({"minLength": 1, "minimum": 1.0})),
        None
    );
    assert!(fraction_for_integer(&json!([{"a": {"minLength": 1.0}}])).is_some());
    assert!(fraction_for_integer(&json!({"size": "12"})).is_some());
    assert_eq!(
        fraction_for_integer(&json!({"default": {"size": "12"}})),
        None
    );
}
