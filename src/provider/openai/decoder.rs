//! Reads an answer: an event stream of chunks, or one object from those who do not stream.
//!
//! A stream is complete with `[DONE]`, or with a `finish_reason`, which some send without it. One that
//! ends with neither was cut off, however much of it came: to take half an answer for a whole one, a
//! half-written tool call included, does more harm than to ask again.

use super::provider_fields::{CallFields, Details};
use super::wire::{Chunk, Counted, Delta, First, Part, Piece, Said};
use crate::conversation::{Content, Image, Reasoning};
use crate::outbound::sse;
use crate::provider::calls::{one_more, tool_request};
use crate::provider::failure;
use crate::provider::lenient::arguments_text;
use crate::provider::names::Names;
use crate::provider::protocol::Decoder;
use crate::provider::whole::Whole;
use crate::provider::{Answer, Class, Error, Listener, Stop, Usage};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The most bytes in one event: it may carry an image.
const EVENT: usize = 32 << 20;
pub(super) struct Reader {
    form: Form,
    heard: Heard,
}

/// What the body turns out to be.
enum Form {
    Unknown,
    Events(sse::Decoder),
    Whole(Whole),
}

/// What was said so far.
struct Heard {
    names: Names,
    /// The endpoint and the model, by which they find their own fields again.
    origin: String,
    begun: bool,
    id: Option<String>,
    details: Details,
    parts: Vec<Heap>,
    calls: Vec<Call>,
    usage: Usage,
    stop: Stop,
    /// Why it ended was said.
    finished: bool,
    /// That it ended was said.
    done: bool,
}

/// A part of the answer that may still grow.
enum Heap {
    Text(String),
    Reasoning(String),
    Image(Image),
    /// The next of the calls.
    Call,
}

#[derive(Default)]
struct Call {
    index: Option<i64>,
    id: String,
    name: String,
    arguments: String,
    fields: CallFields,
}

impl Reader {
    pub(super) fn new(names: Names, origin: String) -> Self {
        Reader {
            form: Form::Unknown,
            heard: Heard {
                names,
                origin,
                begun: false,
                id: None,
                details: Details::default(),
                parts: Vec::new(),
                calls: Vec::new(),
                usage: Usage::default(),
                stop: Stop::default(),
                finished: false,
                done: false,
            },
        }
    }
}

impl Decoder for Reader {
    fn push(&mut self, mut piece: &[u8], listener: &mut dyn Listener) -> Result<bool, Error> {
        let heard = &mut self.heard;
        if let Form::Unknown = self.form {
            piece = piece.trim_ascii_start();
            self.form = match piece.first() {
                None => return Ok(false),
                Some(b'{' | b'[') => Form::Whole(Whole::default()),
                Some(_) => Form::Events(sse::Decoder::new(EVENT).of_any_type()),
            };
        }
        match &mut self.form {
            Form::Unknown => {}
            Form::Whole(whole) => {
                if let Some((object, _)) = whole.push(piece) {
                    heard.message(&object, listener)?;
                    heard.done = true;
                }
            }
            Form::Events(events) => {
                let mut outcome = Ok(());
                let pushed = events.push(piece, |data| {
                    if outcome.is_ok() && !heard.done {
                        outcome = heard.event(data, listener);
                    }
                });
                outcome?;
                pushed.map_err(|_| Error::new(Class::Protocol, "an event is too long"))?;
            }
        }
        Ok(heard.done)
    }

    fn finish(self: Box<Self>) -> Result<Answer, Error> {
        let heard = self.heard;
        if !(heard.done || heard.finished) {
            let what = match heard.begun {
                true => "the connection ended in the middle of the answer",
                false => "the connection ended without an answer",
            };
            return Err(Error::new(Class::Transport, what));
        }
        let names = heard.names;
        let mut details = heard.details;
        let mut calls = heard.calls.into_iter();
        let content = heard.parts.into_iter().filter_map(|part| {
            Some(match part {
                Heap::Text(text) => Content::text(text),
                Heap::Reasoning(text) => Content::Reasoning(Reasoning { text }),
                Heap::Image(image) => Content::Image(image),
                Heap::Call => {
                    let call = calls.next()?;
                    let name = names.inward(call.name);
                    let mut request = tool_request(Some(call.id), name, call.arguments);
                    let details = std::mem::take(&mut details);
                    call.fields.keep(&mut request, details, &heard.origin);
                    Content::ToolRequest(request)
                }
            })
        });
        Ok(Answer {
            id: heard.id,
            content: content.collect(),
            usage: heard.usage,
            stop: heard.stop,
        })
    }
}

impl Heard {
    fn event(&mut self, data: &[u8], listener: &mut dyn Listener) -> Result<(), Error> {
        if data == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        self.message(data, listener)
    }

    fn message(&mut self, json: &[u8], listener: &mut dyn Listener) -> Result<(), Error> {
        if std::str::from_utf8(json).is_err() {
            // A server that cuts text between the bytes of a character: most of it can be read.
            let text = String::from_utf8_lossy(json);
            return self.chunk(text.as_bytes(), listener);
        }
        self.chunk(json, listener)
    }

    fn chunk(&mut self, json: &[u8], listener: &mut dyn Listener) -> Result<(), Error> {
        let chunk: Chunk<'_> = crate::json::from_slice(json).map_err(|e| not_a_chunk(json, &e))?;
        if let Some(error) = chunk.error {
            let error: Value = crate::json::from_str(error.get()).unwrap_or_default();
            return Err(failure::in_stream(&json!({"error": error})));
        }
        if chunk.object.is_some_and(|object| object.0 == "error") {
            let error: Value = crate::json::from_slice(json).unwrap_or_default();
            return Err(failure::in_stream(&error));
        }
        if !self.begun {
            self.begun = true;
            self.id = chunk
                .id
                .filter(|id| !id.0.is_empty())
                .map(|id| id.0.into_owned());
            listener.begin(self.id.as_deref());
        }
        self.count(chunk.usage);
        let Some(First(Some(choice))) = chunk.choices else {
            return Ok(());
        };
        self.count(choice.usage);
        let is_chunk = choice.delta.is_some();
        if let Some(mut delta) = choice.delta.or(choice.message) {
            if let Some(details) = delta.reasoning_details.take() {
                self.details.take(details, is_chunk);
            }
            self.delta(delta, listener)?;
        }
        if let Some(reason) = choice.finish_reason
            && !reason.0.is_empty()
        {
            self.finished = true;
            self.stop = match &*reason.0 {
                "length" | "max_tokens" | "model_length" => Stop::Length,
                "content_filter" => Stop::Filtered,
                _ => Stop::Complete,
            };
        }
        Ok(())
    }

    fn count(&mut self, counted: Option<Counted>) {
        let Some(counted) = counted else { return };
        let usage = &mut self.usage;
        usage.input = counted.prompt_tokens.or(usage.input);
        usage.output = counted.completion_tokens.or(usage.output);
        usage.total = counted.total_tokens.or(usage.total);
    }

    fn delta(&mut self, delta: Delta<'_>, listener: &mut dyn Listener) -> Result<(), Error> {
        match (delta.reasoning_content, delta.reasoning) {
            (Some(thought), _) => self.think(&thought.0, listener),
            (None, Some(thought)) => self.thoughts(thought, listener),
            (None, None) => {}
        }
        match delta.content {
            Some(Said::Text(text)) => self.say(&text, listener),
            Some(Said::Parts(parts)) => {
                for part in parts {
                    self.part(part, listener);
                }
            }
            None => {}
        }
        if let Some(refusal) = delta.refusal {
            self.say(&refusal.0, listener);
        }
        for image in delta.images.into_iter().flatten() {
            self.part(image, listener);
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            self.call(piece)?;
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, listener: &mut dyn Listener) {
        if let Some(thought) = part.thinking {
            self.thoughts(thought, listener);
        }
        if let Some(text) = part.text {
            self.say(&text.0, listener);
        }
        if let Some(image) = part.image_url.and_then(|url| image(&url.url.0)) {
            self.parts.push(Heap::Image(image));
        }
    }

    fn thoughts(&mut self, thought: Said<'_>, listener: &mut dyn Listener) {
        match thought {
            Said::Text(text) => self.think(&text, listener),
            Said::Parts(parts) => {
                for text in parts.into_iter().filter_map(|part| part.text) {
                    self.think(&text.0, listener);
                }
            }
        }
    }

    fn say(&mut self, text: &str, listener: &mut dyn Listener) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Heap::Text(all)) => all.push_str(text),
            _ => self.parts.push(Heap::Text(text.to_owned())),
        }
        listener.text(text);
    }

    fn think(&mut self, text: &str, listener: &mut dyn Listener) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Heap::Reasoning(all)) => all.push_str(text),
            _ => self.parts.push(Heap::Reasoning(text.to_owned())),
        }
        listener.reasoning(text);
    }

    fn call(&mut self, piece: Piece<'_>) -> Result<(), Error> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.map(|id| id.0).filter(|id| !id.is_empty());
        let name = function.name.map(|name| name.0).filter(|n| !n.is_empty());
        let at = match self.meant(piece.index, id.as_deref(), name.as_deref()) {
            Some(at) => at,
            None => {
                one_more(self.calls.len())?;
                self.parts.push(Heap::Call);
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

    /// The call that a piece with these goes on with. Providers differ: some leave out the index, some
    /// give each call of an answer the same, some repeat the id or the name in every piece, and some
    /// make up a new id for every piece of a call.
    fn meant(&self, index: Option<i64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let last = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        match (index, id) {
            (Some(_), _) => last(&|call| call.index == index).filter(|&at| {
                let call = &self.calls[at];
                match id {
                    Some(id) if call.id.is_empty() || call.id == id => true,
                    Some(_) => name.is_none(),
                    None => !call.is_over(name),
                }
            }),
            (None, Some(id)) => {
                last(&|call| call.id == id).filter(|&at| !self.calls[at].is_over(name))
            }
            (None, None) => match name {
                Some(_) => None,
                None => self.calls.len().checked_sub(1),
            },
        }
    }
}

impl Call {
    /// Whether a piece with this name begins another call, although nothing else tells them apart.
    fn is_over(&self, name: Option<&str>) -> bool {
        let complete = || crate::json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        name.is_some_and(|name| !self.arguments.is_empty() && (name != self.name || complete()))
    }
}

/// From a `data:` URL in base64; anything else cannot be kept with the conversation.
fn image(url: &str) -> Option<Image> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = head.strip_suffix(";base64")?;
    Some(Image {
        data: data.to_owned(),
        mime_type: mime_type.split(';').next()?.to_owned(),
        ..Image::default()
    })
}

fn not_a_chunk(json: &[u8], error: &serde_json::Error) -> Error {
    let text = String::from_utf8_lossy(&json[..json.len().min(1000)]);
    let what = format!("what came is no chat completion ({error}): {text}");
    Error::new(Class::Protocol, what)
}
