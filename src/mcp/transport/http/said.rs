//! What a server says when it refuses, made fit for a person: short, on one line, without control
//! characters and without anything that changes how the text around it looks.

use serde_json::Value;
use std::fmt::Write;

/// The most characters of a server's words in one error.
const MAX: usize = 500;

/// The message of a JSON error of any common shape, else the head of the text.
pub(super) fn words(body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let message = json.as_ref().and_then(|json| {
        ["/error/message", "/error_description", "/message", "/error"]
            .iter()
            .find_map(|path| json.pointer(path)?.as_str())
    });
    match message {
        Some(message) => shown(message),
        None => shown(&String::from_utf8_lossy(body)),
    }
}

/// At most [`MAX`] characters, white space joined, everything invisible escaped.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        for c in word.chars() {
            if length >= MAX {
                out.push('…');
                return out;
            }
            if is_invisible(c) {
                // Writing to a String does not fail.
                let _ = write!(out, "{}", c.escape_unicode());
                length += 8;
            } else {
                out.push(c);
                length += 1;
            }
        }
    }
    out
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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
            assert_eq!(words(body.as_bytes()), expected);
        }
    }

    #[test]
    fn what_is_shown_is_short_and_visible() {
        assert_eq!(
            shown("\u{1b}[31mred\u{202e}\u{e0041}"),
            "\\u{1b}[31mred\\u{202e}\\u{e0041}"
        );
        for text in ["x", "\u{1b}", "é"] {
            let long = shown(&text.repeat(100_000));
            assert!(long.chars().count() <= MAX + 16 && long.ends_with('…'));
        }
        assert_eq!(words(b"\xff\x00"), "\u{fffd}\\u{0}");
    }
}
