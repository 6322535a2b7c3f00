//! The body of a request, serialized directly from the conversation.

use super::{MAX_CONTEXT, is_in_cloud};
use crate::CompletionRequest;
use crate::body_fields::BodyFields;
use crate::conversation::{Content, Message, Role};
use crate::message_parts::users_text;
use crate::model_output::replayed_call;
use crate::request_form::RequestForm;
use crate::tool_result_conversion::{tool_output, users_image};
use crate::tool_schema::FunctionTool;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The image types that Ollama decodes.
const IMAGES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// The JSON text of the body. `users` is the context that the user has set for every model.
pub(super) fn body(
    request: &CompletionRequest<'_>,
    form: &RequestForm,
    users: Option<u64>,
) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body {
        request,
        form,
        users,
    })
}

struct Body<'a> {
    request: &'a CompletionRequest<'a>,
    form: &'a RequestForm,
    users: Option<u64>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Body {
            request,
            form,
            users,
        } = *self;
        let params = request.model.request_params.as_ref();
        let mut fields = BodyFields::new(s.serialize_map(None)?, params, form);
        fields.write("model", &request.model.model_name)?;
        fields.write("messages", messages(request))?;
        if !request.tools.is_empty() {
            let tools = request.tools.iter();
            let tools = tools.map(|tool| FunctionTool::new((&*tool.name).into(), tool));
            fields.write("tools", tools.collect::<Vec<_>>())?;
        }
        fields.write("stream", true)?;
        // Otherwise the server leaves out what does not fit, and nobody knows.
        fields.write("truncate", false)?;
        let options = Options {
            request,
            form,
            users,
        };
        (fields.map).serialize_entry("options", &options)?;
        fields.end(&["options"])
    }
}

/// The model's limits, and the user's own options, which take precedence.
struct Options<'a> {
    request: &'a CompletionRequest<'a>,
    form: &'a RequestForm,
    users: Option<u64>,
}

impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Options {
            request,
            form,
            users,
        } = *self;
        let model = request.model;
        let params = model.request_params.as_ref();
        let given = params.and_then(|params| params.get("options")?.as_object());
        let mut fields = BodyFields::new(s.serialize_map(None)?, given, form);
        let most = form.details.and_then(|details| details.window);
        let limit = model.context_limit;
        // Only the user asks for more than that.
        let is_more = limit.is_some_and(|limit| limit > MAX_CONTEXT);
        let is_users =
            (users.is_some() && limit == users) || (is_more && !is_in_cloud(&model.model_name));
        let most = most.filter(|_| !is_users);
        if let Some(context) = limit.into_iter().chain(most).min() {
            fields.write("num_ctx", context)?;
        }
        if let Some(wanted) = model.max_tokens {
            fields.write("num_predict", request.cap_output(wanted))?;
        }
        if let Some(temperature) = model.temperature {
            fields.write("temperature", temperature)?;
        }
        fields.end(&[])
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
    /// What was thought before the calls.
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
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
            thinking: String::new(),
            tool_name: None,
            tool_call_id: None,
        }
    }
}

fn messages<'a>(request: &CompletionRequest<'a>) -> Vec<ChatMessage<'a>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        out.push(ChatMessage::new("system", request.system));
    }
    // Servers before calls had ids know a result by the name of the tool.
    let mut called = HashMap::new();
    for message in request.messages {
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
        tool_message.tool_call_id = Some(&response.id);
        out.push(tool_message);
        images.extend(tool_output.images.into_iter().map(|image| image.data));
    }
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    for content in &message.content {
        match content {
            Content::Text(text) => texts.extend(users_text(text).map(Cow::from)),
            Content::Image(image) | Content::Audio(image) => match users_image(image, &IMAGES) {
                Some(Ok(image)) => images.push(image.data),
                Some(Err(words)) => texts.push(words.into()),
                None => {}
            },
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
    let mut thinking = String::new();
    for content in &message.content {
        match content {
            Content::Text(text) => texts.push(text.text.as_str().into()),
            Content::ToolRequest(request) => {
                let (name, arguments) = replayed_call(request);
                called.insert(&*request.id, name);
                let (id, function) = (&*request.id, Called { name, arguments });
                tool_calls.push(Call { id, function });
            }
            Content::Reasoning(reasoning) => thinking.push_str(&reasoning.text),
            _ => {}
        }
    }
    let text = joined(texts);
    if tool_calls.is_empty() {
        thinking.clear();
    }
    (!text.is_empty() || !tool_calls.is_empty()).then(|| ChatMessage {
        tool_calls,
        thinking,
        ..ChatMessage::new("assistant", text)
    })
}

fn joined<'a>(mut texts: Vec<Cow<'a, str>>) -> Cow<'a, str> {
    match texts.len() {
        1 => texts.remove(0),
        _ => texts.join("\n").into(),
    }
}
