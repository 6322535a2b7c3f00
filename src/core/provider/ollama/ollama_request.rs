//! The body of a request, serialized directly from the conversation.

use crate::conversation::{Content, Message, Role};
use crate::provider::tool_calls::replayed_call;
use crate::provider::tool_output::{audience_includes_model, supported_image, tool_output};
use crate::provider::{CompletionRequest, ToolSpec, tool_schema};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The image types that Ollama decodes.
const IMAGES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// The JSON text of the body.
pub(super) fn body(request: &CompletionRequest<'_>) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body(request))
}

struct Body<'a>(&'a CompletionRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Body(request) = self;
        let params = request.model.request_params.as_ref();
        let is_ours = |key: &str| !params.is_some_and(|params| params.contains_key(key));
        let mut map = s.serialize_map(None)?;
        if is_ours("model") {
            map.serialize_entry("model", &request.model.model_name)?;
        }
        if is_ours("messages") {
            map.serialize_entry("messages", &messages(request))?;
        }
        if is_ours("tools") && !request.tools.is_empty() {
            map.serialize_entry("tools", &Tools(request.tools))?;
        }
        if is_ours("stream") {
            map.serialize_entry("stream", &true)?;
        }
        map.serialize_entry("options", &Options(request))?;
        for (key, value) in params.into_iter().flatten() {
            if key != "options" {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// The model's limits, and the user's own options, which take precedence.
struct Options<'a>(&'a CompletionRequest<'a>);

impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Options(request) = self;
        let model = request.model;
        let params = model.request_params.as_ref();
        let given = params.and_then(|params| params.get("options")?.as_object());
        let ours = [
            ("num_ctx", model.context_limit.map(Value::from)),
            (
                "num_predict",
                model
                    .max_tokens
                    .map(|wanted| request.cap_output(wanted).into()),
            ),
            ("temperature", model.temperature.map(Value::from)),
        ];
        let mut map = s.serialize_map(None)?;
        for (key, value) in ours {
            if let Some(value) = value
                && !given.is_some_and(|given| given.contains_key(key))
            {
                map.serialize_entry(key, &value)?;
            }
        }
        for (key, value) in given.into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct Tools<'a>(&'a [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: Cow<'a, RawValue>,
        }
        let mut seq = s.serialize_seq(Some(self.0.len()))?;
        for tool in self.0 {
            seq.serialize_element(&Tool {
                r#type: "function",
                function: Function {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: tool_schema::complete(&tool.input_schema),
                },
            })?;
        }
        seq.end()
    }
}

/// One message of the request.
#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: Cow<'a, RawValue>,
}

impl<'a> ChatMessage<'a> {
    fn new(role: &'static str, content: impl Into<Cow<'a, str>>) -> Self {
        ChatMessage {
            role,
            content: content.into(),
            images: Vec::new(),
            tool_calls: Vec::new(),
            tool_name: None,
        }
    }
}

fn messages<'a>(request: &CompletionRequest<'a>) -> Vec<ChatMessage<'a>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        out.push(ChatMessage::new("system", request.system));
    }
    // Calls have no ids in this protocol: a result names the tool.
    let mut called = HashMap::new();
    for message in request.messages.iter().copied().chain(request.note) {
        match message.role {
            Role::User => user(message, &called, &mut out),
            Role::Assistant => out.extend(assistant(message, &mut called)),
        }
    }
    out
}

/// Tool messages directly follow the calls; the rest of the user's message comes after them.
fn user<'a>(
    message: &'a Message,
    called: &HashMap<&'a str, &'a str>,
    out: &mut Vec<ChatMessage<'a>>,
) {
    let mut images = Vec::new();
    for response in message.tool_responses() {
        let tool_output = tool_output(&response.tool_result, &IMAGES);
        let mut tool_message = ChatMessage::new("tool", tool_output.text);
        tool_message.tool_name = called.get(&*response.id).copied();
        out.push(tool_message);
        images.extend(tool_output.images.into_iter().map(|image| image.data));
    }
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    for content in &message.content {
        match content {
            Content::Text(text) if audience_includes_model(text.annotations.as_ref()) => {
                texts.push(text.text.as_str().into());
            }
            Content::Image(image) if audience_includes_model(image.annotations.as_ref()) => {
                let mime_type = image.mime_type.as_str().into();
                match supported_image(mime_type, image.data.as_str().into(), &IMAGES) {
                    Ok(image) => images.push(image.data),
                    Err(words) => texts.push(words.into()),
                }
            }
            _ => {}
        }
    }
    let text = joined(texts);
    if !text.is_empty() || !images.is_empty() {
        out.push(ChatMessage {
            images,
            ..ChatMessage::new("user", text)
        });
    }
}

fn assistant<'a>(
    message: &'a Message,
    called: &mut HashMap<&'a str, &'a str>,
) -> Option<ChatMessage<'a>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    for content in &message.content {
        match content {
            Content::Text(text) => texts.push(text.text.as_str().into()),
            Content::ToolRequest(request) => {
                let (name, arguments) = replayed_call(request);
                called.insert(&*request.id, name);
                let arguments = object(arguments);
                let function = Called { name, arguments };
                tool_calls.push(Call { function });
            }
            _ => {}
        }
    }
    let text = joined(texts);
    (!text.is_empty() || !tool_calls.is_empty()).then(|| ChatMessage {
        tool_calls,
        ..ChatMessage::new("assistant", text)
    })
}

fn object(json: Cow<'_, str>) -> Cow<'_, RawValue> {
    match json {
        Cow::Borrowed(text) => match crate::json::from_str::<&RawValue>(text) {
            Ok(raw) => Cow::Borrowed(raw),
            Err(_) => Cow::Owned(Box::default()),
        },
        Cow::Owned(text) => Cow::Owned(RawValue::from_string(text).unwrap_or_default()),
    }
}

fn joined<'a>(mut texts: Vec<Cow<'a, str>>) -> Cow<'a, str> {
    match texts.len() {
        1 => texts.remove(0),
        _ => texts.join("\n").into(),
    }
}
