//! Decodes a response: an event stream of chunks, or one object from a server that does not stream.
//!
//! A stream is complete with `[DONE]`, or with a `finish_reason`, after which some servers send no `[DONE]`. A
//! stream that ends with neither was cut off: to accept a partial response, perhaps with half a tool call,
//! does more harm than a retry.

use super::chat_json::{self, Choice, Chunk, Delta, TextOrParts, TokenCounts, ToolCallDelta};
use super::provider_fields::{CallFields, ReasoningDetails};
use crate::call_limit::check_call_count;
use crate::classify_error;
use crate::conversation::{Content, Image, ToolRequest};
use crate::lenient_json::arguments_text;
use crate::model_output::tool_request;
use crate::response_body::{Part, ResponseBody};
use crate::too_long::{CONTEXT_FULL, context_is_full};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most bytes of one event, which may contain an image.
const MAX_EVENT: usize = 32 << 20;

pub(super) struct ChatDecoder {
    body: ResponseBody,
    accumulator: Accumulator,
}

/// The response so far.
#[derive(Default)]
struct Accumulator {
    names: ToolNames,
    /// The hash of the endpoint and the model, to which the provider's own fields belong.
    origin: String,
    begun: bool,
    details: ReasoningDetails,
    /// Its tool requests are empty until the end.
    completion: Completion,
    calls: Vec<Call>,
    /// A `finish_reason` came.
    finished: bool,
    /// `[DONE]` came, or the complete object.
    done: bool,
}

#[derive(Default)]
struct Call {
    index: Option<i64>,
    id: String,
    name: String,
    arguments: String,
    fields: CallFields,
}

impl ChatDecoder {
    pub(super) fn new(names: ToolNames, origin: String) -> Self {
        ChatDecoder {
            body: ResponseBody::new(b"{[", MAX_EVENT),
            accumulator: Accumulator {
                names,
                origin,
                ..Accumulator::default()
            },
        }
    }
}

impl Decoder for ChatDecoder {
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        let accumulator = &mut self.accumulator;
        self.body.push(piece, &mut |part| match part {
            Part::Text(object) => {
                accumulator.message(object, sink)?;
                accumulator.done = true;
                Ok(())
            }
            Part::Event(_) if accumulator.done => Ok(()),
            Part::Event(data) => accumulator.event(data, sink),
        })?;
        Ok(accumulator.done)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        let accumulator = self.accumulator;
        if !(accumulator.done || accumulator.finished) {
            let what = if accumulator.begun {
                "the connection ended in the middle of the answer"
            } else {
                "the connection ended without an answer"
            };
            return Err(Error::new(ErrorClass::Transport, what));
        }
        let mut details = accumulator.details;
        let mut calls = accumulator.calls.into_iter();
        let mut completion = accumulator.completion;
        for part in &mut completion.content {
            if let Content::ToolRequest(request) = part
                && let Some(call) = calls.next()
            {
                let name = accumulator.names.decode(call.name);
                *request = tool_request(Some(call.id), name, call.arguments);
                let details = std::mem::take(&mut details);
                (call.fields).store(request, details, &accumulator.origin);
            }
        }
        Ok(completion)
    }
}

impl Accumulator {
    fn event(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        if data == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        self.message(data, sink)
    }

    fn message(&mut self, json: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        // Some servers also split a character between two chunks.
        let json = crate::json::sanitize_bytes(json);
        let json = json.as_bytes();
        let chunk: Chunk<'_> = crate::json::from_slice(json).map_err(|e| not_a_chunk(json, &e))?;
        if let Some(error) = chunk.error {
            return Err(reported_error(error));
        }
        let is_error = chunk.object.is_some_and(|object| object.0 == "error");
        if is_error || (chunk.choices.is_none() && chunk.message.is_some()) {
            let error: Value = crate::json::from_slice(json).unwrap_or_default();
            return Err(classify_error::stream_error(&error));
        }
        if !self.begun {
            self.begun = true;
            self.completion.id = chunk
                .id
                .filter(|id| !id.0.is_empty())
                .map(|id| id.0.into_owned());
            sink.begin(self.completion.id.as_deref());
        }
        self.count(chunk.usage);
        let choices = chunk.choices.map_or(Vec::new(), |choices| choices.0);
        let mut choices = choices.into_iter();
        if let Some(choice) = choices.next() {
            self.choice(choice, sink)?;
        }
        // One answer was asked for. Some servers put the calls of it into a second one.
        let others = choices.filter_map(|choice| choice.delta.or(choice.message));
        for piece in others.flat_map(|other| other.tool_calls).flatten() {
            self.call(piece)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        if let Some(error) = choice.error {
            return Err(reported_error(error));
        }
        self.count(choice.usage);
        let is_chunk = choice.delta.is_some();
        if let Some(mut delta) = choice.delta.or(choice.message) {
            if let Some(details) = delta.reasoning_details.take() {
                self.details.take(details, is_chunk);
            }
            self.delta(delta, sink)?;
        }
        let reason = choice.finish_reason.unwrap_or_default().0;
        let native = choice.native_finish_reason.unwrap_or_default().0;
        if is_failure(&reason) || is_failure(&native) {
            let reason = if native.is_empty() { reason } else { native };
            let what = format!("the answer ended with an error ({reason})");
            return Err(Error::new(ErrorClass::Server, what));
        }
        if !reason.is_empty() {
            self.finished = true;
            self.completion.stop = self.stop_reason(&reason)?;
        }
        Ok(())
    }

    fn stop_reason(&self, reason: &str) -> Result<StopReason, Error> {
        Ok(match reason {
            "length" | "max_tokens" | "model_length" => StopReason::Length,
            CONTEXT_FULL if self.completion.content.is_empty() => return Err(context_is_full()),
            CONTEXT_FULL => StopReason::Length,
            "content_filter" | "sensitive" => StopReason::Filtered,
            _ => StopReason::Complete,
        })
    }

    fn count(&mut self, counted: Option<TokenCounts>) {
        let Some(counted) = counted else { return };
        let usage = &mut self.completion.usage;
        usage.input = counted.prompt_tokens.or(usage.input);
        usage.output = counted.completion_tokens.or(usage.output);
        usage.total = counted.total_tokens.or(usage.total);
        usage.cached = counted.cached.or(usage.cached);
    }

    fn delta(&mut self, delta: Delta<'_>, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        match (delta.reasoning_content, delta.reasoning) {
            (Some(thought), _) => self.completion.add_reasoning(&thought.0, sink),
            (None, Some(thought)) => self.thoughts(thought, sink),
            (None, None) => {}
        }
        match delta.content {
            Some(TextOrParts::Text(text)) => self.completion.add_text(&text, sink),
            Some(TextOrParts::Parts(parts)) => {
                for part in parts {
                    self.part(part, sink);
                }
            }
            None => {}
        }
        if let Some(refusal) = delta.refusal {
            self.completion.add_text(&refusal.0, sink);
        }
        for image in delta.images.into_iter().flatten() {
            self.part(image, sink);
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            self.call(piece)?;
        }
        Ok(())
    }

    fn part(&mut self, part: chat_json::Part<'_>, sink: &mut dyn DeltaSink) {
        if let Some(thought) = part.thinking {
            self.thoughts(thought, sink);
        }
        if let Some(text) = part.text {
            self.completion.add_text(&text.0, sink);
        }
        if let Some(image) = part.image_url.and_then(|url| image(&url.url.0)) {
            self.completion.content.push(Content::Image(image));
        }
    }

    fn thoughts(&mut self, thought: TextOrParts<'_>, sink: &mut dyn DeltaSink) {
        match thought {
            TextOrParts::Text(text) => self.completion.add_reasoning(&text, sink),
            TextOrParts::Parts(parts) => {
                for text in parts.into_iter().filter_map(|part| part.text) {
                    self.completion.add_reasoning(&text.0, sink);
                }
            }
        }
    }

    fn call(&mut self, piece: ToolCallDelta<'_>) -> Result<(), Error> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.map(|id| id.0).filter(|id| !id.is_empty());
        let name = function.name.map(|name| name.0).filter(|n| !n.is_empty());
        let at = match self.continued_call(piece.index, id.as_deref(), name.as_deref()) {
            Some(at) => at,
            None => {
                check_call_count(self.calls.len())?;
                let request = Content::ToolRequest(ToolRequest::default());
                self.completion.content.push(request);
                self.calls.push(Call {
                    index: piece.index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        (call.fields).take(piece.extra_content, piece.provider_specific_fields);
        if let Some(id) = id
            && call.id.is_empty()
        {
            call.id = id.into_owned();
        }
        if let Some(name) = name
            && call.name != name
        {
            call.name.push_str(&name);
        }
        if let Some(arguments) = function.arguments {
            call.arguments.push_str(&arguments_text(arguments));
        }
        Ok(())
    }

    /// The position of the call that a delta with these fields continues. Providers differ: some omit the
    /// index, some give all calls the same index, some repeat the id or the name in every delta, and some
    /// send a new id with every delta of a call.
    fn continued_call(
        &self,
        index: Option<i64>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Option<usize> {
        let last = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        match (index, id) {
            (Some(_), _) => last(&|call| call.index == index).filter(|&at| {
                let call = &self.calls[at];
                match id {
                    Some(id) if call.id.is_empty() || call.id == id => true,
                    Some(_) => name.is_none(),
                    None => !call.is_complete_before(name),
                }
            }),
            (None, Some(id)) => {
                last(&|call| call.id == id).filter(|&at| !self.calls[at].is_complete_before(name))
            }
            (None, None) => match name {
                Some(_) => None,
                None => self.calls.len().checked_sub(1),
            },
        }
    }
}

impl Call {
    /// Whether a delta with this name begins another call, although nothing else tells them apart.
    fn is_complete_before(&self, name: Option<&str>) -> bool {
        let complete = || crate::json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        name.is_some_and(|name| !self.arguments.is_empty() && (name != self.name || complete()))
    }
}

/// The image in a base64 `data:` URL. Other URLs cannot be stored with the conversation.
fn image(url: &str) -> Option<Image> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = head.strip_suffix(";base64")?;
    Some(Image {
        data: data.to_owned(),
        mime_type: mime_type.split(';').next()?.to_owned(),
        ..Image::default()
    })
}

/// Whether a reason for the end of an answer is a failure of the server.
fn is_failure(reason: &str) -> bool {
    matches!(reason, "error" | "network_error")
}

/// An error in a chunk or in a choice.
fn reported_error(error: &RawValue) -> Error {
    let error: Value = crate::json::from_str(error.get()).unwrap_or_default();
    classify_error::stream_error(&json!({"error": error}))
}

fn not_a_chunk(json: &[u8], error: &serde_json::Error) -> Error {
    let text = String::from_utf8_lossy(&json[..json.len().min(1000)]);
    let what = format!("the answer is not a chat completion ({error}): {text}");
    Error::protocol(what)
}
