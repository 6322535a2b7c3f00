//! Request bodies as JSON, with errors that name the field.

use super::Error;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// The maximum nesting depth of a body, ignored fields included. It equals serde_json's limit for values.
const DEPTH: usize = 127;

/// Decodes a request's body.
///
/// Fails with 415 if `content_type` is not JSON, 400 if `body` is not JSON or nested too deep, 413 if its
/// values take too much memory, 422 if it does not fit `T`. The last three give line, column and the path of
/// the value. For content that serde buffers first, as in tagged enums, that is the end of the surrounding
/// value.
pub(super) fn decode<T: DeserializeOwned>(
    content_type: Option<&str>,
    body: &[u8],
) -> Result<T, Error> {
    check_type(content_type)?;
    if crate::json::is_deeper_than(DEPTH, body) {
        let message = format!(
            "Failed to parse the request body as JSON: it is nested more than {DEPTH} levels deep"
        );
        return Err(Error::bad_request(message));
    }
    // What is not UTF-8 is refused, with its place.
    let sanitized = std::str::from_utf8(body).map(crate::json::sanitize);
    let body = sanitized.as_ref().map_or(body, |text| text.as_bytes());
    crate::json::from_slice(body).map_err(|error| refused(body, &error))
}

/// Fails with 415 if `content_type` is not JSON.
pub(super) fn check_type(content_type: Option<&str>) -> Result<(), Error> {
    if content_type.is_some_and(is_json) {
        return Ok(());
    }
    Err(Error::new(
        415,
        "Expected request with `Content-Type: application/json`",
    ))
}

fn refused(body: &[u8], error: &serde_json::Error) -> Error {
    let (status, what) = match error.classify() {
        Category::Data if crate::json::is_too_much(error) => (413, "The JSON body is too large"),
        Category::Data => (
            422,
            "Failed to deserialize the JSON body into the target type",
        ),
        _ => (400, "Failed to parse the request body as JSON"),
    };
    let path = path_at(body, offset(body, error.line(), error.column()));
    let message = match path.as_str() {
        "" => format!("{what}: {error}"),
        path => format!("{what}: {path}: {error}"),
    };
    Error::new(status, message)
}

/// Whether the type is `application/json` or `application/…+json`, with or without parameters.
fn is_json(content_type: &str) -> bool {
    if content_type == "application/json" {
        return true;
    }
    let essence = content_type.split(';').next().unwrap_or("").trim();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    let subtype = subtype.to_ascii_lowercase();
    kind.eq_ignore_ascii_case("application") && (subtype == "json" || subtype.ends_with("+json"))
}

/// The byte offset of a line and column of serde_json: lines count from 1, columns in bytes.
fn offset(json: &[u8], line: usize, column: usize) -> usize {
    let start: usize = json
        .split_inclusive(|&byte| byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (start + column).min(json.len())
}

/// The path of the value at byte `end`, for example `config.tools[2].name`; empty at the top level.
fn path_at(json: &[u8], end: usize) -> String {
    enum Step {
        Key(String),
        Index(usize),
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut at_key = false;
    let mut at = 0;
    while at < end {
        match json[at] {
            b'{' => {
                steps.push(Step::Key(String::new()));
                at_key = true;
            }
            b'[' => {
                steps.push(Step::Index(0));
                at_key = false;
            }
            b'}' | b']' => {
                steps.pop();
                at_key = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                Some(Step::Key(_)) => at_key = true,
                None => {}
            },
            b':' => at_key = false,
            b'"' => {
                let length = string_length(&json[at..end]);
                if let (true, Some(Step::Key(key))) = (at_key, steps.last_mut()) {
                    *key = crate::json::from_slice(&json[at..at + length]).unwrap_or_default();
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if key.is_empty() => {}
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&key);
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// The length of the string literal at the start of `json`, quotes included; all of it if the literal is not
/// closed.
fn string_length(json: &[u8]) -> usize {
    let mut escaped = false;
    for (at, &byte) in json.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests;
