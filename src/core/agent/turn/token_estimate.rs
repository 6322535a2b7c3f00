//! The estimated size of requests to a model, in tokens.

use crate::agent::turn::model_history;
use crate::conversation::{Content, Message, Role, Session, ToolRequest};
use crate::provider::{ToolSpec, Usage, audience_includes_model, response_size};
use serde_json::Value;
use std::io;
use std::slice::SliceIndex;
use std::sync::{Arc, Weak};

/// Characters per token before the provider has counted any. English prose has four, code and JSON three.
const DEFAULT_RATIO: f64 = 3.6;
/// The largest plausible number of characters per token. A count with more does not cover the whole request,
/// but for example only the part that was not in the provider's cache.
const MAX_RATIO: f64 = 64.0;
/// Requests shorter than this do not change the ratio; in characters.
const MIN_SAMPLE: usize = 4_000;
/// The size of an image, in characters.
const IMAGE_SIZE: usize = 4_000;
/// The size of the JSON around a message or a tool, in characters.
const OVERHEAD: usize = 16;

/// Estimates the tokens of a request from the provider's count of the last request and its answer, and from
/// the characters that were added since.
#[derive(Default)]
pub(in crate::agent) struct Estimate {
    ratio: Ratio,
    sizes: Sizes,
    counted: Option<Counted>,
}

/// The provider's count of the last request and its answer.
#[derive(Clone, Copy)]
struct Counted {
    /// How many messages the count covers; the last one is the answer.
    messages: usize,
    input: u64,
    output: u64,
    /// The request; `None` if it was not measured, or another process made it.
    request: Option<RequestSize>,
}

/// The size of a request to the model.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::agent) struct RequestSize {
    /// In tokens.
    pub(in crate::agent) tokens: u64,
    /// In characters, or their equivalent.
    characters: usize,
    /// How many of the characters belong to the prompt and the tools.
    beside: usize,
}

impl Estimate {
    /// Takes over the counts that are stored with the session, if another process stored them.
    pub(in crate::agent) fn resume(&mut self, session: &Session, messages: &[Arc<Message>]) {
        let count = |tokens: Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
        let (input, output) = (count(session.input_tokens), count(session.output_tokens));
        let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
        let messages = session.counted_messages.unwrap_or_else(|| {
            let last = messages.iter().rposition(|message| is_answer(message));
            last.map_or(0, |last| last + 1)
        });
        let is_own = |counted: Counted| {
            (counted.messages, counted.input, counted.output) == (messages, input, output)
        };
        if !self.counted.is_some_and(is_own) {
            self.counted = (messages > 0 && input > 0).then_some(Counted {
                messages,
                input,
                output,
                request: None,
            });
        }
    }

    /// Drops the last count, because the messages it covers were replaced.
    pub(in crate::agent) fn forget(&mut self) {
        self.counted = None;
    }

    /// How many messages the last count covers; 0 if there is none.
    pub(in crate::agent) fn counted_messages(&self) -> usize {
        self.counted.map_or(0, |counted| counted.messages)
    }

    /// The size of a request with these messages, and `beside` characters of prompt and tools.
    pub(in crate::agent) fn request(
        &mut self,
        messages: &[Arc<Message>],
        beside: usize,
    ) -> RequestSize {
        self.sizes.update(messages);
        self.since_counted(messages, beside).unwrap_or_else(|| {
            self.counted = None;
            let characters = self.sizes.sum(..) + beside;
            RequestSize {
                tokens: self.ratio.tokens(characters),
                characters,
                beside,
            }
        })
    }

    /// The size on the basis of the last count; `None` if it does not belong to this conversation.
    fn since_counted(&mut self, messages: &[Arc<Message>], beside: usize) -> Option<RequestSize> {
        let counted = self.counted?;
        let at = counted.messages.checked_sub(1)?;
        messages.get(at).filter(|message| is_answer(message))?;
        let before = match counted.request {
            Some(request) => request,
            // Assumes that the prompt and the tools have not changed since.
            None => {
                let characters = self.sizes.sum(..at) + beside;
                if !self.ratio.learn(characters, counted.input) {
                    return None;
                }
                let request = RequestSize {
                    tokens: counted.input,
                    characters,
                    beside,
                };
                self.counted = Some(Counted {
                    request: Some(request),
                    ..counted
                });
                request
            }
        };
        let answer = self.sizes.sum(at..=at);
        let after = self.sizes.sum(at + 1..);
        // Some models count reasoning that later requests do not contain.
        let mut tokens = match counted.output {
            0 => self.ratio.tokens(answer),
            output => self.ratio.tokens(answer).min(output),
        };
        tokens += self.ratio.tokens(after);
        tokens += counted.input + self.ratio.tokens(beside.saturating_sub(before.beside));
        let removed = self.ratio.tokens(before.beside.saturating_sub(beside));
        Some(RequestSize {
            tokens: tokens.saturating_sub(removed),
            characters: (before.characters + answer + after + beside).saturating_sub(before.beside),
            beside,
        })
    }

    /// Records the provider's count for a request, if it was measured, and its answer, which is the last of
    /// these messages, unless it was empty.
    pub(in crate::agent) fn learn(
        &mut self,
        request: Option<RequestSize>,
        usage: Usage,
        messages: &[Arc<Message>],
    ) {
        let Some(input) = usage.input.filter(|input| *input > 0) else {
            return;
        };
        // An implausible count is stored with the session as well, but must not be used.
        self.counted = None;
        let is_plausible = |request: RequestSize| self.ratio.learn(request.characters, input);
        if messages.last().is_some_and(|last| is_answer(last)) && request.is_none_or(is_plausible) {
            self.counted = Some(Counted {
                messages: messages.len(),
                input,
                output: usage.output.unwrap_or(0),
                request,
            });
        }
    }

    /// The tokens in `characters`.
    pub(in crate::agent) fn tokens(&self, characters: usize) -> u64 {
        self.ratio.tokens(characters)
    }

    /// The characters in `tokens`.
    pub(in crate::agent) fn characters(&self, tokens: u64) -> usize {
        self.ratio.characters(tokens)
    }
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant && message.metadata.agent_visible
}

/// Characters per token, learned from the counts of the provider.
#[derive(Clone, Copy, Debug)]
struct Ratio(f64);

impl Default for Ratio {
    fn default() -> Self {
        Ratio(DEFAULT_RATIO)
    }
}

impl Ratio {
    /// Records that `size` characters were counted as `tokens`; false if that is implausible.
    fn learn(&mut self, size: usize, tokens: u64) -> bool {
        let ratio = size as f64 / tokens as f64;
        if ratio > MAX_RATIO {
            return false;
        }
        if size >= MIN_SAMPLE {
            self.0 = ratio.max(1.0);
        }
        true
    }

    /// The tokens in `size` characters.
    fn tokens(self, size: usize) -> u64 {
        (size as f64 / self.0).ceil() as u64
    }

    /// The characters in `tokens`.
    fn characters(self, tokens: u64) -> usize {
        (tokens as f64 * self.0) as usize
    }
}

/// The size of the prompt and the tools, in characters.
pub(in crate::agent) fn size_beside(system: &str, tools: &[ToolSpec]) -> usize {
    let tools = tools.iter().map(|tool| {
        OVERHEAD + tool.name.len() + tool.description.len() + tool.input_schema.get().len()
    });
    system.len() + tools.sum::<usize>()
}

/// The sizes of the messages as the model sees them. Each is measured once.
///
/// The short texts that repair a history (a result for a call without one, a beginning) are not counted.
#[derive(Default)]
struct Sizes(Vec<(Weak<Message>, usize)>);

impl Sizes {
    /// Measures the new messages; returns their number.
    fn update(&mut self, messages: &[Arc<Message>]) -> usize {
        self.0.truncate(messages.len());
        let mut new = 0;
        for (at, message) in messages.iter().enumerate() {
            // A weak reference keeps the address from being used for another message.
            let is_measured = |(known, _): &(Weak<Message>, usize)| {
                std::ptr::eq(known.as_ptr(), Arc::as_ptr(message))
            };
            if self.0.get(at).is_some_and(is_measured) {
                continue;
            }
            new += 1;
            let shown = Some(message).filter(|message| message.metadata.agent_visible);
            let shown = shown.and_then(|message| model_history::shown(message));
            let has_page = |id: &str| {
                let before = messages[..at].iter().rev();
                let mut calls = before.flat_map(|message| message.tool_requests());
                calls
                    .find(|call| call.id == id)
                    .is_some_and(ToolRequest::has_page)
            };
            let shown = shown.map(|shown| model_history::without_page_data(shown, has_page));
            let size = shown.map_or(0, |shown| size_of(&shown));
            let measured = (Arc::downgrade(message), size);
            match self.0.get_mut(at) {
                Some(known) => *known = measured,
                None => self.0.push(measured),
            }
        }
        new
    }

    /// The total size of these messages.
    fn sum(
        &self,
        range: impl SliceIndex<[(Weak<Message>, usize)], Output = [(Weak<Message>, usize)]>,
    ) -> usize {
        let sizes = self.0.get(range).unwrap_or_default();
        sizes.iter().map(|(_, size)| size).sum()
    }
}

/// The size of a message in a request, in characters or their equivalent. Not every protocol sends reasoning
/// back.
pub(in crate::agent) fn size_of(message: &Message) -> usize {
    let part = |part: &Content| match part {
        Content::Text(text) if audience_includes_model(text.annotations.as_ref()) => {
            text.text.len()
        }
        Content::Image(media) | Content::Audio(media)
            if audience_includes_model(media.annotations.as_ref()) =>
        {
            IMAGE_SIZE
        }
        Content::ToolRequest(request) => {
            let call = request.tool_call.value();
            let size = call.map_or(0, |call| call.name.len() + call.arguments.get().len());
            OVERHEAD + size + size_of_metadata(request)
        }
        Content::ToolResponse(response) => {
            let (text, images) = response_size(&response.tool_result);
            OVERHEAD + text + images * IMAGE_SIZE
        }
        Content::Thinking(thinking) => thinking.thinking.len() + thinking.signature.len(),
        Content::RedactedThinking(thinking) => thinking.data.len(),
        Content::Reasoning(reasoning) => reasoning.text.len(),
        _ => 0,
    };
    OVERHEAD + message.content.iter().map(part).sum::<usize>()
}

/// The size of the JSON that a provider sent with a call and gets back with it. The metadata of a malformed
/// call also holds its name, and its arguments, which are sent again if they are an object.
fn size_of_metadata(request: &ToolRequest) -> usize {
    /// Counts the bytes that are written.
    struct Length(usize);

    impl io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut length = Length(0);
    let fields = request.metadata.as_ref().and_then(Value::as_object);
    for (key, value) in fields.into_iter().flatten() {
        if key != "arguments" || value.is_object() {
            // Neither the value nor the writer can fail.
            let _ = serde_json::to_writer(&mut length, value);
        }
    }
    length.0
}

#[cfg(test)]
mod tests;
