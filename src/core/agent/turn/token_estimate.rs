//! The estimated size of requests to a model, in tokens.

use crate::agent::turn::model_history;
use crate::conversation::{Content, Message, Role, Session, ToolRequest};
use crate::provider::{ToolSpec, Usage, audience_includes_model, replayed_call, response_size};
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
        Content::Image(image) if audience_includes_model(image.annotations.as_ref()) => IMAGE_SIZE,
        Content::ToolRequest(request) => {
            let (name, arguments) = replayed_call(request);
            OVERHEAD + name.len() + arguments.len() + size_of_metadata(request)
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
/// call also holds its name and arguments, which are counted elsewhere.
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
        if key != "name" && key != "arguments" {
            // Neither the value nor the writer can fail.
            let _ = serde_json::to_writer(&mut length, value);
        }
    }
    length.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_message(role: Role, text: &str) -> Arc<Message> {
        Arc::new(Message::text(role, text))
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            total: None,
        }
    }

    #[test]
    fn a_provider_corrects_the_estimate_within_reason() {
        let mut ratio = Ratio::default();
        assert_eq!(ratio.tokens(3_600), 1_000);
        assert!(ratio.learn(8_000, 4_000));
        assert_eq!((ratio.tokens(3_600), ratio.characters(100)), (1_800, 200));
        assert!(!ratio.learn(8_000, 1) && !ratio.learn(8_000, 0));
        assert!(ratio.learn(100, 2), "too short to learn from");
        assert_eq!(ratio.tokens(3_600), 1_800);
        assert!(ratio.learn(12_000, 1_000));
        assert_eq!(ratio.tokens(3_600), 300);
    }

    #[test]
    fn only_what_came_since_the_count_is_estimated() {
        let mut messages = vec![text_message(Role::User, &"x".repeat(10_000))];
        let mut estimate = Estimate::default();
        let first = estimate.request(&messages, 2_000);
        assert_eq!(first.tokens, (12_016_f64 / DEFAULT_RATIO).ceil() as u64);
        messages.push(text_message(Role::Assistant, &"y".repeat(984)));
        estimate.learn(Some(first), usage(1_502, 100), &messages);
        // Eight characters per token.
        messages.push(text_message(Role::User, &"z".repeat(784)));
        let next = estimate.request(&messages, 2_000);
        assert_eq!(next.tokens, 1_502 + 100 + 100);
        // The prompt grew by 100 tokens.
        let grown = estimate.request(&messages, 2_800);
        assert_eq!(grown.tokens, next.tokens + 100);
        // Reasoning that later requests do not contain is not counted.
        estimate.learn(Some(first), usage(1_502, 50_000), &messages[..2]);
        let next = estimate.request(&messages, 2_000);
        assert!(next.tokens < 1_800, "{next:?}");
    }

    #[test]
    fn the_count_of_another_process_is_taken_over() {
        let messages = [
            text_message(Role::User, &"x".repeat(10_000)),
            text_message(Role::Assistant, "yes"),
            text_message(Role::User, "and"),
        ];
        let session = |counted_messages| Session {
            input_tokens: Some(1_000),
            output_tokens: Some(1),
            counted_messages,
            ..Session::default()
        };
        for counted in [Some(2), None] {
            let mut estimate = Estimate::default();
            estimate.resume(&session(counted), &messages);
            let request = estimate.request(&messages, 0);
            assert!((1_001..1_020).contains(&request.tokens), "{request:?}");
            assert_eq!(estimate.counted_messages(), 2);
        }
        // The count covers nothing, or other messages.
        for counted in [Some(0), Some(1), Some(9)] {
            let mut estimate = Estimate::default();
            estimate.resume(&session(counted), &messages);
            assert!(estimate.request(&messages, 0).tokens > 2_700);
            assert_eq!(estimate.counted_messages(), 0);
        }
    }

    #[test]
    fn the_text_for_a_missing_beginning_is_not_counted_again_and_again() {
        let mut messages = vec![text_message(Role::User, &"x".repeat(9_984))];
        let mut estimate = Estimate::default();
        let mut request = estimate.request(&messages, 0);
        for round in 1..=50 {
            messages.push(text_message(Role::Assistant, &"y".repeat(984)));
            estimate.learn(Some(request), usage(10_000, 250), &messages);
            request = estimate.request(&messages, 0);
            assert_eq!(request.characters, 10_000 + 1_000 * round);
        }
    }

    #[test]
    fn each_message_is_measured_once() {
        let mut messages: Vec<_> = (0..100).map(|_| text_message(Role::User, "four")).collect();
        let mut sizes = Sizes::default();
        assert_eq!(sizes.update(&messages), 100);
        messages.push(text_message(Role::Assistant, "answer"));
        assert_eq!((sizes.update(&messages), sizes.update(&messages)), (1, 0));
        assert_eq!((sizes.sum(..), sizes.sum(100..)), (100 * 20 + 22, 22));
        // The journal hides messages this way.
        Arc::make_mut(&mut messages[0]).metadata.agent_visible = false;
        assert_eq!((sizes.update(&messages), sizes.sum(..2)), (1, 20));
        messages.truncate(1);
        assert_eq!((sizes.update(&messages), sizes.sum(..)), (0, 0));
        assert_eq!(sizes.sum(9..), 0);
    }

    #[test]
    fn everything_that_goes_back_to_a_model_is_counted() {
        let part = |part: Value| {
            let message = serde_json::json!({"role": "assistant", "created": 1, "content": [part]});
            size_of(&serde_json::from_value(message).unwrap()) - OVERHEAD
        };
        let long = "x".repeat(500);
        let metadata = serde_json::json!({"signature": long});
        let call =
            serde_json::json!({"status": "success", "value": {"name": "f", "arguments": {}}});
        let failed = serde_json::json!({"status": "error", "error": "no"});
        let kept = serde_json::json!({"name": "f", "arguments": {"x": long}});
        for content in [
            serde_json::json!({"type": "reasoning", "text": long}),
            serde_json::json!({"type": "thinking", "thinking": "", "signature": long}),
            serde_json::json!({"type": "redactedThinking", "data": long}),
            serde_json::json!({"type": "toolRequest", "id": "1", "toolCall": call, "metadata": metadata}),
            serde_json::json!({"type": "toolRequest", "id": "1", "toolCall": failed, "metadata": kept}),
        ] {
            let size = part(content.clone());
            assert!((500..550).contains(&size), "{size}: {content}");
        }
    }

    #[test]
    fn a_rejected_count_leaves_none() {
        let mut messages = vec![text_message(Role::User, &"x".repeat(10_000))];
        let mut estimate = Estimate::default();
        let request = estimate.request(&messages, 0);
        messages.push(text_message(Role::Assistant, "yes"));
        estimate.learn(Some(request), usage(2_500, 1), &messages);
        assert_eq!(estimate.counted_messages(), 2);
        // The turn stores the tokens of this exchange.
        messages.push(text_message(Role::User, "and"));
        let request = estimate.request(&messages, 0);
        messages.push(text_message(Role::Assistant, "no"));
        estimate.learn(Some(request), usage(10, 10), &messages);
        assert_eq!(estimate.counted_messages(), 0);
    }

    #[test]
    fn a_count_that_cannot_be_one_of_the_whole_request_is_left_alone() {
        let messages = [
            text_message(Role::User, &"x".repeat(10_000)),
            text_message(Role::Assistant, "yes"),
        ];
        let mut estimate = Estimate::default();
        let request = estimate.request(&messages[..1], 0);
        estimate.learn(Some(request), usage(10, 10), &messages);
        assert!(estimate.request(&messages, 0).tokens > 2_700);
    }
}
