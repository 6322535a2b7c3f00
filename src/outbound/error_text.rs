//! The text of a server's error response, made fit for a message to the user: short, on one line, without
//! control characters and without anything that changes how the text around it looks.

use gosling_text::printable;
use serde_json::Value;

/// The most characters of a server's text in one error.
const MAX: usize = 500;

/// The message of a JSON error of any common shape, else the beginning of the text.
pub fn error_message(body: &[u8]) -> String {
    let json: Option<Value> = gosling_text::json::from_slice(body).ok();
    let message = json.as_ref().and_then(|json| {
        ["/error/message", "/error_description", "/message", "/error"]
            .iter()
            .find_map(|path| json.pointer(path)?.as_str())
    });
    match message {
        Some(message) => one_line(message),
        None => one_line(&String::from_utf8_lossy(body)),
    }
}

/// At most 500 characters, white space joined, everything invisible escaped.
pub fn one_line(text: &str) -> String {
    // More than `printable` keeps, so that it marks the cut, but not megabytes of a web page.
    let head: String = text.chars().take(4 * MAX).collect();
    let words: Vec<&str> = head.split_whitespace().collect();
    printable(&words.join(" "), MAX)
}

#[cfg(test)]
mod tests {
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
}
