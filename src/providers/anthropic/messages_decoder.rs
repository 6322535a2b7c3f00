//! Decodes a response of the Anthropic messages API: an event stream, or one message.

use crate::call_limit::check_call_count;
use crate::conversation::{Content, RedactedThinking, Thinking};
use crate::lenient_json::{JsonId, JsonStr, arguments_text, token_count};
use crate::model_output::tool_request;
use crate::response_body::{Part, ResponseBody};
use crate::too_long::{CONTEXT_FULL, context_is_full};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason, Usage, classify_error};
use gosling_core::mcp::jsonrpc::RawJson;
use gosling_core::text::printable;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The most bytes of one event.
const MAX_EVENT: usize = 16 << 20;

/// Decodes one response.
pub(super) struct MessagesDecoder {
    body: ResponseBody,
    completion: Accumulator,
}

impl MessagesDecoder {
    /// `origin` is that of the reasoning in the response.
    pub(super) fn new(names: ToolNames, origin: String) -> Self {
        MessagesDecoder {
            body: ResponseBody::new(b"{", MAX_EVENT),
            completion: Accumulator {
                names,
                origin,
                ..Accumulator::default()
            },
        }
    }
}

impl Decoder for MessagesDecoder {
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        let completion = &mut self.completion;
        self.body.push(piece, &mut |part| match part {
            Part::Text(message) => completion.message(message, sink),
            Part::Event(_) if completion.complete => Ok(()),
            Part::Event(data) => completion.event(data, sink),
        })?;
        Ok(completion.complete)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        self.completion.finish()
    }
}

/// Any event: one struct has the fields of all kinds, so that an event is parsed once and not copied.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    message: Option<MessageStart<'a>>,
    #[serde(borrow)]
    content_block: Option<ContentBlock<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<RawUsage>,
    #[serde(borrow)]
    error: Option<ApiError<'a>>,
}

#[derive(Deserialize)]
struct MessageStart<'a> {
    #[serde(borrow)]
    id: Option<JsonStr<'a>>,
    usage: Option<RawUsage>,
}

/// A complete message, from a server that does not stream.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    content: Vec<ContentBlock<'a>>,
    #[serde(borrow)]
    stop_reason: Option<JsonStr<'a>>,
    usage: Option<RawUsage>,
    #[serde(borrow)]
    error: Option<ApiError<'a>>,
}

#[derive(Deserialize)]
struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<JsonId<'a>>,
    #[serde(borrow)]
    name: Option<JsonStr<'a>>,
    input: Option<RawJson>,
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    #[serde(borrow)]
    thinking: Option<JsonStr<'a>>,
    #[serde(borrow)]
    signature: Option<JsonStr<'a>>,
    #[serde(borrow)]
    data: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    #[serde(borrow)]
    partial_json: Option<JsonStr<'a>>,
    #[serde(borrow)]
    thinking: Option<JsonStr<'a>>,
    #[serde(borrow)]
    signature: Option<JsonStr<'a>>,
    #[serde(borrow)]
    stop_reason: Option<JsonStr<'a>>,
}

#[derive(Deserialize, Default)]
struct ApiError<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

impl ApiError<'_> {
    fn error(&self) -> Error {
        let text = if self.message.is_empty() {
            &self.kind
        } else {
            &self.message
        };
        let class = classify_error::classify(0, &self.kind, &self.message);
        Error::new(class, text.clone().into_owned())
    }
}

/// Token counts. Each is cumulative, so the last one is valid.
#[derive(Deserialize, Clone, Copy, Default)]
struct RawUsage {
    #[serde(default, deserialize_with = "token_count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    output_tokens: Option<u64>,
}

impl RawUsage {
    fn update(&mut self, later: RawUsage) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens =
            (later.cache_read_input_tokens).or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            (later.cache_creation_input_tokens).or(self.cache_creation_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }

    fn usage(self) -> Usage {
        let cached = [
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
        ];
        let input = self.input_tokens.map(|fresh| {
            let cached = cached.into_iter().flatten();
            cached.fold(fresh, u64::saturating_add)
        });
        Usage {
            input,
            output: self.output_tokens,
            cached: self.cache_read_input_tokens,
            written: self.cache_creation_input_tokens,
            ..Usage::default()
        }
    }
}

/// A content block that may still grow.
enum Block {
    Text(String),
    Thinking(Thinking),
    Redacted(String),
    Tool {
        id: String,
        name: String,
        /// The arguments that came in deltas.
        json: String,
        /// The arguments that came with the start of the block, usually `{}`.
        input: Option<RawJson>,
    },
    /// A tool call that the provider's own servers execute, and other unknown blocks.
    Other,
}

/// The response so far.
#[derive(Default)]
struct Accumulator {
    names: ToolNames,
    origin: String,
    id: Option<String>,
    /// Each with its index in events. The provider chooses it, so it is searched for, not used as an offset.
    blocks: Vec<(u64, Block)>,
    calls: usize,
    usage: RawUsage,
    stop: Option<StopReason>,
    complete: bool,
}

impl Accumulator {
    fn event(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        if data == b"[DONE]" {
            // The end of a stream in OpenAI's protocol, which some servers send in place of `message_stop`.
            self.complete = self.stop.is_some();
            return Ok(());
        }
        let data = crate::json::sanitize_bytes(data);
        let event: Event<'_> = match crate::json::from_str(&data) {
            Ok(event) => event,
            Err(_) if is_unknown(data.as_bytes()) => return Ok(()),
            Err(error) => return Err(bare_error(data.as_bytes(), &error)),
        };
        if let Some(usage) = event.usage {
            self.usage.update(usage);
        }
        match event.kind.as_ref() {
            "message_start" => self.begin(event.message, sink),
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.open(event.index, block, sink)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.grow(event.index, &delta, sink);
                }
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.end(&reason.0)?;
                }
            }
            "message_stop" => self.complete = true,
            "error" => return Err(event.error.unwrap_or_default().error()),
            "" => {
                if let Some(error) = event.error {
                    return Err(error.error());
                }
            }
            // `ping`, `content_block_stop`, and unknown events.
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let data = crate::json::sanitize_bytes(data);
        let message: Message<'_> = crate::json::from_str(&data)
            .map_err(|error| nonsense(&format!("the message cannot be read: {error}")))?;
        if let Some(fault) = message.error {
            return Err(fault.error());
        }
        let start = MessageStart {
            id: message.id,
            usage: message.usage,
        };
        self.begin(Some(start), sink);
        for (index, block) in (0..).zip(message.content) {
            self.open(index, block, sink)?;
        }
        if let Some(reason) = message.stop_reason {
            self.end(&reason.0)?;
        }
        self.complete = true;
        Ok(())
    }

    fn end(&mut self, reason: &str) -> Result<(), Error> {
        let has_begun = |(_, block): &(u64, Block)| match block {
            Block::Text(text) => !text.is_empty(),
            Block::Tool { .. } => true,
            Block::Thinking(_) | Block::Redacted(_) | Block::Other => false,
        };
        if reason == CONTEXT_FULL && !self.blocks.iter().any(has_begun) {
            return Err(context_is_full());
        }
        self.stop = Some(stop(reason));
        Ok(())
    }

    fn begin(&mut self, start: Option<MessageStart<'_>>, sink: &mut dyn DeltaSink) {
        let Some(start) = start else { return };
        if let Some(usage) = start.usage {
            self.usage.update(usage);
        }
        self.id = start.id.map(|id| id.0.into_owned());
        sink.begin(self.id.as_deref());
    }

    fn open(
        &mut self,
        index: u64,
        begin: ContentBlock<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Error> {
        let owned = |text: Option<JsonStr<'_>>| text.unwrap_or_default().0.into_owned();
        let block = match begin.kind.as_ref() {
            "text" => {
                let text = owned(begin.text);
                if !text.is_empty() {
                    sink.text(&text);
                }
                Block::Text(text)
            }
            "thinking" => {
                let thinking = owned(begin.thinking);
                if !thinking.is_empty() {
                    sink.reasoning(&thinking);
                }
                Block::Thinking(Thinking {
                    thinking,
                    signature: owned(begin.signature),
                    origin: Some(self.origin.clone()),
                })
            }
            "redacted_thinking" => Block::Redacted(owned(begin.data)),
            "tool_use" => {
                check_call_count(self.calls)?;
                self.calls += 1;
                Block::Tool {
                    id: begin.id.map_or(String::new(), |id| id.0.into_owned()),
                    name: owned(begin.name),
                    json: String::new(),
                    input: begin.input,
                }
            }
            _ => Block::Other,
        };
        self.blocks.push((index, block));
        Ok(())
    }

    fn grow(&mut self, index: u64, delta: &Delta<'_>, sink: &mut dyn DeltaSink) {
        let mut newest_first = self.blocks.iter_mut().rev();
        let Some((_, block)) = newest_first.find(|(at, _)| *at == index) else {
            return;
        };
        match block {
            Block::Text(text) => {
                if let Some(JsonStr(more)) = &delta.text
                    && !more.is_empty()
                {
                    sink.text(more);
                    text.push_str(more);
                }
            }
            Block::Thinking(block) => {
                if let Some(JsonStr(more)) = &delta.thinking
                    && !more.is_empty()
                {
                    sink.reasoning(more);
                    block.thinking.push_str(more);
                }
                if let Some(JsonStr(more)) = &delta.signature {
                    block.signature.push_str(more);
                }
            }
            Block::Tool { json, .. } => {
                if let Some(JsonStr(more)) = &delta.partial_json {
                    json.push_str(more);
                }
            }
            Block::Redacted(_) | Block::Other => {}
        }
    }

    fn finish(self) -> Result<Completion, Error> {
        // Some servers with this protocol omit the last event.
        let Some(stop) = self.stop.or(self.complete.then_some(StopReason::Complete)) else {
            return Err(Error::new(
                ErrorClass::Transport,
                "the connection ended in mid-answer",
            ));
        };
        let content = self
            .blocks
            .into_iter()
            .filter_map(|(_, block)| match block {
                Block::Text(text) if !text.is_empty() => Some(Content::text(text)),
                Block::Thinking(block) => Some(Content::Thinking(block)),
                Block::Redacted(data) => Some(Content::RedactedThinking(RedactedThinking {
                    data,
                    origin: Some(self.origin.clone()),
                })),
                Block::Tool {
                    id,
                    name,
                    json,
                    input,
                } => {
                    let name = self.names.decode(name);
                    let arguments = match (json.is_empty(), input) {
                        (true, Some(input)) => arguments_text(&input).into_owned(),
                        _ => json,
                    };
                    Some(Content::ToolRequest(tool_request(
                        Some(id),
                        name,
                        arguments,
                    )))
                }
                Block::Text(_) | Block::Other => None,
            });
        Ok(Completion {
            id: self.id,
            content: content.collect(),
            usage: self.usage.usage(),
            stop,
        })
    }
}

/// Whether this is an event of an unknown kind, whose fields may have any type.
fn is_unknown(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let known = |kind: &str| {
        kind == "error" || kind.starts_with("message_") || kind.starts_with("content_block_")
    };
    crate::json::from_slice::<Kind<'_>>(data).is_ok_and(|event| !known(&event.kind))
}

/// The error of an event that cannot be read: the server's own if it is nothing but that.
fn bare_error(data: &[u8], error: &serde_json::Error) -> Error {
    match crate::json::from_slice::<Value>(data) {
        Ok(event) if event["message"].is_string() => classify_error::stream_error(&event),
        _ => {
            let words = printable(&String::from_utf8_lossy(data), 200);
            nonsense(&format!("an event cannot be read: {error}: {words}"))
        }
    }
}

fn nonsense(what: &str) -> Error {
    Error::protocol(format!("no stream of a message: {what}"))
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "max_tokens" | CONTEXT_FULL => StopReason::Length,
        "refusal" => StopReason::Filtered,
        _ => StopReason::Complete,
    }
}
