//! What providers make of a model's output: its limit, pieces of text and reasoning, and tool calls, which later
//! requests repeat.

mod tool_call_conversion;

use super::{Completion, CompletionRequest, DeltaSink, StopReason};
use crate::conversation::{Content, Outcome, Reasoning, ToolCall, ToolRequest};
use crate::sys::random_hex;
use serde_json::{Map, Value, json};
use tool_call_conversion::parse_arguments;
pub use tool_call_conversion::replayed_call;

/// The least room for a response, in tokens. With less, a summary helps more than a short response.
pub const MIN_OUTPUT: u64 = 1_024;
/// How many bytes of invalid arguments the metadata keeps.
const MAX_KEPT_ARGUMENTS: usize = 64 * 1024;

impl CompletionRequest<'_> {
    /// `wanted` output tokens, or as many as the context has room for beside the input.
    pub fn cap_output(&self, wanted: u64) -> u64 {
        let Some(context) = self.model.context_limit else {
            return wanted;
        };
        // The input is an estimate: it must not take all the room.
        let room = context.saturating_sub(self.input).max(MIN_OUTPUT);
        wanted.min(room)
    }
}

impl Completion {
    /// Appends a piece of text and passes it on.
    pub fn add_text(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        match self.content.last_mut() {
            _ if text.is_empty() => return,
            Some(Content::Text(all)) => all.text.push_str(text),
            _ => self.content.push(Content::text(text)),
        }
        sink.text(text);
    }

    /// Appends a piece of reasoning and passes it on.
    pub fn add_reasoning(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        match self.content.last_mut() {
            _ if text.is_empty() => return,
            Some(Content::Reasoning(all)) => all.text.push_str(text),
            _ => {
                let text = text.to_owned();
                self.content.push(Content::Reasoning(Reasoning { text }));
            }
        }
        sink.reasoning(text);
    }
}

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

/// Adds fields to the metadata of a call.
pub fn add_metadata(request: &mut ToolRequest, fields: Map<String, Value>) {
    match &mut request.metadata {
        _ if fields.is_empty() => {}
        Some(Value::Object(metadata)) => metadata.extend(fields),
        metadata => *metadata = Some(Value::Object(fields)),
    }
}

#[cfg(test)]
mod tests;
