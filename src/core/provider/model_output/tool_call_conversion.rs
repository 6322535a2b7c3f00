//! The arguments of tool calls, and the calls for a model that gets them again.

use crate::conversation::{Outcome, ToolRequest};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// The nesting limit of arguments. Servers and clients that read them fail beyond limits of their own, of
/// which serde's 128 is one of the lowest; the message around the arguments takes some levels.
pub(super) const MAX_DEPTH: usize = 100;

/// The arguments as a JSON object, or the reason why they are not one.
pub(super) fn parse_arguments(arguments: &str) -> Result<Box<RawValue>, String> {
    // Escapes in a text of JSON are read here for the first time.
    let sanitized = crate::json::sanitize(arguments.trim());
    let text = match &*sanitized {
        // No arguments; `[]` is PHP's empty object.
        "" | "null" | "[]" => "{}",
        text => &escape_control_characters(text),
    };
    let raw: &RawValue =
        crate::json::from_str(text).map_err(|e| format!("they are not JSON ({e})"))?;
    // Some models encode the arguments twice: the object is in a string.
    if let Ok(object) = crate::json::from_str::<String>(text)
        && object.trim_start().starts_with('{')
    {
        return parse_arguments(&object);
    }
    let kind = match text.as_bytes().first() {
        Some(b'{') if crate::json::is_deeper_than(MAX_DEPTH, text.as_bytes()) => {
            return Err(format!("they are nested more than {MAX_DEPTH} levels deep"));
        }
        Some(b'{') => return with_distinct_names(raw),
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    Err(format!("they are {kind}"))
}

/// The arguments with the last of the members of one name in each object. The client shows the user that one, and
/// the MCP server could read another.
fn with_distinct_names(arguments: &RawValue) -> Result<Box<RawValue>, String> {
    let unreadable = |error| format!("they cannot be read ({error})");
    let value: Value = crate::json::from_str(arguments.get()).map_err(unreadable)?;
    if crate::json::repeats_a_name(arguments.get(), &value) {
        to_raw_value(&value).map_err(unreadable)
    } else {
        Ok(arguments.to_owned())
    }
}

/// Escapes the control characters in the strings of a JSON text, where some models write line breaks as they are.
/// Valid JSON has none there.
fn escape_control_characters(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| byte >= b' ') {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for char in json.chars() {
        match char {
            '\0'..='\x1f' if quoted && !escaped => text += &format!("\\u{:04x}", char as u32),
            _ => text.push(char),
        }
        quoted ^= char == '"' && !escaped;
        escaped = quoted && char == '\\' && !escaped;
    }
    text.into()
}

/// The name and the arguments (a JSON object) with which an earlier call is sent to a model again, whether the
/// call was valid or not.
pub fn replayed_call(request: &ToolRequest) -> (&str, Cow<'_, RawValue>) {
    let (name, arguments) = match &request.tool_call {
        Outcome::Success { value } if value.arguments.get().starts_with('{') => {
            return (&value.name, Cow::Borrowed(&value.arguments));
        }
        Outcome::Success { value } => (Some(&*value.name), None),
        Outcome::Error { .. } => {
            let part = |key: &str| request.metadata.as_ref()?.get(key);
            let name = part("name").and_then(Value::as_str);
            let arguments = match part("arguments") {
                Some(object @ Value::Object(_)) => to_raw_value(object).ok(),
                Some(Value::String(text)) => parse_arguments(text).ok(),
                _ => None,
            };
            (name.filter(|name| !name.is_empty()), arguments)
        }
    };
    let arguments = arguments.or_else(|| parse_arguments("").ok());
    let arguments = Cow::Owned(arguments.unwrap_or_default());
    (name.unwrap_or("unknown"), arguments)
}
