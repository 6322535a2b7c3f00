use super::*;

#[test]
fn what_comes_first_in_a_broken_message_is_known() {
    let of = |start: &str| Beginning::of(start.as_bytes());
    let known = |id: Option<i64>, kind: Option<Kind>| Beginning {
        id: id.map(Id::Number),
        kind,
    };
    for (start, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"prompt":"aaa"#,
            known(Some(7), Some(Kind::Request)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":"aaa"#,
            known(Some(7), Some(Kind::Response)),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"x","params":{"prompt":"aaa"#,
            known(None, Some(Kind::Request)),
        ),
        (
            r#"{"id":7,"params":{"prompt":"aaa"#,
            known(Some(7), Some(Kind::Request)),
        ),
        (
            r#"{"id":7,"result":{"n":NaN}}"#,
            known(Some(7), Some(Kind::Response)),
        ),
        (r#"{"id":7,"more":"aaa"#, known(Some(7), None)),
        ("[1", known(None, None)),
    ] {
        assert_eq!(of(start), expected, "{start}");
    }
}
