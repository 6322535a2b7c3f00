//! The shapes of MCP's results and parameters that both the client and the server use.
//!
//! Fields that gosling does not act on are either opaque JSON text, kept as it came, or left out.
//! MCP 2025-11-25, schema.

use super::jsonrpc::{RawJson, begins_with};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::path::Path;

/// Protocol versions that this implementation speaks, newest first: the stateful ones.
pub const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Who is at the other end: `clientInfo` and `serverInfo`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Implementation {
    /// A short identifier.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any text.
    #[serde(default)]
    pub version: String,
}

/// A folder that a client offers to its servers. MCP 2025-11-25, client/roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// This folder; `None` if its path is not absolute.
    pub fn of(folder: &Path) -> Option<Self> {
        /// What a path holds in a URI as it is: RFC 3986, unreserved characters and the slash.
        const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
            .remove(b'/')
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let path = percent_encode(folder.as_os_str().as_encoded_bytes(), PLAIN);
        let name = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        folder.has_root().then(|| Root {
            uri: format!("file://{path}"),
            name,
        })
    }
}

/// What a server declared in `initialize`. A method whose capability is absent is never sent.
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
    /// `resources/subscribe` works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
}

/// The answer to `initialize`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version of this connection, one of [`VERSIONS`] or it is refused.
    pub protocol_version: String,
    /// What the server can do.
    #[serde(default)]
    pub capabilities: ServerCapabilities,
    /// Who it is.
    #[serde(default)]
    pub server_info: Implementation,
    /// How a model should use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A tool as `tools/list` describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Unique within its server.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema object, kept to the letter.
    #[serde(default = "any_object")]
    pub input_schema: RawJson,
    /// The schema of `structuredContent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints, not promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// For example `ui.resourceUri` of MCP Apps.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Tool {
    /// The names of its arguments, sorted, as far as the schema says.
    pub fn parameters(&self) -> Vec<String> {
        let schema: serde_json::Value =
            crate::json::from_str(self.input_schema.get()).unwrap_or_default();
        let properties = schema["properties"].as_object();
        let mut names: Vec<String> = properties
            .into_iter()
            .flat_map(|properties| properties.keys().cloned())
            .collect();
        names.sort();
        names
    }
}

fn any_object() -> RawJson {
    RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap_or_default()
}

/// What a server hints at about a tool. MCP: never trust these from an untrusted server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is as once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Reaches out of its own world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// One part of a tool's answer or a prompt: an object with a `type`, kept as it came.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Content(RawJson);

impl Content {
    /// A part of type `text`.
    pub fn text(text: &str) -> Self {
        let part = serde_json::json!({"type": "text", "text": text});
        Content(RawValue::from_string(part.to_string()).unwrap_or_default())
    }

    /// A part of type `image`; `data` is in base64.
    pub fn image(data: &str, mime_type: &str) -> Self {
        let part = serde_json::json!({"type": "image", "data": data, "mimeType": mime_type});
        Content(RawValue::from_string(part.to_string()).unwrap_or_default())
    }

    /// A text for the people or the models that `audience` names (`user`, `assistant`), and how much it
    /// matters to them, from 0 to 1.
    pub fn text_for(audience: &str, priority: Option<f64>, text: &str) -> Self {
        let mut annotations = serde_json::json!({ "audience": [audience] });
        if let Some(priority) = priority {
            annotations["priority"] = priority.into();
        }
        let part = serde_json::json!({"type": "text", "text": text, "annotations": annotations});
        Content(RawValue::from_string(part.to_string()).unwrap_or_default())
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Its `type`.
    pub fn kind(&self) -> String {
        crate::json::from_str(self.0.get())
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
        crate::json::from_str::<Shape>(raw.get()).map_err(serde::de::Error::custom)?;
        if !begins_with(raw.get(), '{') {
            return Err(serde::de::Error::custom("a part of content is an object"));
        }
        Ok(Content(raw))
    }
}

/// The answer to `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What the tool said.
    #[serde(default)]
    pub content: Vec<Content>,
    /// The same as data, where the tool has an output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// The tool ran and failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A resource as `resources/list` describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// What to read it by.
    pub uri: String,
    /// A short identifier.
    #[serde(default)]
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// If known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Anything else.
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
    /// For models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// If all of them share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// One item of the answer to `resources/read`: text or, in base64, bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Whose content this is; may differ from what was asked, for example below a folder.
    pub uri: String,
    /// If known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The content, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content in base64, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// For example the `ui` profile of MCP Apps.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The answer to `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadResourceResult {
    /// At least one, where the resource exists.
    pub contents: Vec<ResourceContents>,
}

/// A prompt as `prompts/list` describes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// Unique within its server.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it can be filled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
}

/// One blank of a prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within its prompt.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `prompts/get` fails without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// The answer to `prompts/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GetPromptResult {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The conversation to begin with.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: Content,
}

/// The parameters of `notifications/progress`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The token of the request that it belongs to.
    pub progress_token: super::jsonrpc::Id,
    /// Grows with every notification.
    pub progress: f64,
    /// Where it will end, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The parameters of `sampling/createMessage`: what a server wants from the client's model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// The conversation, in full: nothing of ours belongs to it.
    pub messages: Vec<SamplingMessage>,
    /// Which model would do; hints, not demands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt that it wishes for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// `none`, `thisServer` or `allServers`; the latter two need a capability that is not declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// How freely the model chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How many tokens the model may give.
    pub max_tokens: u64,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// For the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Tools that the model may ask for; needs a capability that is not declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<RawJson>,
    /// How it may use them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<RawJson>,
}

/// One message of `sampling/createMessage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What is said: on the wire one part, or an array of them.
    #[serde(deserialize_with = "one_or_many", serialize_with = "as_one_or_many")]
    pub content: Vec<Content>,
}

/// What a server says about the model that it would like.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Parts of names of models, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// From 0 to 1.
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

/// The answer to `sampling/createMessage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// `assistant`.
    pub role: String,
    /// What the model said.
    #[serde(deserialize_with = "one_or_many", serialize_with = "as_one_or_many")]
    pub content: Vec<Content>,
    /// Its name.
    pub model: String,
    /// `endTurn`, `stopSequence`, `maxTokens`, or the provider's own reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// The parameters of `elicitation/create`: what a server wants from the user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    /// `form` or `url`.
    #[serde(default)]
    pub mode: ElicitMode,
    /// Why, for people.
    pub message: String,
    /// Of a form: the flat schema of the answer, see [`form`](super::form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<RawJson>,
    /// Of a URL: where the user is to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Of a URL: comes back in `notifications/elicitation/complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
}

impl ElicitParams {
    /// The longest address, in bytes.
    pub const MAX_URL: usize = 8 << 10;

    /// Whether it asks for something that a client may show.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        let url = match (self.mode, &self.url) {
            (ElicitMode::Form, _) => return Ok(()),
            (ElicitMode::Url, None) => return Err("`url` is missing"),
            (ElicitMode::Url, Some(url)) => url,
        };
        // Whoever opens it must not be made to run something.
        let head = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        if !(head.starts_with("http://") || head.starts_with("https://")) {
            return Err("`url` is neither http nor https");
        }
        if url.len() > Self::MAX_URL || !url.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("`url` is too long, or has characters that no URL has");
        }
        Ok(())
    }
}

/// How a server wants its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitMode {
    /// The user fills in a form here.
    #[default]
    Form,
    /// The user does it in a browser; the answer only says whether they want to.
    Url,
}

/// The answer to `elicitation/create`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// The form filled in, where it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What a user does with an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// They agree.
    Accept,
    /// They say no.
    Decline,
    /// They turn away without an answer.
    Cancel,
}

fn one_or_many<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Content>, D::Error> {
    let raw = RawJson::deserialize(d)?;
    let read = match begins_with(raw.get(), '[') {
        true => crate::json::from_str(raw.get()),
        false => crate::json::from_str(raw.get()).map(|one| vec![one]),
    };
    read.map_err(serde::de::Error::custom)
}

/// One part goes out as it is: only MCP 2025-11-25 knows arrays here.
fn as_one_or_many<S: Serializer>(content: &[Content], s: S) -> Result<S::Ok, S::Error> {
    match content {
        [one] => one.serialize(s),
        many => many.serialize(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_keeps_its_schema_to_the_letter() {
        let text = r#"{"name":"t","inputSchema":{"type":"object","$defs":{"b":1,"a":2}}}"#;
        let tool: Tool = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&tool).unwrap(), text);
    }

    #[test]
    fn a_part_without_a_type_is_not_content() {
        for bad in ["5", "{}", r#"{"type":5}"#, r#"["text"]"#] {
            assert!(serde_json::from_str::<Content>(bad).is_err(), "{bad}");
        }
        let odd = r#"{"type":"hologram","x":[1]}"#;
        let part: Content = serde_json::from_str(odd).unwrap();
        assert_eq!(part.as_json(), odd);
    }

    #[test]
    fn what_is_said_in_sampling_is_one_part_or_several() {
        let text = r#"{"type":"text","text":"a"}"#;
        for (content, parts) in [
            (text.to_owned(), 1),
            (format!("[{text},{text}]"), 2),
            ("[]".to_owned(), 0),
        ] {
            let message = format!(r#"{{"role":"user","content":{content}}}"#);
            let read: SamplingMessage = serde_json::from_str(&message).unwrap();
            assert_eq!(read.content.len(), parts);
            assert_eq!(serde_json::to_string(&read).unwrap(), message);
        }
        for bad in ["5", r#""a""#, "{}", "null"] {
            let message = format!(r#"{{"role":"user","content":{bad}}}"#);
            assert!(serde_json::from_str::<SamplingMessage>(&message).is_err());
        }
    }

    #[test]
    fn null_and_unknown_capabilities_do_no_harm() {
        let c: ServerCapabilities = serde_json::from_str(
            r#"{"tools":{"listChanged":null,"x":1},"resources":null,"tasks":{}}"#,
        )
        .unwrap();
        assert!(c.tools.is_some() && c.resources.is_none());
    }

    #[test]
    fn a_root_is_an_absolute_folder_as_a_uri() {
        let root = Root::of(Path::new("/home/ada/my wörk#1%/a-b_c.d~e")).unwrap();
        assert_eq!(root.uri, "file:///home/ada/my%20w%C3%B6rk%231%25/a-b_c.d~e");
        assert_eq!(root.name.as_deref(), Some("a-b_c.d~e"));
        let top = Root::of(Path::new("/")).unwrap();
        assert_eq!((top.uri.as_str(), top.name), ("file:///", None));
        assert_eq!(Root::of(Path::new("here")), None);
    }
}
