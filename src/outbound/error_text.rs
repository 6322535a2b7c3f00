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
mod tests;
