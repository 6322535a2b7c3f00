//! The history of a session as updates, for `session/load`.

use super::file_diffs;
use super::tool_call_display::{Display, SHELL, TEXT_EDITOR, goose_meta, mcp_app};
use super::updates::{self, Speaker, Status};
use crate::conversation::{Content, Message, Outcome, ToolRequest, ToolResponse};
use crate::mcp::jsonrpc::RawJson;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Passes the notifications that show these messages to `send`, in order, until it returns false. A tool call is
/// one update with its result; for Goose's clients (`is_goose`) it is two, and each update has the time of its
/// message. `running` returns the status of a call of the running turn.
pub(super) fn replay(
    session: &str,
    dir: &Path,
    messages: &[Message],
    is_goose: bool,
    running: &dyn Fn(&str) -> Option<Status>,
    send: &mut dyn FnMut(Vec<u8>) -> bool,
) {
    let responses: HashMap<&str, &ToolResponse> = messages
        .iter()
        .flat_map(Message::tool_responses)
        .map(|response| (response.id.as_str(), response))
        .collect();
    let visible = messages.iter().filter(|m| m.metadata.user_visible);
    for message in visible {
        let id = message.id.as_deref();
        let speaker = Speaker::of(message.role);
        let goose = is_goose.then(|| updates::goose_meta(message));
        let goose = goose.as_ref();
        let text = |speaker: Speaker, text: &str| {
            let chunk = || updates::chunk(speaker, id, updates::text_block(text), goose);
            (!text.is_empty()).then(|| updates::notification(session, &chunk()))
        };
        for part in &message.content {
            let mut result = None;
            let update = match part {
                Content::Text(part) => text(speaker, &part.text),
                Content::Thinking(thinking) => text(Speaker::Thought, &thinking.thinking),
                Content::Reasoning(reasoning) => text(Speaker::Thought, &reasoning.text),
                Content::Image(_) | Content::Audio(_) => updates::block(part).map(|block| {
                    updates::notification(session, &updates::chunk(speaker, id, block, goose))
                }),
                Content::ToolRequest(request) => {
                    let response = responses.get(request.id.as_str()).copied();
                    let mut call = finished_call(request, response, dir, is_goose);
                    if response.is_none()
                        && let Some(status) = running(&request.id)
                    {
                        call["status"] = json!(status);
                    }
                    if is_goose {
                        call["_meta"]["goose"]["messageId"] = id.into();
                        call["_meta"]["goose"]["created"] = message.created.into();
                        let mut shown = call.clone();
                        shown["sessionUpdate"] = "tool_call_update".into();
                        // The response is a message of its own.
                        shown["_meta"]["goose"]["messageId"] = Value::Null;
                        result = Some(updates::notification(session, &shown));
                    }
                    Some(updates::notification(session, &call))
                }
                _ => None,
            };
            if !update.into_iter().chain(result).all(&mut *send) {
                return;
            }
        }
    }
}

/// A call with its result. Without one it has failed.
fn finished_call(
    request: &ToolRequest,
    response: Option<&ToolResponse>,
    dir: &Path,
    is_goose: bool,
) -> Value {
    let none = RawJson::default();
    let (name, arguments) = match &request.tool_call {
        Outcome::Success { value } => (value.name.as_str(), &value.arguments),
        Outcome::Error { .. } => ("malformed call", &none),
    };
    let mut update = Display::new(name, arguments, dir).announcement(&request.id, arguments);
    let status = response.map_or(Status::Failed, updates::status_of);
    update["status"] = json!(status);
    if is_goose {
        update["_meta"] = goose_meta(name);
        if let Some(app) = mcp_app(request) {
            update["_meta"]["goose"]["mcpApp"] = app;
        }
    }
    // Goose's clients do not show diffs.
    let is_edit = !is_goose && name == TEXT_EDITOR && status == Status::Completed;
    let diff = is_edit
        .then(|| file_diffs::recorded(arguments, dir))
        .flatten();
    update["content"] = match (diff, response.map(|response| &response.tool_result)) {
        (Some(diff), _) => json!([diff]),
        (None, Some(Outcome::Success { value })) => {
            updates::result_contents(value, name == SHELL && !is_goose).into()
        }
        (None, Some(Outcome::Error { error })) => json!([updates::text_content(error)]),
        (None, None) => json!([]),
    };
    if let Some(Outcome::Success { value }) = response.map(|response| &response.tool_result) {
        update["rawOutput"] = updates::raw_output(value);
    }
    update
}

#[cfg(test)]
mod tests;
