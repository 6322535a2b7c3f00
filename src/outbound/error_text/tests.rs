use super::*;

#[test]
fn the_message_of_an_error_is_found_in_any_common_shape() {
    for (body, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no session"}}"#,
            "no session",
        ),
        (
            r#"{"error":"invalid_token","error_description":"expired"}"#,
            "expired",
        ),
        (r#"{"error":"invalid_token"}"#, "invalid_token"),
        (r#"{"message":"bad"}"#, "bad"),
        (
            "<html>\r\n <b>Not\tFound</b></html>",
            "<html> <b>Not Found</b></html>",
        ),
        (r#"{"a":1}"#, r#"{"a":1}"#),
        ("", ""),
    ] {
        assert_eq!(error_message(body.as_bytes()), expected);
    }
}

#[test]
fn what_is_shown_is_short_and_visible() {
    assert_eq!(
        one_line("\u{1b}[31mred\u{202e}\u{e0041}"),
        "\\u{1b}[31mred\\u{202e}\\u{e0041}"
    );
    for text in ["x", "\u{1b}", "é"] {
        let long = one_line(&text.repeat(100_000));
        assert!(long.chars().count() <= 8 * MAX && long.ends_with('…'));
    }
    assert_eq!(error_message(b"\xff\x00"), "\u{fffd}\\u{0}");
}
