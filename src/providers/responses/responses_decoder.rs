//! Decodes a response: a stream of events, or one object from a server that does not stream.
//!
//! A stream is complete with the event that has the final response. Its output counts only for what the events
//! before it left out: servers differ in the events that they send.

use super::reasoning_signature::ReasoningSignature;
use super::responses_json::{
    EventKind, ItemEvent, OutputItem, PartEvent, Response, ResponseEvent, texts,
};
use crate::conversation::{Content, Reasoning, Thinking};
use crate::lenient_json::arguments_text;
use crate::model_output::tool_request;
use crate::response_body::{Part, ResponseBody};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason, Usage, classify_error};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most bytes of one event. The final one has the complete response, with the tools of the request.
const MAX_EVENT: usize = 32 << 20;
/// The most items of one response: the turn makes all calls, and an event is compared with all items.
pub(super) const MAX_ITEMS: usize = 1_000;

/// Decodes one response.
pub(crate) struct ResponsesDecoder {
    body: ResponseBody,
    accumulator: Accumulator,
}

impl ResponsesDecoder {
    /// `origin` is that of the reasoning in the response.
    pub(crate) fn new(names: ToolNames, origin: String) -> Self {
        ResponsesDecoder {
            body: ResponseBody::new(b"{", MAX_EVENT),
            accumulator: Accumulator {
                names,
                origin,
                ..Accumulator::default()
            },
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        let accumulator = &mut self.accumulator;
        self.body.push(piece, &mut |part| match part {
            Part::Text(response) => accumulator.whole(response, sink),
            Part::Event(_) if accumulator.complete => Ok(()),
            Part::Event(data) => accumulator.event(data, sink),
        })?;
        Ok(accumulator.complete)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        self.accumulator.finish()
    }
}

/// The response so far.
#[derive(Default)]
struct Accumulator {
    names: ToolNames,
    origin: String,
    begun: bool,
    id: Option<String>,
    items: Vec<Item>,
    usage: Usage,
    stop: StopReason,
    complete: bool,
}

/// An item of the output, which may still grow.
struct Item {
    kind: ItemKind,
    /// Its number in events.
    index: Option<u64>,
    id: String,
    /// The text of a message, or the reasoning in plain text.
    text: PartedText,
    encrypted_content: String,
    call_id: String,
    name: String,
    arguments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Message,
    Reasoning,
    Call,
}

/// A text whose parts come one after the other.
#[derive(Default)]
struct PartedText {
    text: String,
    /// The number of the part after the last one.
    next: u64,
}

/// A change of an item's text: more of a part, or the complete part.
#[derive(Clone, Copy)]
enum TextChange<'a> {
    More(&'a str),
    Complete(&'a str),
}

impl ItemKind {
    fn named(name: &str) -> Option<Self> {
        match name {
            "message" => Some(ItemKind::Message),
            "reasoning" => Some(ItemKind::Reasoning),
            "function_call" => Some(ItemKind::Call),
            // Calls of tools that the provider itself runs, which gosling never offers.
            _ => None,
        }
    }
}

impl Accumulator {
    fn event(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        if data == b"[DONE]" {
            return Ok(());
        }
        let data = crate::json::sanitize_bytes(data);
        let EventKind { kind, error } = read(&data)?;
        let kind = match (&kind, error) {
            (Some(kind), _) => &*kind.0,
            (None, Some(_)) => "error",
            (None, None) => return Ok(()),
        };
        match kind {
            "response.created" | "response.in_progress" => {
                let event: ResponseEvent<'_> = read(&data)?;
                self.begin(Some(&event.response), sink);
                Ok(())
            }
            "response.output_item.added" => {
                let event: ItemEvent<'_> = read(&data)?;
                if let Some(kind) = ItemKind::named(&event.item.kind) {
                    self.open(kind, event.output_index)?;
                }
                self.fill(event.output_index, event.item, sink)
            }
            "response.output_item.done" => {
                let event: ItemEvent<'_> = read(&data)?;
                self.fill(event.output_index, event.item, sink)
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let event: ResponseEvent<'_> = read(&data)?;
                self.end(kind, event.response, sink)
            }
            "error" => Err(stream_error(&data)),
            kind => match part_kind(kind) {
                Some(item) => self.part(item, read(&data)?, sink),
                None => Ok(()),
            },
        }
    }

    fn whole(&mut self, data: &[u8], sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let data = crate::json::sanitize_bytes(data);
        let response: Response<'_> = read(&data)?;
        let says_nothing = response.output.is_none() && response.status.is_none();
        if says_nothing && is_null(response.error) {
            return Err(nonsense(&data, "it has no output"));
        }
        self.begin(Some(&response), sink);
        self.end("", response, sink)
    }

    fn begin(&mut self, response: Option<&Response<'_>>, sink: &mut dyn DeltaSink) {
        if self.begun {
            return;
        }
        self.begun = true;
        let id = response.and_then(|response| response.id.as_ref());
        let id = id.map(|id| &*id.0).filter(|id| !id.is_empty());
        self.id = id.map(str::to_owned);
        sink.begin(id);
    }

    /// Takes a part of an item: more of it, or all of it.
    fn part(
        &mut self,
        kind: ItemKind,
        event: PartEvent<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Error> {
        self.begin(None, sink);
        let id = event.item_id.unwrap_or_default().0;
        let at = self.item(kind, event.output_index, &id)?;
        let part = event.summary_index.or(event.content_index).unwrap_or(0);
        let item = &mut self.items[at];
        if kind == ItemKind::Call {
            if let Some(all) = event.arguments {
                item.set_arguments(all);
            } else if let Some(more) = event.delta {
                item.arguments.push_str(&more.0);
            }
            return Ok(());
        }
        if let Some(more) = event.delta {
            item.add_text(part, TextChange::More(&more.0), sink);
        } else if let Some(all) = event.text.or(event.refusal) {
            item.add_text(part, TextChange::Complete(&all.0), sink);
        }
        Ok(())
    }

    /// The position of an item; a new one if no event has named it. Some servers send the number alone
    /// correctly, some the id.
    fn item(&mut self, kind: ItemKind, index: Option<u64>, id: &str) -> Result<usize, Error> {
        let last = |fits: &dyn Fn(&Item) -> bool| {
            (self.items.iter()).rposition(|item| item.kind == kind && fits(item))
        };
        let known = last(&|item| item.index == index)
            .or_else(|| last(&|item| !id.is_empty() && item.id == id));
        match known {
            Some(at) => Ok(at),
            None => self.open(kind, index),
        }
    }

    fn open(&mut self, kind: ItemKind, index: Option<u64>) -> Result<usize, Error> {
        if self.items.len() >= MAX_ITEMS {
            let what = format!("more than {MAX_ITEMS} items in one answer");
            return Err(Error::protocol(what));
        }
        self.items.push(Item::new(kind, index));
        Ok(self.items.len() - 1)
    }

    /// Takes from an item what has not come yet.
    fn fill(
        &mut self,
        index: Option<u64>,
        item: OutputItem<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Error> {
        let Some(kind) = ItemKind::named(&item.kind) else {
            return Ok(());
        };
        self.begin(None, sink);
        let id = item.id.as_ref().map_or("", |id| &*id.0);
        let at = self.item(kind, index, id)?;
        self.items[at].fill(item, sink);
        Ok(())
    }

    /// Takes the final response.
    fn end(
        &mut self,
        kind: &str,
        response: Response<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Error> {
        let status = response.status.as_ref().map_or("", |status| &*status.0);
        if kind == "response.failed" || status == "failed" || !is_null(response.error) {
            return Err(failure(response.error));
        }
        self.begin(Some(&response), sink);
        self.usage = response.usage().unwrap_or_default();
        let is_missing = self.items.iter().all(Item::is_empty);
        if is_missing {
            self.items.clear();
        }
        for (index, item) in (0..).zip(response.items()) {
            let id = item.id.as_ref().map_or("", |id| &*id.0);
            let is_known = || self.items.iter().any(|it| !id.is_empty() && it.id == id);
            if is_missing || is_known() {
                self.fill(Some(index), item, sink)?;
            }
        }
        self.stop = match response.incomplete_reason().as_deref() {
            Some("content_filter") => StopReason::Filtered,
            Some(_) => StopReason::Length,
            None if kind == "response.incomplete" => StopReason::Length,
            None => StopReason::Complete,
        };
        self.complete = true;
        Ok(())
    }

    fn finish(self) -> Result<Completion, Error> {
        if !self.complete {
            let what = if self.begun {
                "the connection ended in mid-answer"
            } else {
                "the connection ended without an answer"
            };
            return Err(Error::new(ErrorClass::Transport, what));
        }
        let Accumulator { names, origin, .. } = self;
        let content = (self.items.into_iter()).filter_map(|item| item.content(&names, &origin));
        Ok(Completion {
            id: self.id,
            content: content.collect(),
            usage: self.usage,
            stop: self.stop,
        })
    }
}

impl Item {
    fn new(kind: ItemKind, index: Option<u64>) -> Self {
        Item {
            kind,
            index,
            id: String::new(),
            text: PartedText::default(),
            encrypted_content: String::new(),
            call_id: String::new(),
            name: String::new(),
            arguments: String::new(),
        }
    }

    fn is_empty(&self) -> bool {
        let texts = [&self.text.text, &self.encrypted_content, &self.name];
        texts.iter().all(|text| text.is_empty())
    }

    fn set_arguments(&mut self, all: &RawValue) {
        let all = arguments_text(all);
        if !all.is_empty() {
            self.arguments = all.into_owned();
        }
    }

    fn add_text(&mut self, part: u64, change: TextChange<'_>, sink: &mut dyn DeltaSink) {
        match self.kind {
            ItemKind::Reasoning => (self.text).add(part, change, &mut |text| sink.reasoning(text)),
            _ => (self.text).add(part, change, &mut |text| sink.text(text)),
        }
    }

    /// Takes from the complete item what has not come yet.
    fn fill(&mut self, item: OutputItem<'_>, sink: &mut dyn DeltaSink) {
        let set = |place: &mut String, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                value.clone_into(place);
            }
        };
        set(&mut self.id, item.id.as_ref().map(|id| &*id.0));
        set(&mut self.call_id, item.call_id.as_ref().map(|id| &*id.0));
        set(&mut self.name, item.name.as_ref().map(|name| &*name.0));
        let encrypted = item.encrypted_content.as_ref();
        set(&mut self.encrypted_content, encrypted.map(|it| &*it.0));
        if let Some(all) = item.arguments {
            self.set_arguments(all);
        }
        // The plain text of reasoning that has no summary is its content.
        for parts in [item.summary, item.content] {
            if !self.text.text.is_empty() {
                return;
            }
            for (part, text) in (0..).zip(texts(parts)) {
                self.add_text(part, TextChange::Complete(&text), sink);
            }
        }
    }

    fn content(self, names: &ToolNames, origin: &str) -> Option<Content> {
        let text = self.text.text;
        match self.kind {
            ItemKind::Message => (!text.is_empty()).then(|| Content::text(text)),
            ItemKind::Reasoning => {
                let signature = ReasoningSignature {
                    id: self.id.into(),
                    encrypted_content: self.encrypted_content.into(),
                };
                match signature.to_text() {
                    Some(signature) => Some(Content::Thinking(Thinking {
                        thinking: text,
                        signature,
                        origin: Some(origin.to_owned()),
                    })),
                    None => (!text.is_empty()).then_some(Content::Reasoning(Reasoning { text })),
                }
            }
            ItemKind::Call => {
                let id = Some(self.call_id).filter(|id| !id.is_empty());
                let name = names.decode(self.name);
                let request = tool_request(id.or(Some(self.id)), name, self.arguments);
                Some(Content::ToolRequest(request))
            }
        }
    }
}

impl PartedText {
    /// Adds text of a part and passes it to `take`. A complete part counts only if nothing of it has come.
    fn add(&mut self, part: u64, change: TextChange<'_>, take: &mut dyn FnMut(&str)) {
        let is_new = part >= self.next;
        let text = match change {
            TextChange::More(text) => text,
            TextChange::Complete(text) if is_new => text,
            TextChange::Complete(_) => return,
        };
        if text.is_empty() {
            return;
        }
        if is_new {
            self.next = part.saturating_add(1);
            if !self.text.is_empty() {
                self.text.push_str(SEPARATOR);
                take(SEPARATOR);
            }
        }
        self.text.push_str(text);
        take(text);
    }
}

/// What stands between two parts of a text.
const SEPARATOR: &str = "\n\n";

/// The kind of the item that an event of this kind has a part of; `None` if the event is unknown.
fn part_kind(event: &str) -> Option<ItemKind> {
    let name = event.strip_prefix("response.")?;
    let name = (name.strip_suffix(".delta")).or_else(|| name.strip_suffix(".done"))?;
    match name {
        "output_text" | "refusal" => Some(ItemKind::Message),
        "reasoning_summary_text" | "reasoning_text" => Some(ItemKind::Reasoning),
        "function_call_arguments" => Some(ItemKind::Call),
        _ => None,
    }
}

fn is_null(value: Option<&RawValue>) -> bool {
    value.is_none_or(|value| value.get() == "null")
}

/// The error of an event, in the event itself or in a field.
fn stream_error(event: &str) -> Error {
    let event: Value = crate::json::from_str(event).unwrap_or_default();
    match event.get("error") {
        Some(error) if !error.is_null() => classified(error),
        _ => classified(&event),
    }
}

/// The error of a failed response.
fn failure(error: Option<&RawValue>) -> Error {
    let error = error.and_then(|error| crate::json::from_str::<Value>(error.get()).ok());
    let error = error.filter(|error| !error.is_null());
    classified(&error.unwrap_or_else(|| json!({"message": "it does not say why"})))
}

fn classified(error: &Value) -> Error {
    let mut classified = classify_error::stream_error(&json!({"error": error}));
    let code = error.get("code").and_then(Value::as_str);
    // Codes of this protocol alone: a retry of an invalid prompt or image cannot succeed.
    let is_refusal = |code: &str| code.starts_with("invalid_") || code.contains("image");
    if classified.class == ErrorClass::Server && code.is_some_and(is_refusal) {
        classified.class = ErrorClass::Refused;
    }
    classified
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Error> {
    crate::json::from_str(data).map_err(|error| nonsense(data, &error.to_string()))
}

fn nonsense(data: &str, why: &str) -> Error {
    let text = &data[..data.floor_char_boundary(1000)];
    Error::protocol(format!("the answer is not a response ({why}): {text}"))
}
