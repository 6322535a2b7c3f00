//! Results and parameters of MCP that the client and the server share.
//!
//! Fields that gosling does not use are opaque JSON text, kept as received, or left out. MCP 2025-11-25,
//! schema.

use super::jsonrpc::{RawJson, begins_with};
use gosling_sys::fs;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::path::Path;

/// The supported protocol versions, newest first.
pub const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The name and version of a client or server: `clientInfo` and `serverInfo`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Implementation {
    /// A short identifier.
    pub name: String,
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version.
    #[serde(default)]
    pub version: String,
}

impl Implementation {
    /// A name and a version.
    pub fn new(name: &str, version: &str) -> Self {
        Implementation {
            name: name.to_owned(),
            title: None,
            version: version.to_owned(),
        }
    }
}

/// A directory that a client offers to its servers. MCP 2025-11-25, client/roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// The root for this directory; `None` if its path is not absolute.
    pub fn of(folder: &Path) -> Option<Self> {
        /// What a URI contains unchanged (RFC 3986): unreserved characters, and of a path `/` and `:`.
        const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
            .remove(b'/')
            .remove(b':')
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let path = fs::uri_path(folder);
        let name = folder.file_name().map(|name| name.to_string_lossy());
        folder.has_root().then(|| Root {
            uri: format!("file://{}", percent_encode(&path, PLAIN)),
            name: name.map(Into::into),
        })
    }
}

/// The capabilities that a server declared. A method without its capability is never sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerCapabilities {
    /// `tools/list`, `tools/call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Capability>,
    /// `resources/list`, `resources/templates/list`, `resources/read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Capability>,
    /// `prompts/list`, `prompts/get`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Capability>,
    /// `logging/setLevel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Capability>,
    /// `completion/complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<Capability>,
}

/// The details of one capability.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capability {
    /// The server sends `notifications/…/list_changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// The result of `initialize`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The negotiated version, one of [`VERSIONS`].
    pub protocol_version: String,
    /// The server's capabilities.
    #[serde(default)]
    pub capabilities: ServerCapabilities,
    /// The server's name and version.
    #[serde(default)]
    pub server_info: Implementation,
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A tool as `tools/list` describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Unique within its server.
    pub name: String,
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments, kept as received.
    #[serde(default = "any_object")]
    pub input_schema: RawJson,
    /// The schema of `structuredContent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Untrusted hints about the tool's behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// For example `ui.resourceUri` of MCP Apps.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Tool {
    /// The names of the arguments in the schema, sorted.
    pub fn parameters(&self) -> Vec<String> {
        let schema: serde_json::Value =
            gosling_text::json::from_str(self.input_schema.get()).unwrap_or_default();
        let properties = schema["properties"].as_object().into_iter();
        let names = properties.flat_map(serde_json::Map::keys);
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names
    }

    /// `_meta.ui`: the tool's part in user interfaces (SEP-1865, `McpUiToolMeta`).
    pub fn ui(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        let meta = self.meta.as_ref()?.get();
        if meta.len() > MAX_UI_META || !meta.contains("\"ui\"") {
            return None;
        }
        let mut meta: serde_json::Value = gosling_text::json::from_str(meta).ok()?;
        match meta.get_mut("ui")?.take() {
            serde_json::Value::Object(ui) => Some(ui),
            _ => None,
        }
    }

    /// Whether models may see and call the tool. Tools without `model` in `_meta.ui.visibility` are only for
    /// the server's user interfaces (SEP-1865, visibility).
    pub fn is_for_models(&self) -> bool {
        let ui = self.ui().unwrap_or_default();
        let visibility = ui.get("visibility").and_then(|list| list.as_array());
        visibility.is_none_or(|list| list.iter().any(|of| of == "model"))
    }
}

/// The longest `_meta` of a tool that is parsed.
const MAX_UI_META: usize = 16 << 10;

fn any_object() -> RawJson {
    RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap_or_default()
}

/// A server's hints about a tool. MCP: never trust them from an untrusted server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A repeated call has no additional effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with external entities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// Of a tool that changes nothing, and knows only this machine.
    pub const READS: Self = ToolAnnotations {
        title: None,
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    };
}

/// One part of a tool's result or a prompt: an object with a `type`, kept as received.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Content(RawJson);

impl CallToolResult {
    /// A result with one text.
    pub fn text(text: impl AsRef<str>) -> Self {
        CallToolResult {
            content: vec![Content::text(text.as_ref())],
            ..Self::default()
        }
    }

    /// Marks the result as failed.
    pub fn failed(mut self) -> Self {
        self.is_error = Some(true);
        self
    }
}

impl Content {
    pub(crate) fn of(part: &serde_json::Value) -> Self {
        Content(RawValue::from_string(part.to_string()).unwrap_or_default())
    }

    /// A part of type `text`.
    pub fn text(text: &str) -> Self {
        Content::of(&serde_json::json!({"type": "text", "text": text}))
    }

    /// A part of type `image`; `data` is in base64.
    pub fn image(data: &str, mime_type: &str) -> Self {
        Content::of(&serde_json::json!({"type": "image", "data": data, "mimeType": mime_type}))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Its `type`.
    pub fn kind(&self) -> String {
        gosling_text::json::from_str(self.0.get())
            .map_or_else(|_| String::new(), |shape: Shape| shape.kind)
    }
}

#[derive(Deserialize)]
struct Shape {
    #[serde(rename = "type")]
    kind: String,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(d)?;
        gosling_text::json::from_str::<Shape>(raw.get()).map_err(serde::de::Error::custom)?;
        if !begins_with(raw.get(), '{') {
            return Err(serde::de::Error::custom("a content part must be an object"));
        }
        Ok(Content(raw))
    }
}

/// The result of `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The content.
    #[serde(default)]
    pub content: Vec<Content>,
    /// The result as data, if the tool has an output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// The tool ran and failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Additional data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A resource as `resources/list` describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI to read it with.
    pub uri: String,
    /// A short identifier.
    #[serde(default)]
    pub name: String,
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Additional data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A family of resources as `resources/templates/list` describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// A URI template of RFC 6570.
    pub uri_template: String,
    /// A short identifier.
    #[serde(default)]
    pub name: String,
    /// The description for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type, if all share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// One item of the result of `resources/read`: text, or bytes in base64.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// The URI of this content; it may differ from the requested one, for example for files in a directory.
    pub uri: String,
    /// The MIME type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The content, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content in base64, if it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// For example the `ui` profile of MCP Apps.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The result of `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadResourceResult {
    /// The contents, at least one.
    pub contents: Vec<ResourceContents>,
}

/// A prompt as `prompts/list` describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// Unique within its server.
    pub name: String,
    /// The name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for users and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within its prompt.
    pub name: String,
    /// The description for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the argument is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// The result of `prompts/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GetPromptResult {
    /// The description for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages that begin the conversation.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The content.
    pub content: Content,
}

/// The parameters of `notifications/progress`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The token of the request.
    pub progress_token: super::jsonrpc::Id,
    /// The progress; it grows with every notification.
    pub progress: f64,
    /// The final progress, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// A text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The parameters of `sampling/createMessage`: a server's request to the client's model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// The complete conversation; the session's own messages are not part of it.
    pub messages: Vec<SamplingMessage>,
    /// The preferred models, as hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The requested system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// `none`, `thisServer` or `allServers`; the latter two need a capability that this client does not
    /// declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Data for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Tools for the model; they need a capability that this client does not declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<RawJson>,
    /// How the model may use the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<RawJson>,
}

/// One message of `sampling/createMessage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The content: in JSON one part, or an array of them.
    #[serde(deserialize_with = "one_or_many", serialize_with = "as_one_or_many")]
    pub content: Vec<Content>,
}

/// A server's preferences for the model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Parts of model names, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// The importance of low cost, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// The importance of speed, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// The importance of capability, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

/// See [`ModelPreferences::hints`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModelHint {
    /// Part of a model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The result of `sampling/createMessage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// `assistant`.
    pub role: String,
    /// The content.
    #[serde(deserialize_with = "one_or_many", serialize_with = "as_one_or_many")]
    pub content: Vec<Content>,
    /// The model's name.
    pub model: String,
    /// `endTurn`, `stopSequence`, `maxTokens`, or the provider's own reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// The parameters of `elicitation/create`: a server's request to the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    /// `form` or `url`.
    #[serde(default)]
    pub mode: ElicitMode,
    /// The reason, for users.
    pub message: String,
    /// Form: the flat schema of the answer, see [`elicitation_form`](super::elicitation_form).
    pub requested_schema: Option<RawJson>,
    /// URL: the address that the user is asked to visit.
    pub url: Option<String>,
    /// URL: the id that `notifications/elicitation/complete` repeats.
    pub elicitation_id: Option<String>,
}

impl ElicitParams {
    /// The longest address, in bytes.
    const MAX_URL: usize = 8 << 10;

    /// Checks whether a client may show this request.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        let url = match (self.mode, &self.url) {
            (ElicitMode::Form, _) => return Ok(()),
            (ElicitMode::Url, None) => return Err("`url` is missing"),
            (ElicitMode::Url, Some(url)) => url,
        };
        // Opening the address must not run code.
        let head = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        if !(head.starts_with("http://") || head.starts_with("https://")) {
            return Err("`url` is neither http nor https");
        }
        if url.len() > Self::MAX_URL || !url.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("`url` is too long, or has characters that are not allowed in a URL");
        }
        Ok(())
    }
}

/// The kind of an elicitation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitMode {
    /// The user fills in a form in the client.
    #[default]
    Form,
    /// The user visits an address; the answer only says whether they consent.
    Url,
}

/// The result of `elicitation/create`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ElicitResult {
    /// The user's decision.
    pub action: ElicitAction,
    /// The values of an accepted form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A user's decision about an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitAction {
    /// The user accepts.
    Accept,
    /// The user declines.
    Decline,
    /// The user dismisses the request without a decision.
    Cancel,
}

fn one_or_many<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Content>, D::Error> {
    let raw = RawJson::deserialize(d)?;
    let read = if begins_with(raw.get(), '[') {
        gosling_text::json::from_str(raw.get())
    } else {
        gosling_text::json::from_str(raw.get()).map(|one| vec![one])
    };
    read.map_err(serde::de::Error::custom)
}

/// A single part is written without an array, which only MCP 2025-11-25 accepts here.
fn as_one_or_many<S: Serializer>(content: &[Content], s: S) -> Result<S::Ok, S::Error> {
    match content {
        [one] => one.serialize(s),
        many => many.serialize(s),
    }
}

#[cfg(test)]
mod tests;
