//! A message of a conversation: its role, its content, and who sees it.

use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::CallToolResult;
use crate::sys::clock;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A message, in the JSON shape of Goose's API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Shared by the deltas of one answer; absent for questions to the user.
    #[serde(default)]
    pub id: Option<String>,
    /// The author. Results of tools have the role of the user.
    pub role: Role,
    /// Unix time in seconds.
    pub created: i64,
    /// The parts.
    pub content: Vec<Content>,
    /// Who sees it.
    #[serde(default)]
    pub metadata: Metadata,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user, or a tool.
    User,
    /// The model.
    Assistant,
}

/// Who sees a message: by default the user and the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Clients show it.
    pub user_visible: bool,
    /// Requests to the model contain it.
    pub agent_visible: bool,
    /// The user sent it to a turn that was running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steer: bool,
}

impl Default for Metadata {
    fn default() -> Self {
        Metadata {
            user_visible: true,
            agent_visible: true,
            steer: false,
        }
    }
}

impl Metadata {
    /// Visible to the user only.
    pub const USER_ONLY: Metadata = Metadata {
        user_visible: true,
        agent_visible: false,
        steer: false,
    };
    /// Visible to the model only.
    pub const AGENT_ONLY: Metadata = Metadata {
        user_visible: false,
        agent_visible: true,
        steer: false,
    };
}

/// One part of a message. Unknown kinds are kept unchanged.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
    /// Audio, with a type such as `audio/wav`. Goose has no such kind.
    Audio(Image),
    /// The model requests a tool call.
    ToolRequest(ToolRequest),
    /// The result of a tool call.
    ToolResponse(ToolResponse),
    /// A tool call that the client runs.
    FrontendToolRequest(FrontendToolRequest),
    /// A question to the user, or the answer.
    ActionRequired(ActionRequired),
    /// Reasoning of the model, signed by the provider.
    Thinking(Thinking),
    /// Encrypted reasoning, which only the provider can read.
    RedactedThinking(RedactedThinking),
    /// Reasoning of the model, unsigned.
    Reasoning(Reasoning),
    /// A notification of gosling to the user.
    SystemNotification(SystemNotification),
    /// A kind that this version does not know.
    #[serde(untagged)]
    Other(RawJson),
}

/// Text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// MCP's annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Additional data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// An image, or audio.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Base64.
    pub data: String,
    /// For example `image/png`.
    pub mime_type: String,
    /// MCP's annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Additional data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A tool call that the model requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequest {
    /// Unique within the answer; the response has the same id.
    pub id: String,
    /// The call, or why it is malformed.
    pub tool_call: Outcome<ToolCall>,
    /// Data that the provider expects back with the call. For a malformed call also `name` and `arguments` as
    /// the model sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// For example `goose_extension`: the extension that owns the tool.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl ToolRequest {
    /// Whether a page of the tool's server shows the result (MCP Apps).
    pub fn has_page(&self) -> bool {
        (self.meta.as_ref()).is_some_and(|meta| meta["ui"]["resourceUri"].is_string())
    }
}

/// A tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    /// `extension__tool`.
    pub name: String,
    /// The JSON text of an object.
    #[serde(default = "no_arguments")]
    pub arguments: RawJson,
}

fn no_arguments() -> RawJson {
    serde_json::value::RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

/// The result of a tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResponse {
    /// The id of the request.
    pub id: String,
    /// The result, or why there is none.
    #[serde(deserialize_with = "tool_result")]
    pub tool_result: Outcome<CallToolResult>,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A result, or the list of its content alone, as older versions of Goose store it.
fn tool_result<'de, D: Deserializer<'de>>(d: D) -> Result<Outcome<CallToolResult>, D::Error> {
    let text = match Outcome::<RawJson>::deserialize(d)? {
        Outcome::Success { value } => value,
        Outcome::Error { error } => return Ok(Outcome::Error { error }),
    };
    let text = text.get();
    let value = if text.starts_with('[') {
        let content = crate::json::from_str(text);
        content.map(|content| CallToolResult {
            content,
            ..CallToolResult::default()
        })
    } else {
        crate::json::from_str(text)
    };
    let value = value.map_err(D::Error::custom)?;
    Ok(Outcome::Success { value })
}

/// A tool call that the client runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrontendToolRequest {
    /// The client's response has the same id.
    pub id: String,
    /// The call.
    pub tool_call: Outcome<ToolCall>,
}

/// A value, or an error text: `{"status": "success", "value": …}` or
/// `{"status": "error", "error": …}`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum Outcome<T> {
    /// The operation succeeded.
    Success {
        /// The result.
        value: T,
    },
    /// The operation failed.
    Error {
        /// Why.
        error: String,
    },
}

/// A question to the user, or the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActionRequired {
    /// The question or the answer.
    pub data: Action,
}

/// A question to the user, or the answer.
#[derive(Clone, Debug, Serialize)]
#[serde(
    tag = "actionType",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Action {
    /// Asks for approval of a tool call.
    ToolConfirmation {
        /// The id of the tool request.
        id: String,
        /// `extension__tool`.
        tool_name: String,
        /// The JSON text of an object.
        arguments: RawJson,
        /// An explanation for the user.
        prompt: Option<String>,
    },
    /// An MCP server asks for data.
    Elicitation {
        /// The answer has the same id.
        id: String,
        /// The text of the question.
        message: String,
        /// A flat JSON Schema.
        #[serde(rename = "requested_schema")]
        requested_schema: RawJson,
    },
    /// The answer to an elicitation.
    ElicitationResponse {
        /// The id of the question.
        id: String,
        /// An object that fits the schema.
        #[serde(rename = "user_data")]
        user_data: Value,
    },
}

/// Reasoning of the model, signed by the provider.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Thinking {
    /// The text.
    pub thinking: String,
    /// Sent back to the provider unchanged.
    pub signature: String,
    /// A hash of the endpoint and the model that it came from; only they get it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Encrypted reasoning, which only the provider can read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RedactedThinking {
    /// Sent back to the provider unchanged.
    pub data: String,
    /// A hash of the endpoint and the model that it came from; only they get it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Reasoning of the model, unsigned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reasoning {
    /// The text.
    pub text: String,
}

/// A notification of gosling to the user.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemNotification {
    /// How it is shown.
    pub notification_type: NotificationType,
    /// The text.
    pub msg: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// How a notification is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NotificationType {
    /// While an operation is running.
    ThinkingMessage,
    /// Between the messages.
    InlineMessage,
    /// As a notice that the account with the provider has no credit.
    CreditsExhausted,
}

impl Message {
    /// A message without an id, created now.
    pub fn new(role: Role, content: Vec<Content>) -> Self {
        Message {
            id: None,
            role,
            created: clock::unix_seconds(),
            content,
            metadata: Metadata::default(),
        }
    }

    /// A text message, created now.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Message::new(role, vec![Content::text(text)])
    }

    /// The same message, with an id.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same message with this visibility.
    pub fn seen_by(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The text parts, joined by line breaks.
    pub fn concat_text(&self) -> String {
        let texts = self.content.iter().filter_map(Content::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The tool calls in it.
    pub fn tool_requests(&self) -> impl Iterator<Item = &ToolRequest> {
        self.content.iter().filter_map(|part| match part {
            Content::ToolRequest(request) => Some(request),
            _ => None,
        })
    }

    /// The tool results in it.
    pub fn tool_responses(&self) -> impl Iterator<Item = &ToolResponse> {
        self.content.iter().filter_map(|part| match part {
            Content::ToolResponse(response) => Some(response),
            _ => None,
        })
    }
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(Text {
            text: text.into(),
            ..Text::default()
        })
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        let error = String::new();
        Outcome::Error { error }
    }
}

impl<T> Outcome<T> {
    /// The value.
    pub fn value(&self) -> Option<&T> {
        match self {
            Outcome::Success { value } => Some(value),
            Outcome::Error { .. } => None,
        }
    }
}

// Serde buffers the value of a tagged enum, and raw JSON cannot be read from its buffer. So the tag is read
// first, and then the whole text as the type that the tag names.

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        fn read<T: DeserializeOwned, E: serde::de::Error>(raw: &RawJson) -> Result<T, E> {
            crate::json::from_str(raw.get()).map_err(E::custom)
        }
        let raw = RawJson::deserialize(d)?;
        let Tag { kind } = read(&raw)?;
        Ok(match kind.as_str() {
            "text" => Content::Text(read(&raw)?),
            "image" => Content::Image(read(&raw)?),
            "audio" => read::<_, D::Error>(&raw).map_or(Content::Other(raw), Content::Audio),
            "toolRequest" => Content::ToolRequest(read(&raw)?),
            "toolResponse" => Content::ToolResponse(read(&raw)?),
            "frontendToolRequest" => Content::FrontendToolRequest(read(&raw)?),
            "actionRequired" => Content::ActionRequired(read(&raw)?),
            "thinking" => Content::Thinking(read(&raw)?),
            "redactedThinking" => Content::RedactedThinking(read(&raw)?),
            "reasoning" => Content::Reasoning(read(&raw)?),
            "systemNotification" => Content::SystemNotification(read(&raw)?),
            _ => Content::Other(raw),
        })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Outcome<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape<T> {
            status: String,
            value: Option<T>,
            error: Option<String>,
        }
        let shape = Shape::deserialize(d)?;
        match (shape.status.as_str(), shape.value) {
            ("success", Some(value)) => Ok(Outcome::Success { value }),
            ("success", None) => Err(D::Error::missing_field("value")),
            ("error", _) => Ok(Outcome::Error {
                error: shape.error.unwrap_or_default(),
            }),
            (other, _) => Err(D::Error::unknown_variant(other, &["success", "error"])),
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            #[serde(rename = "actionType")]
            kind: String,
            id: String,
            #[serde(rename = "toolName")]
            tool_name: Option<String>,
            arguments: Option<RawJson>,
            prompt: Option<String>,
            message: Option<String>,
            requested_schema: Option<RawJson>,
            user_data: Option<Value>,
        }
        let shape = Shape::deserialize(d)?;
        let missing = D::Error::missing_field;
        Ok(match shape.kind.as_str() {
            "toolConfirmation" => Action::ToolConfirmation {
                id: shape.id,
                tool_name: shape.tool_name.ok_or_else(|| missing("toolName"))?,
                arguments: shape.arguments.ok_or_else(|| missing("arguments"))?,
                prompt: shape.prompt,
            },
            "elicitation" => Action::Elicitation {
                id: shape.id,
                message: shape.message.ok_or_else(|| missing("message"))?,
                requested_schema: (shape.requested_schema)
                    .ok_or_else(|| missing("requested_schema"))?,
            },
            "elicitationResponse" => Action::ElicitationResponse {
                id: shape.id,
                user_data: shape.user_data.unwrap_or_default(),
            },
            other => {
                let known = &["toolConfirmation", "elicitation", "elicitationResponse"];
                return Err(D::Error::unknown_variant(other, known));
            }
        })
    }
}

#[cfg(test)]
mod tests;
