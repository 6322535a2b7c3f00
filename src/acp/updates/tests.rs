use super::*;

#[test]
fn a_result_shows_what_is_for_the_user() {
    let result = CallToolResult {
        content: vec![
            Part::text_for("assistant", None, "for the model"),
            Part::text_for("user", None, "a ``` b"),
            Part::image("aGk=", "image/png"),
        ],
        structured_content: Some(Box::default()),
        ..CallToolResult::default()
    };
    let contents = result_contents(&result, true);
    assert_eq!(contents.len(), 2);
    let text = "````console\na ``` b\n````\n";
    assert_eq!(contents[0]["content"]["text"], text);
    assert_eq!(contents[1]["content"]["mimeType"], "image/png");
}

#[test]
fn parts_that_the_protocol_does_not_have_are_left_out() {
    for odd in [
        json!({"type": "text"}),
        json!({"type": "new", "text": "x"}),
        json!({"type": "resource", "resource": {"uri": "x:y"}}),
        json!([]),
    ] {
        assert_eq!(content(odd.clone()), None, "{odd}");
    }
}
