//! The body of a request of the Anthropic messages API.

use super::Endpoint;
use super::bound_origin::ReasoningBack;
use crate::conversation::{Content, Message, Role, ToolRequest, ToolResponse};
use crate::message_parts::users_text;
use crate::model_families::limits_of;
use crate::model_output::replayed_call;
use crate::model_traits::ModelTraits;
use crate::request_form::{BLOCK_BINDING, RequestForm};
use crate::thinking_origin::is_own;
use crate::tool_name_encoding::encode_tool_name;
use crate::tool_result_conversion::{IMAGES, ImageData, tool_output, users_image};
use crate::{CompletionRequest, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The limit on output tokens if neither the catalog nor the user sets one, and the model is of no known family.
const MAX_TOKENS: u64 = 8192;
/// How many of the last user messages have a cache breakpoint. With those of the system prompt and the tools
/// there are four, the API's maximum.
const CACHED_MESSAGES: usize = 2;

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    /// Where the URL does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    /// Where no header has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anthropic_version: Option<&'static str>,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingOptions>,
    stream: bool,
}

impl Body<'_> {
    /// Whether the server may drop reasoning that does not stand where it was made.
    pub(super) fn drops_thinking(&self) -> bool {
        self.thinking.is_some()
    }
}

/// Adaptive thinking, which such models use without the option, too.
#[derive(Serialize)]
struct ThinkingOptions {
    #[serde(rename = "type")]
    kind: &'static str,
    block_binding: BlockBinding,
}

#[derive(Serialize)]
struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

const DROPS_THINKING: ThinkingOptions = ThinkingOptions {
    kind: "adaptive",
    block_binding: BlockBinding {
        prefix_mismatch_behavior: "drop_block",
    },
};

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: Cow<'a, str>,
    data: Cow<'a, str>,
}

#[derive(Serialize)]
struct Cache {
    #[serde(rename = "type")]
    kind: &'static str,
}

const EPHEMERAL: Option<Cache> = Some(Cache { kind: "ephemeral" });

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

/// The body, without the user's own parameters, and the origin of the reasoning in the response.
pub(super) fn body<'a>(
    request: &CompletionRequest<'a>,
    server: &Endpoint,
    form: &RequestForm,
) -> (Body<'a>, String) {
    let model = request.model;
    let traits = ModelTraits::of(&model.model_name);
    let mut reasoning = ReasoningBack::new(request, &server.url, form);
    let messages = turns(request, &mut reasoning);
    let system = if request.system.trim().is_empty() {
        Vec::new()
    } else {
        vec![Block::Text {
            text: request.system.into(),
            cache_control: EPHEMERAL,
        }]
    };
    let mut tools: Vec<Tool<'a>> = (request.tools.iter()).map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = EPHEMERAL;
    }
    let drops_thinking =
        traits.can_drop_thinking && form.accepts(BLOCK_BINDING) && form.accepts("thinking");
    // The parameter of the user, or of an effort. What is thought counts as output.
    let params = model.request_params.as_ref();
    let thinking = params.and_then(|params| params.get("thinking"));
    let thinks = thinking.is_some_and(|thinking| thinking["type"] != "disabled");
    let budget = thinking.and_then(|thinking| thinking["budget_tokens"].as_u64());
    let max_tokens = (model.max_tokens).unwrap_or_else(|| max_tokens(&model.model_name));
    let body = Body {
        model: Some(&model.model_name),
        anthropic_version: None,
        max_tokens: request.cap_output(max_tokens.saturating_add(budget.unwrap_or(0))),
        system,
        messages,
        tools,
        temperature: (model.temperature).filter(|_| !(traits.refuses_temperature || thinks)),
        thinking: drops_thinking.then_some(DROPS_THINKING),
        stream: server.stream,
    };
    (body, reasoning.origin())
}

fn max_tokens(model: &str) -> u64 {
    limits_of(model).map_or(MAX_TOKENS, |limits| limits.output)
}

fn tool<'a>(spec: &'a ToolSpec) -> Tool<'a> {
    Tool {
        name: encode_tool_name(&spec.name),
        description: &spec.description,
        input_schema: &spec.input_schema,
        cache_control: None,
    }
}

/// The messages, merged so that roles alternate and a user message is first.
fn turns<'a>(request: &CompletionRequest<'a>, reasoning: &mut ReasoningBack<'_>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in request.messages {
        let blocks = blocks(message, reasoning);
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.content.extend(blocks),
            Some(_) => turns.push(Turn {
                role: message.role,
                content: blocks,
            }),
            None => {
                if message.role == Role::Assistant {
                    turns.push(Turn {
                        role: Role::User,
                        content: vec![text("Continue.")],
                    });
                }
                turns.push(Turn {
                    role: message.role,
                    content: blocks,
                });
            }
        }
    }
    for turn in &mut turns {
        // The API requires tool results before all other content of their message.
        let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
        crate::sorting::sort_by(&mut turn.content, |a, b| is_result(b).cmp(&is_result(a)));
    }
    let users = turns
        .iter_mut()
        .rev()
        .filter(|turn| turn.role == Role::User);
    for turn in users.take(CACHED_MESSAGES) {
        if let Some(last) = turn.content.last_mut() {
            last.set_cache_breakpoint();
        }
    }
    turns
}

/// The blocks of a message.
fn blocks<'a>(message: &'a Message, reasoning: &mut ReasoningBack<'_>) -> Vec<Block<'a>> {
    let own = reasoning.own_in(message);
    let takes_unsigned = !reasoning.is_bound();
    let blocks = (message.content.iter())
        .filter_map(|content| block(content, own.as_deref(), takes_unsigned));
    let blocks: Vec<Block<'a>> = blocks.collect();
    reasoning.passed(message, &blocks);
    blocks
}

/// A part of a message as a block; reasoning if its origin is `own`. `takes_unsigned` is said of models that are not
/// Claude, which want their reasoning back without a signature, too.
fn block<'a>(content: &'a Content, own: Option<&str>, takes_unsigned: bool) -> Option<Block<'a>> {
    let is_own = |origin: &Option<String>| own.is_some_and(|own| is_own(origin.as_deref(), own));
    match content {
        Content::Text(part) => {
            let shown = users_text(part).filter(|text| !text.trim().is_empty());
            shown.map(text)
        }
        Content::Image(image) | Content::Audio(image) => {
            users_image(image, &IMAGES).map(|image| image.map_or_else(text, media))
        }
        Content::ToolRequest(request) => Some(tool_use(request)),
        Content::ToolResponse(response) => Some(tool_result(response)),
        Content::Thinking(part) => {
            let is_valid = takes_unsigned || !part.signature.is_empty();
            (is_valid && is_own(&part.origin)).then_some(Block::Thinking {
                thinking: &part.thinking,
                signature: &part.signature,
            })
        }
        Content::RedactedThinking(part) => {
            is_own(&part.origin).then_some(Block::RedactedThinking { data: &part.data })
        }
        _ => None,
    }
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> Block<'a> {
    Block::Text {
        text: text.into(),
        cache_control: None,
    }
}

fn media(picture: ImageData<'_>) -> Block<'_> {
    Block::Image {
        source: Source {
            kind: "base64",
            media_type: picture.mime_type,
            data: picture.data,
        },
        cache_control: None,
    }
}

fn tool_use(request: &ToolRequest) -> Block<'_> {
    let (name, input) = replayed_call(request);
    Block::ToolUse {
        id: plain_id(&request.id),
        name: encode_tool_name(name),
        input,
    }
}

fn tool_result(response: &ToolResponse) -> Block<'_> {
    let tool_output = tool_output(&response.tool_result, &IMAGES);
    let mut content = vec![text(tool_output.text)];
    content.extend(tool_output.images.into_iter().map(media));
    Block::ToolResult {
        tool_use_id: plain_id(&response.id),
        content,
        is_error: tool_output.failed,
        cache_control: None,
    }
}

/// An id that the API accepts: only ASCII letters, digits, `_` and `-`. Other providers allow more.
fn plain_id(id: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(plain) {
        Cow::Borrowed(id)
    } else {
        (id.chars())
            .map(|c| if plain(c) { c } else { '_' })
            .collect()
    }
}

impl Block<'_> {
    /// Sets a cache breakpoint. Blocks that cannot have one are never the last of a user message.
    fn set_cache_breakpoint(&mut self) {
        match self {
            Block::Text { cache_control, .. }
            | Block::Image { cache_control, .. }
            | Block::ToolResult { cache_control, .. } => *cache_control = EPHEMERAL,
            Block::ToolUse { .. } | Block::Thinking { .. } | Block::RedactedThinking { .. } => {}
        }
    }
}
