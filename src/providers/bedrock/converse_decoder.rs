//! Decodes the events of a response of the Converse API.

use super::event_frames::{Frame, FrameSplitter};
use crate::call_limit::check_call_count;
use crate::conversation::{Content, Reasoning, RedactedThinking, Thinking};
use crate::lenient_json::JsonStr;
use crate::model_output::tool_request;
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason, Usage, classify_error};
use serde::Deserialize;

/// Decodes one response.
pub(super) struct ConverseDecoder {
    frames: FrameSplitter,
    response: Accumulator,
}

impl ConverseDecoder {
    /// `origin` is that of the reasoning in the response.
    pub(super) fn new(names: ToolNames, origin: String) -> Self {
        ConverseDecoder {
            frames: FrameSplitter::default(),
            response: Accumulator {
                names,
                origin,
                ..Accumulator::default()
            },
        }
    }
}

impl Decoder for ConverseDecoder {
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        let response = &mut self.response;
        self.frames.push(piece, &mut |frame| {
            if response.is_complete {
                return Ok(());
            }
            response.frame(&frame, sink)
        })?;
        Ok(response.is_complete)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        if self.frames.is_inside() && !self.response.is_complete {
            return Err(broken());
        }
        self.response.finish()
    }
}

/// Any event: one struct has the fields of all kinds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(default)]
    content_block_index: u64,
    #[serde(borrow)]
    start: Option<Start<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    stop_reason: Option<JsonStr<'a>>,
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start<'a> {
    #[serde(borrow)]
    tool_use: Option<ToolStart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart<'a> {
    #[serde(borrow)]
    tool_use_id: Option<JsonStr<'a>>,
    #[serde(borrow)]
    name: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    #[serde(borrow)]
    tool_use: Option<ToolDelta<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<ReasoningDelta<'a>>,
}

#[derive(Deserialize)]
struct ToolDelta<'a> {
    #[serde(borrow)]
    input: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReasoningDelta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    #[serde(borrow)]
    signature: Option<JsonStr<'a>>,
    #[serde(borrow)]
    redacted_content: Option<JsonStr<'a>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

impl RawUsage {
    fn usage(self) -> Usage {
        let cached = [self.cache_read_input_tokens, self.cache_write_input_tokens];
        let input = self.input_tokens.map(|fresh| {
            let cached = cached.into_iter().flatten();
            cached.fold(fresh, u64::saturating_add)
        });
        Usage {
            input,
            output: self.output_tokens,
            total: self.total_tokens,
            cached: self.cache_read_input_tokens,
            written: self.cache_write_input_tokens,
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
        json: String,
    },
}

/// The response so far.
#[derive(Default)]
struct Accumulator {
    names: ToolNames,
    origin: String,
    has_begun: bool,
    /// Each with its index in events, which the provider chooses.
    blocks: Vec<(u64, Block)>,
    calls: usize,
    usage: RawUsage,
    stop: Option<StopReason>,
    is_complete: bool,
}

impl Accumulator {
    fn frame(&mut self, frame: &Frame<'_>, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        match frame.header(":message-type") {
            "exception" => return Err(exception(frame)),
            "error" => {
                let (code, words) = (frame.header(":error-code"), frame.header(":error-message"));
                return Err(super::error(0, code, words));
            }
            _ => {}
        }
        let kind = frame.header(":event-type");
        if !is_known(kind) {
            return Ok(());
        }
        let data = crate::json::sanitize_bytes(frame.payload);
        let event: Event<'_> = crate::json::from_str(&data).map_err(|error| {
            Error::protocol(format!(
                "no stream of events: {kind} cannot be read: {error}"
            ))
        })?;
        match kind {
            "messageStart" => self.begin(sink),
            "contentBlockStart" => {
                if let Some(tool) = event.start.and_then(|start| start.tool_use) {
                    check_call_count(self.calls)?;
                    self.calls += 1;
                    let owned = |text: Option<JsonStr<'_>>| text.unwrap_or_default().0.into_owned();
                    let block = Block::Tool {
                        id: owned(tool.tool_use_id),
                        name: owned(tool.name),
                        json: String::new(),
                    };
                    self.blocks.push((event.content_block_index, block));
                }
            }
            "contentBlockDelta" => {
                if let Some(delta) = event.delta {
                    self.begin(sink);
                    self.grow(event.content_block_index, delta, sink);
                }
            }
            "messageStop" => {
                let JsonStr(reason) = event.stop_reason.unwrap_or_default();
                self.stop = Some(stop(&reason)?);
            }
            // The last event.
            _ => {
                self.usage = event.usage.unwrap_or_default();
                self.is_complete = self.stop.is_some();
            }
        }
        Ok(())
    }

    fn begin(&mut self, sink: &mut dyn DeltaSink) {
        if !std::mem::replace(&mut self.has_begun, true) {
            sink.begin(None);
        }
    }

    fn grow(&mut self, index: u64, delta: Delta<'_>, sink: &mut dyn DeltaSink) {
        if let Some(JsonStr(more)) = delta.text
            && !more.is_empty()
        {
            sink.text(&more);
            match self.block(index) {
                Some(Block::Text(text)) => text.push_str(&more),
                _ => self.open(index, Block::Text(more.into_owned())),
            }
        }
        if let Some(JsonStr(more)) = delta.tool_use.and_then(|tool| tool.input)
            && let Some(Block::Tool { json, .. }) = self.block(index)
        {
            json.push_str(&more);
        }
        let Some(reasoning) = delta.reasoning_content else {
            return;
        };
        let more = reasoning.text.unwrap_or_default().0;
        let signature = reasoning.signature.unwrap_or_default().0;
        if !more.is_empty() {
            sink.reasoning(&more);
        }
        if !more.is_empty() || !signature.is_empty() {
            match self.block(index) {
                Some(Block::Thinking(all)) => {
                    all.thinking.push_str(&more);
                    all.signature.push_str(&signature);
                }
                _ => {
                    let thinking = Thinking {
                        thinking: more.into_owned(),
                        signature: signature.into_owned(),
                        origin: Some(self.origin.clone()),
                    };
                    self.open(index, Block::Thinking(thinking));
                }
            }
        }
        if let Some(JsonStr(more)) = reasoning.redacted_content
            && !more.is_empty()
        {
            match self.block(index) {
                Some(Block::Redacted(data)) => data.push_str(&more),
                _ => self.open(index, Block::Redacted(more.into_owned())),
            }
        }
    }

    /// The newest block of this index.
    fn block(&mut self, index: u64) -> Option<&mut Block> {
        let mut newest_first = self.blocks.iter_mut().rev();
        let found = newest_first.find(|(at, _)| *at == index);
        found.map(|(_, block)| block)
    }

    fn open(&mut self, index: u64, block: Block) {
        self.blocks.push((index, block));
    }

    fn finish(self) -> Result<Completion, Error> {
        let stop = self.stop.ok_or_else(broken)?;
        let (names, origin) = (self.names, self.origin);
        let content = self.blocks.into_iter().map(|(_, block)| match block {
            Block::Text(text) => Content::text(text),
            Block::Thinking(thinking) if thinking.signature.is_empty() => {
                Content::Reasoning(Reasoning {
                    text: thinking.thinking,
                })
            }
            Block::Thinking(thinking) => Content::Thinking(thinking),
            Block::Redacted(data) => Content::RedactedThinking(RedactedThinking {
                data,
                origin: Some(origin.clone()),
            }),
            Block::Tool { id, name, json } => {
                Content::ToolRequest(tool_request(Some(id), names.decode(name), json))
            }
        });
        Ok(Completion {
            id: None,
            content: content.collect(),
            usage: self.usage.usage(),
            stop,
        })
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "messageStart" | "contentBlockStart" | "contentBlockDelta" | "messageStop" | "metadata"
    )
}

/// The error that the service reports in the stream.
fn exception(frame: &Frame<'_>) -> Error {
    let kind = frame.header(":exception-type");
    let (_, words) = classify_error::classify_body(0, frame.payload);
    super::error(0, kind, &words)
}

fn stop(reason: &str) -> Result<StopReason, Error> {
    Ok(match reason {
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "guardrail_intervened" | "content_filtered" => StopReason::Filtered,
        // A retry of the same request usually succeeds.
        "malformed_model_output" | "malformed_tool_use" => {
            let message = format!("the model wrote something that cannot be read ({reason})");
            return Err(Error::new(ErrorClass::Server, message));
        }
        _ => StopReason::Complete,
    })
}

fn broken() -> Error {
    Error::new(ErrorClass::Transport, "the connection ended in mid-answer")
}
