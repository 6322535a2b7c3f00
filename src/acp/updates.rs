//! The notification `session/update` and the content blocks in it.

use crate::conversation::{
    Content, Image, Message, NotificationType, Role, TokenState, ToolResponse,
};
use crate::mcp::jsonrpc::{self, RawJson};
use crate::mcp::types::{CallToolResult, Content as Part};
use gosling_shared::fenced_block;
use serde::Serialize;
use serde_json::{Value, json};

/// The bytes of a notification with this update.
pub(super) fn notification(session: &str, update: &impl Serialize) -> Vec<u8> {
    notification_of("session/update", session, update)
}

/// The method of Goose's own notifications with an update.
pub(super) const GOOSE_UPDATE: &str = "_goose/unstable/session/update";

/// The bytes of a notification `method` with this update.
pub(super) fn notification_of(method: &str, session: &str, update: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a, U> {
        session_id: &'a str,
        update: &'a U,
    }
    let params = Params {
        session_id: session,
        update,
    };
    jsonrpc::notification(method, Some(&params)).unwrap_or_else(|error| {
        log::error!("an update has no JSON form reason={error}");
        Vec::new()
    })
}

/// Whose message a chunk is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Agent,
    Thought,
}

impl Speaker {
    pub(super) fn of(role: Role) -> Self {
        match role {
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Agent,
        }
    }
}

/// What Goose's clients are told of a message besides its contents.
pub(super) fn goose_meta(message: &Message) -> Value {
    let mut meta = json!({"created": message.created});
    if let Some(id) = &message.id {
        meta["messageId"] = id.as_str().into();
    }
    if message.metadata.steer {
        meta["steer"] = true.into();
    }
    meta
}

/// A chunk of a message: text, an image; with its [`goose_meta`] for Goose's clients.
pub(super) fn chunk(
    speaker: Speaker,
    message: Option<&str>,
    block: Value,
    goose: Option<&Value>,
) -> Value {
    let update = match speaker {
        Speaker::User => "user_message_chunk",
        Speaker::Agent => "agent_message_chunk",
        Speaker::Thought => "agent_thought_chunk",
    };
    let mut chunk = json!({"sessionUpdate": update, "content": block});
    if let Some(id) = message {
        chunk["messageId"] = id.into();
    }
    if let Some(goose) = goose {
        chunk["_meta"] = json!({ "goose": goose });
    }
    chunk
}

/// A block of text.
pub(super) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A part of a message as a content block; `None` for parts that are neither text, nor an image, nor audio.
pub(super) fn block(part: &Content) -> Option<Value> {
    match part {
        Content::Text(text) => Some(text_block(&text.text)),
        Content::Image(Image {
            data, mime_type, ..
        }) => Some(json!({"type": "image", "data": data, "mimeType": mime_type})),
        Content::Audio(Image {
            data, mime_type, ..
        }) => Some(json!({"type": "audio", "data": data, "mimeType": mime_type})),
        _ => None,
    }
}

/// A tool call's state for the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// The state of the call after this response.
pub(super) fn status_of(response: &ToolResponse) -> Status {
    match response.tool_result.value() {
        Some(result) if result.is_error != Some(true) => Status::Completed,
        _ => Status::Failed,
    }
}

/// The contents of a tool call that show its result. The output of a command is a block of code; a command that
/// did not run has no structured content.
pub(super) fn result_contents(result: &CallToolResult, is_command: bool) -> Vec<Value> {
    let is_command = is_command && result.structured_content.is_some();
    let shown = result.content.iter().filter(|part| is_for(part, "user"));
    let blocks = shown.map(|part| match text_of(part) {
        Some(text) if is_command => text_block(&fenced_block("console", &text)),
        _ => serde_json::from_str(part.as_json()).unwrap_or_default(),
    });
    blocks.filter_map(content).collect()
}

/// A block as the content of a tool call, if it is a content block of the protocol.
fn content(block: Value) -> Option<Value> {
    let has = |key: &str| block[key].is_string();
    let is_block = match block["type"].as_str()? {
        "text" => has("text"),
        "image" | "audio" => has("data") && has("mimeType"),
        "resource_link" => has("uri") && has("name"),
        "resource" => {
            let resource = &block["resource"];
            resource["uri"].is_string()
                && (resource["text"].is_string() || resource["blob"].is_string())
        }
        _ => false,
    };
    is_block.then(|| json!({"type": "content", "content": block}))
}

/// The content of a tool call that consists of one text.
pub(super) fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": text_block(text)})
}

/// Whether a part of a result is for `reader`: parts may name their audience.
fn is_for(part: &Part, reader: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Annotated {
        annotations: Option<Annotations>,
    }
    #[derive(serde::Deserialize)]
    struct Annotations {
        audience: Option<Vec<String>>,
    }
    let annotated: Option<Annotated> = crate::json::from_str(part.as_json()).ok();
    let audience = annotated.and_then(|it| it.annotations?.audience);
    audience.is_none_or(|audience| audience.is_empty() || audience.iter().any(|of| of == reader))
}

/// The text of a result that is for `audience`, or for everyone.
pub(super) fn text_for(audience: &str, result: &CallToolResult) -> String {
    let parts = result.content.iter().filter(|part| is_for(part, audience));
    parts.filter_map(text_of).collect()
}

fn text_of(part: &Part) -> Option<String> {
    let part: Value = crate::json::from_str(part.as_json()).ok()?;
    let is_text = part["type"] == "text";
    part["text"].as_str().filter(|_| is_text).map(str::to_owned)
}

/// The result for the field `rawOutput`: the structured content, else the result itself.
pub(super) fn raw_output(result: &CallToolResult) -> Value {
    let output = match &result.structured_content {
        Some(content) => crate::json::to_value(content),
        None => crate::json::to_value(result),
    };
    output.unwrap_or_default()
}

/// A notice for the user, for a client that shows notices.
pub(super) fn notice(severity: &str, title: &str, description: Option<&str>) -> Value {
    let mut notice = json!({"sessionUpdate": "notice", "severity": severity, "title": title});
    if let Some(description) = description {
        notice["description"] = description.into();
    }
    notice
}

/// The tokens of a session and the size of its model's context, for the update `usage_update`.
pub(super) fn usage(tokens: &TokenState, size: u64) -> Value {
    let mut usage = json!({
        "sessionUpdate": "usage_update", "used": tokens.total_tokens.max(0), "size": size,
    });
    if let Some(amount) = cost(tokens) {
        usage["cost"] = json!({"amount": amount, "currency": "USD"});
    }
    usage
}

/// What the session has cost in US dollars, to the millionth.
fn cost(tokens: &TokenState) -> Option<f64> {
    (tokens.accumulated_cost).map(|cost| (cost * 1e6).round() / 1e6)
}

/// The same as an update of Goose's own.
pub(super) fn goose_usage(tokens: &TokenState, size: u64) -> Value {
    let mut usage = json!({
        "sessionUpdate": "usage_update",
        "used": tokens.total_tokens.max(0),
        "contextLimit": size,
        "accumulatedInputTokens": tokens.accumulated_input_tokens.max(0),
        "accumulatedOutputTokens": tokens.accumulated_output_tokens.max(0),
    });
    if let Some(amount) = cost(tokens) {
        usage["accumulatedCost"] = amount.into();
    }
    usage
}

/// A notification of gosling as an update of Goose's own, of the kinds that it has there.
pub(super) fn status_message(kind: NotificationType, text: &str) -> Option<Value> {
    let kind = match kind {
        NotificationType::InlineMessage => "notice",
        NotificationType::ThinkingMessage => "progress",
        NotificationType::CreditsExhausted => return None,
    };
    Some(json!({
        "sessionUpdate": "status_message", "status": {"type": kind, "message": text},
    }))
}

/// What a server has told during a call, where Goose's clients read it: its progress, or a message.
pub(super) fn tool_notification(call: &str, notification: &RawJson) -> Option<Value> {
    let notification: Value = crate::json::from_str(notification.get()).ok()?;
    let kind = match notification["method"].as_str()? {
        "notifications/message" => "message",
        "notifications/progress" => "progress",
        _ => return None,
    };
    Some(json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call,
        "status": Status::InProgress,
        "_meta": {"toolNotification": {"type": kind, "params": notification["params"]}},
    }))
}

/// The severity of a notification of gosling.
pub(super) fn severity(kind: NotificationType) -> &'static str {
    match kind {
        NotificationType::CreditsExhausted => "error",
        NotificationType::InlineMessage | NotificationType::ThinkingMessage => "info",
    }
}

#[cfg(test)]
mod tests;
