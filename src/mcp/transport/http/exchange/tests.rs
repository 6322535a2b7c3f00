use super::*;

#[test]
fn an_answer_is_told_from_other_messages() {
    let none: &[i64] = &[];
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some(&[7][..])),
        (r#" {"result":{"id":1},"id":7}"#, Some(&[7])),
        (r#"{"id":7,"error":{"code":1,"message":""}}"#, Some(&[7])),
        (r#"{"id":"7","result":{}}"#, Some(&[7])),
        ("\u{feff}{\"id\":7.0,\"result\":{}}", Some(&[7])),
        (r#"{"id":"seven","result":{}}"#, Some(none)),
        (r#"{"id":null,"error":{}}"#, Some(none)),
        (r#"{"id":7.5,"result":{}}"#, Some(none)),
        (r#"{"id":7,"method":"ping"}"#, Some(none)),
        (
            r#"[{"method":"a"},{"id":7,"result":1},{"id":8,"result":1}]"#,
            Some(&[7, 8]),
        ),
        (r#"[{"method":"a"}]"#, Some(none)),
        (r#"{"id":7,"result":"#, None),
        ("7", None),
        ("", None),
    ] {
        assert_eq!(answered_ids(text.as_bytes()).as_deref(), expected, "{text}");
    }
}

#[test]
fn only_tool_calls_may_not_be_repeated() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call"}"#, false),
        ("?", false),
    ] {
        assert_eq!(is_repeatable(text.as_bytes()), expected, "{text}");
    }
}
