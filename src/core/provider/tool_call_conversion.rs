//! Conversion of tool calls from a model's text to the conversation, and back.

use super::{Completion, StopReason};
use crate::conversation::{Content, Outcome, ToolCall, ToolRequest};
use crate::sys::random_hex;
use serde::Serializer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// How many bytes of invalid arguments the metadata keeps.
const MAX_KEPT_ARGUMENTS: usize = 64 * 1024;
/// The nesting limit of arguments. Servers and clients that read them fail beyond limits of their own, of
/// which serde's 128 is one of the lowest; the message around the arguments takes some levels.
const MAX_DEPTH: usize = 100;

/// The tool request for a model's call. A call without an id gets a new one, empty arguments become `{}`, and
/// control characters in strings are escaped. Of the members of one name the last one stays.
/// Arguments that are not a JSON object make the request an error, with the original `name` and `arguments`
/// in the metadata.
pub fn tool_request(id: Option<String>, name: String, arguments: String) -> ToolRequest {
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(new_id);
    let (tool_call, metadata) = match parse_arguments(&arguments) {
        Ok(arguments) => {
            let value = ToolCall { name, arguments };
            (Outcome::Success { value }, None)
        }
        Err(why) => {
            let error = format!("The arguments of the call to {name} are not a JSON object: {why}");
            let head = &arguments[..arguments.floor_char_boundary(MAX_KEPT_ARGUMENTS)];
            let metadata = json!({"name": name, "arguments": head});
            (Outcome::Error { error }, Some(metadata))
        }
    };
    ToolRequest {
        id,
        tool_call,
        metadata,
        meta: None,
    }
}

/// Makes the last call of a response an error if the response was cut off before the call's arguments
/// began. Such a call looks like one without arguments in all protocols, so the stop reason decides.
pub fn reject_truncated_call(completion: &mut Completion) {
    let why = match completion.stop {
        StopReason::Complete => return,
        StopReason::Length => "the answer met the limit on output tokens",
        StopReason::Filtered => "the provider's content filter ended the answer",
    };
    let Some(Content::ToolRequest(request)) = completion.content.last_mut() else {
        return;
    };
    let Outcome::Success { value } = &request.tool_call else {
        return;
    };
    if !is_empty_object(value.arguments.get()) {
        return;
    }
    let error = format!(
        "The call to {} was cut off before its arguments began, because {why}. The call was not made; \
         make it again, with less text before it.",
        value.name
    );
    let fields = [("name", &*value.name), ("arguments", "{}")];
    let fields = fields.map(|(name, text)| (name.to_owned(), text.into()));
    add_metadata(request, Map::from_iter(fields));
    request.tool_call = Outcome::Error { error };
}

fn is_empty_object(json: &str) -> bool {
    let inside = json.trim().strip_prefix('{');
    let inside = inside.and_then(|json| json.strip_suffix('}'));
    inside.is_some_and(|inside| inside.trim().is_empty())
}

/// An id for a call that has none.
pub fn new_id() -> String {
    // If the system has no random bytes, the id is still unique in a response with one such call.
    format!("call_{}", random_hex(12).unwrap_or_default())
}

/// The arguments as a JSON object, or the reason why they are not one.
fn parse_arguments(arguments: &str) -> Result<Box<RawValue>, String> {
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

/// Adds fields to the metadata of a call.
pub fn add_metadata(request: &mut ToolRequest, fields: Map<String, Value>) {
    match &mut request.metadata {
        _ if fields.is_empty() => {}
        Some(Value::Object(metadata)) => metadata.extend(fields),
        metadata => *metadata = Some(Value::Object(fields)),
    }
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

/// Serializes the arguments of a call as a string, which OpenAI's protocols require.
pub fn as_text<S: Serializer>(arguments: &RawValue, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(arguments.get())
}

#[cfg(test)]
mod tests;
