//! The body of a request, serialized directly from the conversation.

use super::provider_fields::returned;
use super::{Endpoint, mistral};
use crate::CompletionRequest;
use crate::body_fields::BodyFields;
use crate::conversation::{Content, Message, Role, ToolRequest};
use crate::gemini_signatures::{FOREIGN_SIGNATURE, needs_signatures};
use crate::message_parts::{as_data_url, as_text, users_text};
use crate::model_output::replayed_call;
use crate::request_form::{CACHE_CONTROL, REASONING_CONTENT, RequestForm};
use crate::thinking_origin::is_own;
use crate::tool_name_encoding::encode_tool_name;
use crate::tool_result_conversion::{IMAGES, ImageData, tool_output, users_image};
use crate::tool_schema::FunctionTool;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// How many messages of the user are marked for the server's cache.
const MARKED_MESSAGES: usize = 2;

/// The JSON text of the body. What the provider sent for itself alone goes back if its origin is `own`.
pub(super) fn body(
    options: &Endpoint,
    request: &CompletionRequest<'_>,
    form: &RequestForm,
    own: &str,
) -> serde_json::Result<Vec<u8>> {
    let body = Body {
        own,
        options,
        request,
        form,
    };
    serde_json::to_vec(&body)
}

struct Body<'a> {
    own: &'a str,
    options: &'a Endpoint,
    request: &'a CompletionRequest<'a>,
    form: &'a RequestForm,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let model = self.request.model;
        let params = model.request_params.as_ref();
        let mut fields = BodyFields::new(s.serialize_map(None)?, params, self.form);
        fields.write("model", self.options.model(&model.model_name))?;
        fields.write("messages", messages(self))?;
        if !self.request.tools.is_empty() {
            let tools = self.request.tools.iter();
            let tools = tools.map(|tool| FunctionTool::new(encode_tool_name(&tool.name), tool));
            fields.write("tools", tools.collect::<Vec<_>>())?;
        }
        if self.options.stream {
            fields.write("stream", true)?;
            if self.options.stream_usage {
                fields.write("stream_options", json!({"include_usage": true}))?;
            }
        }
        let reasons = self.form.traits_of(&model.model_name).reasons;
        if let Some(temperature) = model.temperature
            && !reasons
        {
            fields.write("temperature", temperature)?;
        }
        if let Some(max) = model.max_tokens {
            let key = if reasons {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            fields.write(key, max)?;
        }
        fields.end(&[])
    }
}

/// The types of images and audio that models take.
/// <https://platform.openai.com/docs/api-reference/chat/create>
const MEDIA: [&str; 6] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "audio/wav",
    "audio/mpeg",
];

/// One message of the request.
#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    content: Option<MessageContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    ImageUrl {
        image_url: Url<'a>,
    },
    InputAudio {
        input_audio: Audio<'a>,
    },
}

#[derive(Serialize)]
struct Audio<'a> {
    data: Cow<'a, str>,
    format: &'static str,
}

#[derive(Serialize)]
struct Url<'a> {
    #[serde(serialize_with = "as_data_url")]
    url: ImageData<'a>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_specific_fields: Option<&'a Value>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: Cow<'a, RawValue>,
}

impl<'a> ChatMessage<'a> {
    fn new(role: &'static str, content: Option<MessageContent<'a>>) -> Self {
        ChatMessage {
            role,
            content,
            reasoning_content: None,
            reasoning_details: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

/// The rules of the endpoint and the model for messages.
struct Dialect {
    reasoning_back: bool,
    reasoning_if_any: bool,
    origin: String,
    is_mistral: bool,
    /// Google's own endpoint and a model that refuses calls without a signature.
    wants_signatures: bool,
}

impl Dialect {
    fn of(body: &Body<'_>) -> Self {
        let (options, model) = (body.options, &body.request.model.model_name);
        let url = &options.url;
        Dialect {
            reasoning_back: options.reasoning_back && body.form.accepts(REASONING_CONTENT),
            reasoning_if_any: options.reasoning_if_any && body.form.accepts(REASONING_CONTENT),
            origin: body.own.to_owned(),
            is_mistral: mistral::is_mistral(url, model),
            wants_signatures: url.contains("googleapis.com/") && needs_signatures(model),
        }
    }

    fn id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        if self.is_mistral {
            mistral::id(id)
        } else {
            id.into()
        }
    }
}

fn messages<'a>(body: &Body<'a>) -> Vec<ChatMessage<'a>> {
    let request = body.request;
    let dialect = Dialect::of(body);
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let system = MessageContent::Text(request.system.into());
        out.push(ChatMessage::new("system", Some(system)));
    }
    for message in request.messages {
        match message.role {
            Role::User => {
                let news = message.as_news();
                if !news.is_some_and(|news| add_news(news, &mut out)) {
                    user(&dialect, message, &mut out);
                }
            }
            Role::Assistant => out.extend(assistant(&dialect, message)),
        }
    }
    let is_claude = request.model.model_name.contains("claude");
    if body.options.marks_cache && is_claude && body.form.accepts(CACHE_CONTROL) {
        mark_for_cache(&mut out);
    }
    out
}

/// Appends news to the user message before it, because some models refuse two user messages in a row; false if there
/// is none.
fn add_news(news: &str, out: &mut [ChatMessage<'_>]) -> bool {
    let last = out.last_mut().filter(|last| last.role == "user");
    match last.and_then(|last| last.content.as_mut()) {
        Some(MessageContent::Text(text)) => {
            let text = text.to_mut();
            text.push_str("\n\n");
            text.push_str(news);
        }
        Some(MessageContent::Parts(parts)) => {
            let text = news.to_owned();
            parts.push(text_part(text));
        }
        None => return false,
    }
    true
}

/// Tool messages directly follow the calls; the rest of the user's message comes after them.
fn user<'a>(dialect: &Dialect, message: &'a Message, out: &mut Vec<ChatMessage<'a>>) {
    let mut parts = Vec::new();
    for response in message.tool_responses() {
        let tool_output = tool_output(&response.tool_result, &IMAGES);
        let text = MessageContent::Text(tool_output.text.into());
        let mut tool_message = ChatMessage::new("tool", Some(text));
        tool_message.tool_call_id = Some(dialect.id(&response.id));
        out.push(tool_message);
        // Only a user message may contain images.
        parts.extend(tool_output.images.into_iter().map(media_part));
    }
    for content in &message.content {
        match content {
            Content::Text(text) => {
                let shown = users_text(text).filter(|text| !text.is_empty());
                parts.extend(shown.map(text_part));
            }
            Content::Image(media) | Content::Audio(media) => {
                let kinds: &[&str] = if dialect.is_mistral { &IMAGES } else { &MEDIA };
                let replaced = |words: String| text_part(words);
                let media = users_image(media, kinds);
                parts.extend(media.map(|media| media.map_or_else(replaced, media_part)));
            }
            _ => {}
        }
    }
    let content = match parts.pop() {
        None => return,
        Some(Part::Text { text, .. }) if parts.is_empty() => MessageContent::Text(text),
        Some(last) => {
            parts.push(last);
            MessageContent::Parts(parts)
        }
    };
    if dialect.is_mistral && out.last().is_some_and(|last| last.role == "tool") {
        let bridge = MessageContent::Text(mistral::BRIDGE.into());
        out.push(ChatMessage::new("assistant", Some(bridge)));
    }
    out.push(ChatMessage::new("user", Some(content)));
}

fn text_part<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Text {
        text: text.into(),
        cache_control: None,
    }
}

/// Marks the ends of the prefixes that the server may keep for later requests: the system prompt, with the tools before
/// it, and the last messages of the user. At most four may be marked.
/// <https://openrouter.ai/docs/features/prompt-caching>, <https://docs.litellm.ai/docs/completion/prompt_caching>
fn mark_for_cache(messages: &mut [ChatMessage<'_>]) {
    let system = messages.iter().position(|it| it.role == "system");
    let of_user = messages.iter().enumerate().rev();
    let of_user = of_user
        .filter(|(_, it)| it.role == "user")
        .take(MARKED_MESSAGES);
    let marked: Vec<usize> = system
        .into_iter()
        .chain(of_user.map(|(at, _)| at))
        .collect();
    for at in marked {
        let content = messages[at].content.take();
        let mut parts = match content {
            Some(MessageContent::Text(text)) => vec![text_part(text)],
            Some(MessageContent::Parts(parts)) => parts,
            None => continue,
        };
        let texts = parts.iter_mut().rev();
        let mut texts = texts.filter_map(|part| match part {
            Part::Text { cache_control, .. } => Some(cache_control),
            Part::ImageUrl { .. } | Part::InputAudio { .. } => None,
        });
        if let Some(mark) = texts.next() {
            *mark = Some(json!({"type": "ephemeral"}));
        }
        messages[at].content = Some(MessageContent::Parts(parts));
    }
}

fn media_part(media: ImageData<'_>) -> Part<'_> {
    let format = match &*media.mime_type {
        "audio/wav" => "wav",
        "audio/mpeg" => "mp3",
        _ => {
            let image_url = Url { url: media };
            return Part::ImageUrl { image_url };
        }
    };
    let data = media.data;
    Part::InputAudio {
        input_audio: Audio { data, format },
    }
}

fn assistant<'a>(dialect: &Dialect, message: &'a Message) -> Option<ChatMessage<'a>> {
    let mut texts: Vec<&str> = Vec::new();
    let mut thoughts: Vec<&str> = Vec::new();
    let mut out = ChatMessage::new("assistant", None);
    for content in &message.content {
        match content {
            Content::Text(text) if !text.text.is_empty() => texts.push(&text.text),
            Content::Reasoning(thought) => thoughts.push(&thought.text),
            Content::Thinking(thought)
                if thought.origin.is_none()
                    || is_own(thought.origin.as_deref(), &dialect.origin) =>
            {
                thoughts.push(&thought.thinking);
            }
            Content::ToolRequest(request) => {
                let details = returned(request, &dialect.origin).reasoning_details;
                out.reasoning_details = out.reasoning_details.or(details);
                out.tool_calls.push(call(dialect, request));
            }
            _ => {}
        }
    }
    out.content = match texts[..] {
        [] => None,
        [text] => Some(MessageContent::Text(text.into())),
        _ => Some(MessageContent::Text(texts.join("\n").into())),
    };
    if dialect.wants_signatures
        && let Some(first) = out.tool_calls.first_mut()
        && first.extra_content.is_none()
    {
        let signature = json!({"google": {"thought_signature": FOREIGN_SIGNATURE}});
        first.extra_content = Some(Cow::Owned(signature));
    }
    let goes_back = dialect.reasoning_back || (dialect.reasoning_if_any && !thoughts.is_empty());
    if goes_back && !out.tool_calls.is_empty() {
        // A provider that requires the field does so even if it is empty.
        out.reasoning_content = Some(thoughts.join("\n"));
    }
    (out.content.is_some() || !out.tool_calls.is_empty()).then_some(out)
}

fn call<'a>(dialect: &Dialect, request: &'a ToolRequest) -> Call<'a> {
    let (name, arguments) = replayed_call(request);
    let returned = returned(request, &dialect.origin);
    Call {
        id: dialect.id(&request.id),
        extra_content: returned.extra_content.map(Cow::Borrowed),
        provider_specific_fields: returned.provider_specific_fields,
        kind: "function",
        function: Called {
            name: encode_tool_name(name),
            arguments,
        },
    }
}
