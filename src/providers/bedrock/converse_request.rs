//! The body of a request of the Converse API.

use crate::anthropic::bound_origin::ReasoningBack;
use crate::conversation::{Content, Message, Role, ToolRequest, ToolResponse};
use crate::message_parts::users_text;
use crate::model_output::replayed_call;
use crate::request_form::RequestForm;
use crate::thinking_origin::is_own;
use crate::tool_name_encoding::encode_tool_name;
use crate::tool_result_conversion::{IMAGES, ImageData, tool_output, users_image};
use crate::{CompletionRequest, ToolSpec};
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// How many of the last user messages have a cache point. With those of the system prompt and the tools there are
/// four, the API's maximum.
const CACHED_MESSAGES: usize = 2;
/// The most characters of a call's id.
const MAX_ID: usize = 64;
/// The Claude models without prompt caching.
const UNCACHED: [&str; 6] = [
    "claude-3-opus",
    "claude-3-sonnet",
    "claude-3-haiku",
    "claude-3-5-sonnet",
    "claude-instant",
    "claude-v2",
];

/// The body of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Inference::is_empty")]
    inference_config: Inference,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Block<'a> {
    Text(Cow<'a, str>),
    Image(Image<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    ReasoningContent(Reasoning<'a>),
    CachePoint(CachePoint),
}

#[derive(Serialize)]
struct Image<'a> {
    format: String,
    source: Source<'a>,
}

#[derive(Serialize)]
struct Source<'a> {
    bytes: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse<'a> {
    tool_use_id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: Cow<'a, RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    tool_use_id: Cow<'a, str>,
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Reasoning<'a> {
    ReasoningText { text: &'a str, signature: &'a str },
    RedactedContent(&'a str),
}

#[derive(Serialize)]
struct CachePoint {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct ToolConfig<'a> {
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    ToolSpec(Function<'a>),
    CachePoint(CachePoint),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Schema<'a>,
}

#[derive(Serialize)]
struct Schema<'a> {
    json: Cow<'a, RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inference {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

impl Inference {
    fn is_empty(&self) -> bool {
        self.max_tokens.is_none() && self.temperature.is_none()
    }
}

/// What the model's family accepts beyond the others.
#[derive(Clone, Copy)]
struct Family {
    caches: bool,
    caches_tools: bool,
    reads_status: bool,
}

impl Family {
    fn of(model: &str) -> Self {
        let (is_claude, is_nova) = (
            model.contains("anthropic.claude"),
            model.contains("amazon.nova"),
        );
        let caches_tools = is_claude && !UNCACHED.iter().any(|old| model.contains(old));
        Family {
            caches: caches_tools || is_nova,
            caches_tools,
            reads_status: is_claude || is_nova,
        }
    }
}

/// The body, without the user's own parameters, and the origin of the reasoning in the response.
pub(super) fn body<'a>(
    request: &CompletionRequest<'a>,
    url: &str,
    form: &RequestForm,
) -> (Body<'a>, String) {
    let model = request.model;
    let mut reasoning = ReasoningBack::new(request, url, form);
    let family = Family::of(&model.model_name);
    let mut system = Vec::new();
    if !request.system.trim().is_empty() {
        system.push(Block::Text(request.system.into()));
        system.extend(family.caches.then(cache_point));
    }
    let body = Body {
        system,
        messages: turns(request, family, &mut reasoning),
        tool_config: tool_config(request, family),
        inference_config: Inference {
            max_tokens: model.max_tokens.map(|wanted| request.cap_output(wanted)),
            temperature: model.temperature,
        },
    };
    (body, reasoning.origin())
}

/// The tools. The API refuses messages with calls without any, so the tools of those are declared if the request
/// has none.
fn tool_config<'a>(request: &CompletionRequest<'a>, family: Family) -> Option<ToolConfig<'a>> {
    let mut tools: Vec<Tool<'a>> = request.tools.iter().map(tool).collect();
    if tools.is_empty() {
        let contents = request.messages.iter().flat_map(|message| &message.content);
        let names: BTreeSet<Cow<'a, str>> = contents.filter_map(called_tool).collect();
        tools.extend(names.into_iter().map(|name| {
            Tool::ToolSpec(Function {
                name,
                description: "A tool of earlier messages",
                input_schema: Schema {
                    json: Cow::Owned(any_object()),
                },
            })
        }));
    }
    if tools.is_empty() {
        return None;
    }
    tools.extend(family.caches_tools.then_some(Tool::CachePoint(DEFAULT)));
    Some(ToolConfig { tools })
}

/// The schema of any arguments.
fn any_object() -> Box<RawValue> {
    let schema = json!({"type": "object", "properties": {}});
    to_raw_value(&schema).unwrap_or_default()
}

fn called_tool(content: &Content) -> Option<Cow<'_, str>> {
    match content {
        Content::ToolRequest(request) => Some(encode_tool_name(replayed_call(request).0)),
        _ => None,
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool::ToolSpec(Function {
        name: encode_tool_name(&spec.name),
        description: &spec.description,
        input_schema: Schema {
            json: Cow::Borrowed(&spec.input_schema),
        },
    })
}

/// The messages, merged so that roles alternate and a user message is first.
fn turns<'a>(
    request: &CompletionRequest<'a>,
    family: Family,
    reasoning: &mut ReasoningBack<'_>,
) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in request.messages {
        append(&mut turns, message, family, reasoning);
    }
    if turns
        .first()
        .is_some_and(|turn| turn.role == Role::Assistant)
    {
        let content = vec![Block::Text("Continue.".into())];
        let role = Role::User;
        turns.insert(0, Turn { role, content });
    }
    for turn in &mut turns {
        // Tool results come before all other content of their message.
        let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
        crate::sorting::sort_by(&mut turn.content, |a, b| is_result(b).cmp(&is_result(a)));
    }
    if family.caches {
        let newest_first = turns.iter_mut().rev();
        let users = newest_first.filter(|turn| turn.role == Role::User);
        for turn in users.take(CACHED_MESSAGES) {
            turn.content.push(cache_point());
        }
    }
    turns
}

fn append<'a>(
    turns: &mut Vec<Turn<'a>>,
    message: &'a Message,
    family: Family,
    reasoning: &mut ReasoningBack<'_>,
) {
    let own = reasoning.own_in(message);
    let blocks = message
        .content
        .iter()
        .filter_map(|it| block(it, family, own.as_deref()));
    let content: Vec<Block<'a>> = blocks.collect();
    reasoning.passed(message, &content);
    match turns.last_mut() {
        _ if content.is_empty() => {}
        Some(turn) if turn.role == message.role => turn.content.extend(content),
        _ => turns.push(Turn {
            role: message.role,
            content,
        }),
    }
}

const DEFAULT: CachePoint = CachePoint { kind: "default" };

fn cache_point<'a>() -> Block<'a> {
    Block::CachePoint(DEFAULT)
}

/// A part of a message as a block; reasoning if its origin is `own`.
fn block<'a>(content: &'a Content, family: Family, own: Option<&str>) -> Option<Block<'a>> {
    let is_own = |origin: &Option<String>| own.is_some_and(|own| is_own(origin.as_deref(), own));
    match content {
        Content::Text(part) => {
            let shown = users_text(part).filter(|text| !text.trim().is_empty());
            shown.map(|text| Block::Text(text.into()))
        }
        Content::Image(image) | Content::Audio(image) => {
            let replaced = |words: String| Block::Text(words.into());
            users_image(image, &IMAGES).map(|image| image.map_or_else(replaced, media))
        }
        Content::ToolRequest(request) => Some(tool_use(request)),
        Content::ToolResponse(response) => Some(tool_result(response, family)),
        // Reasoning without a signature comes from another provider, and Claude refuses it.
        Content::Thinking(part) if !part.signature.is_empty() && is_own(&part.origin) => {
            Some(Block::ReasoningContent(Reasoning::ReasoningText {
                text: &part.thinking,
                signature: &part.signature,
            }))
        }
        Content::RedactedThinking(part) if is_own(&part.origin) => Some(Block::ReasoningContent(
            Reasoning::RedactedContent(&part.data),
        )),
        _ => None,
    }
}

fn media(picture: ImageData<'_>) -> Block<'_> {
    let format = picture.mime_type.strip_prefix("image/");
    Block::Image(Image {
        format: format.unwrap_or(&picture.mime_type).to_owned(),
        source: Source {
            bytes: picture.data,
        },
    })
}

fn tool_use(request: &ToolRequest) -> Block<'_> {
    let (name, input) = replayed_call(request);
    Block::ToolUse(ToolUse {
        tool_use_id: plain_id(&request.id),
        name: encode_tool_name(name),
        input,
    })
}

fn tool_result(response: &ToolResponse, family: Family) -> Block<'_> {
    let output = tool_output(&response.tool_result, &IMAGES);
    let text = match output.text.trim() {
        "" => "(empty)".into(),
        _ => Cow::Owned(output.text),
    };
    let mut content = vec![Block::Text(text)];
    content.extend(output.images.into_iter().map(media));
    Block::ToolResult(ToolResult {
        tool_use_id: plain_id(&response.id),
        content,
        status: (output.failed && family.reads_status).then_some("error"),
    })
}

/// An id that the API accepts: at most 64 ASCII letters, digits, `_` and `-`. Other providers allow more.
fn plain_id(id: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.len() <= MAX_ID && id.chars().all(plain) {
        return Cow::Borrowed(id);
    }
    let plain = id.chars().map(|c| if plain(c) { c } else { '_' });
    plain.take(MAX_ID).collect()
}
