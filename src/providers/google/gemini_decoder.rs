//! Decodes a response of the Gemini API.

use super::{ApiError, TextSignature};
use crate::call_limit::check_call_count;
use crate::conversation::{Content, Image};
use crate::json_splitter::JsonSplitter;
use crate::lenient_json::{JsonId, JsonStr, arguments_text, token_count};
use crate::model_output::{add_metadata, tool_request};
use crate::response_body::{self, ResponseBody};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason, Usage};
use gosling_core::mcp::jsonrpc::RawJson;
use serde::Deserialize;
use serde_json::Map;
use std::borrow::Cow;

/// The most bytes of one event, which may contain an image.
const MAX_EVENT: usize = 64 << 20;

/// Decodes one response.
pub(super) struct GeminiDecoder {
    body: ResponseBody,
    response: Accumulator,
}

impl GeminiDecoder {
    /// A decoder of a response of `origin` to a request with these tools.
    pub(super) fn new(names: ToolNames, origin: String) -> Self {
        GeminiDecoder {
            body: ResponseBody::new(b"{[", MAX_EVENT),
            response: Accumulator {
                names,
                origin,
                ..Accumulator::default()
            },
        }
    }
}

impl Decoder for GeminiDecoder {
    /// Never reports that the response is complete: depending on the model, Gemini sends a stop reason with
    /// every event or with the last, and then closes the stream.
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        let response = &mut self.response;
        self.body.push(piece, &mut |part| match part {
            response_body::Part::Event(data) => response.event(data, sink),
            response_body::Part::Text(data) => response.text(data, sink),
        })?;
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        self.response.finish()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
    #[serde(borrow)]
    prompt_feedback: Option<Feedback<'a>>,
    usage_metadata: Option<RawUsage>,
    #[serde(borrow)]
    response_id: Option<JsonStr<'a>>,
    #[serde(borrow)]
    error: Option<ApiError<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    content: Option<Parts<'a>>,
    #[serde(borrow)]
    finish_reason: Option<JsonStr<'a>>,
    #[serde(borrow)]
    finish_message: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    thought_signature: Option<JsonStr<'a>>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
    #[serde(borrow)]
    inline_data: Option<Blob<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<JsonId<'a>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    args: Option<RawJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    #[serde(borrow)]
    mime_type: Cow<'a, str>,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Option<JsonStr<'a>>,
    #[serde(borrow)]
    block_reason_message: Option<JsonStr<'a>>,
}

/// Token counts. Each is cumulative.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct RawUsage {
    #[serde(default, deserialize_with = "token_count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    thoughts_token_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    total_token_count: Option<u64>,
}

impl RawUsage {
    fn usage(self) -> Usage {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            _ => one.or(other),
        };
        Usage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            total: self.total_token_count,
            cached: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
            ..Usage::default()
        }
    }
}

/// The response so far.
#[derive(Default)]
struct Accumulator {
    names: ToolNames,
    /// A hash of the endpoint and the model.
    origin: String,
    begun: bool,
    calls: usize,
    /// As far as a stop reason came.
    stop: Option<StopReason>,
    completion: Completion,
}

impl Accumulator {
    /// Takes a body that is not an event stream: one event, or the list of all.
    fn text(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let Some(mut rest) = data.strip_prefix(b"[") else {
            return self.event(data, sink);
        };
        let mut events = JsonSplitter::default();
        loop {
            let is_between = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
            let between = rest.iter().take_while(|byte| is_between(byte)).count();
            rest = &rest[between..];
            if rest.starts_with(b"]") {
                return Ok(());
            }
            let Some((event, after)) = events.push(rest) else {
                return Err(nonsense("the list of events has no end"));
            };
            self.event(&event, sink)?;
            rest = after;
        }
    }

    fn event(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let data = crate::json::sanitize_bytes(data);
        let event: Event<'_> = crate::json::from_str(&data)
            .map_err(|error| nonsense(&format!("an event is not a JSON object: {error}")))?;
        if let Some(fault) = &event.error {
            return Err(Error::new(fault.class(0), fault.text()));
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.completion.id = event.response_id.map(|id| id.0.into_owned());
            sink.begin(self.completion.id.as_deref());
        }
        if let Some(usage) = event.usage_metadata {
            self.completion.usage = usage.usage();
        }
        if let Some(feedback) = event.prompt_feedback
            && let Some(reason) = feedback.block_reason
        {
            let more = feedback.block_reason_message.unwrap_or_default().0;
            let text = if more.is_empty() {
                format!("the request was blocked: {}", reason.0)
            } else {
                format!("the request was blocked: {} ({more})", reason.0)
            };
            return Err(Error::new(ErrorClass::Refused, text));
        }
        for candidate in event.candidates {
            if candidate.index == 0 {
                self.candidate(candidate, sink)?;
            }
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Error> {
        for part in candidate
            .content
            .map_or(Vec::new(), |content| content.parts)
        {
            self.part(part, sink)?;
        }
        let Some(JsonStr(reason)) = candidate.finish_reason else {
            return Ok(());
        };
        self.stop = Some(match reason.as_ref() {
            "STOP" | "FINISH_REASON_UNSPECIFIED" => StopReason::Complete,
            "MAX_TOKENS" => StopReason::Length,
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE" => {
                let detail = candidate.finish_message.unwrap_or_default().0;
                let detail = if detail.is_empty() {
                    String::new()
                } else {
                    format!(": {}", clipped(&detail))
                };
                // A retry of the same request usually succeeds.
                return Err(Error::new(
                    ErrorClass::Server,
                    format!("the model made a call that cannot be read ({reason}){detail}"),
                ));
            }
            _ => StopReason::Filtered,
        });
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let text = part.text.unwrap_or_default().0;
        if part.thought {
            self.completion.add_reasoning(&text, sink);
        } else {
            self.completion.add_text(&text, sink);
            let is_text = part.function_call.is_none() && part.inline_data.is_none();
            let signature = part.thought_signature.as_ref();
            let signature = signature.filter(|it| is_text && !it.0.is_empty());
            self.sign_text(signature, text.is_empty());
        }
        if let Some(call) = part.function_call {
            check_call_count(self.calls)?;
            self.calls += 1;
            self.call(call, part.thought_signature);
        }
        if let Some(blob) = part.inline_data {
            self.completion.content.push(Content::Image(Image {
                data: blob.data.into_owned(),
                mime_type: blob.mime_type.into_owned(),
                ..Image::default()
            }));
        }
        Ok(())
    }

    /// Keeps the signature of the text so far, which may follow it in an empty part. Text that goes on after its
    /// signature has none.
    fn sign_text(&mut self, signature: Option<&JsonStr<'_>>, is_empty: bool) {
        let Some(Content::Text(last)) = self.completion.content.last_mut() else {
            return;
        };
        if let Some(signature) = signature {
            let kept = TextSignature {
                thought_signature: signature.0.as_ref().into(),
                origin: self.origin.as_str().into(),
            };
            last.meta = serde_json::value::to_raw_value(&kept).ok();
        } else if !is_empty {
            last.meta = None;
        }
    }

    fn call(&mut self, call: Call<'_>, signature: Option<JsonStr<'_>>) {
        let name = self.names.decode(call.name.into_owned());
        let arguments = call
            .args
            .map_or(String::new(), |args| arguments_text(&args).into_owned());
        let mut kept = Map::new();
        if let Some(signature) = signature {
            kept.insert(super::SIGNATURE.into(), signature.0.into());
        }
        let id = call.id.map(|id| id.0.into_owned());
        if let Some(id) = id.as_deref().filter(|id| !id.is_empty()) {
            kept.insert(super::CALL_ID.into(), id.into());
        }
        let mut request = tool_request(id, name, arguments);
        add_metadata(&mut request, kept);
        let request = Content::ToolRequest(request);
        self.completion.content.push(request);
    }

    fn finish(self) -> Result<Completion, Error> {
        let Some(stop) = self.stop else {
            return Err(Error::new(
                ErrorClass::Transport,
                "the connection ended in mid-answer",
            ));
        };
        Ok(Completion {
            stop,
            ..self.completion
        })
    }
}

fn nonsense(what: &str) -> Error {
    Error::protocol(format!("no stream of an answer: {what}"))
}

fn clipped(text: &str) -> String {
    text.chars().take(300).collect()
}
