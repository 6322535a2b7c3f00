//! How much of a model's context a conversation fills, and the digest that a summary is made from.

use super::model_history;
use crate::conversation::{Content, Message, Outcome, Role, Session, ToolRequest};
use crate::provider::{
    ToolSpec, Usage, audience_includes_model, replayed_call, response_size, result_text,
};
use serde_json::Value;
use std::io;
use std::slice::SliceIndex;
use std::sync::{Arc, Weak};

/// Characters of a token, until a model has said how many it counts. English prose has four, code and
/// JSON three.
const USUAL: f64 = 3.6;
/// What a provider's count may make of it. More characters than that are not counted as one token: the
/// count is then not one of the whole request, but for example of what the provider did not have in its
/// cache.
const MOST: f64 = 64.0;
/// Requests shorter than this tell little about the ratio, in characters.
const TELLING: usize = 4_000;
/// What an image counts for, in characters.
const IMAGE: usize = 4_000;
/// What goes around a message or a tool, in characters.
const AROUND: usize = 16;

/// The longest part of a message in a digest, in characters.
const PART: usize = 4_000;
/// The longest answer of a tool in a digest, in characters.
const ANSWER: usize = 1_500;

/// How many tokens a model will count, estimated from what it has counted: the count of the last
/// exchange, and in characters what came since.
#[derive(Default)]
pub(super) struct Estimate {
    ratio: Ratio,
    sizes: Sizes,
    counted: Option<Counted>,
}

/// What the provider counted of the last exchange.
#[derive(Clone, Copy)]
struct Counted {
    /// How many messages it covers; the last of them is the answer.
    messages: usize,
    input: u64,
    output: u64,
    /// The request, unless it was not measured, or another process made it.
    request: Option<Request>,
}

/// The size of a request to the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    /// In tokens.
    pub(super) tokens: u64,
    /// In characters, or what counts like them.
    characters: usize,
    /// How many of them are not of the conversation, but of the prompt and the tools.
    beside: usize,
}

impl Estimate {
    /// Starts from the counts that are stored with the session, if they are not those that were taken here.
    pub(super) fn resume(&mut self, session: &Session, messages: &[Arc<Message>]) {
        let count = |tokens: Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
        let (input, output) = (count(session.input_tokens), count(session.output_tokens));
        let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
        let messages = session.counted_messages.unwrap_or_else(|| {
            let last = messages.iter().rposition(|message| is_answer(message));
            last.map_or(0, |last| last + 1)
        });
        let known = |counted: Counted| {
            (counted.messages, counted.input, counted.output) == (messages, input, output)
        };
        if !self.counted.is_some_and(known) {
            self.counted = (messages > 0 && input > 0).then_some(Counted {
                messages,
                input,
                output,
                request: None,
            });
        }
    }

    /// The counts of the last exchange say nothing about the conversation that follows.
    pub(super) fn forget(&mut self) {
        self.counted = None;
    }

    /// How many messages the provider's count covers; 0 if there is none.
    pub(super) fn counted_messages(&self) -> usize {
        self.counted.map_or(0, |counted| counted.messages)
    }

    /// The size of a request with these messages, and `beside` them a prompt and tools of so many
    /// characters.
    pub(super) fn request(&mut self, messages: &[Arc<Message>], beside: usize) -> Request {
        self.sizes.update(messages);
        self.since_counted(messages, beside).unwrap_or_else(|| {
            self.counted = None;
            let characters = self.sizes.sum(..) + beside;
            Request {
                tokens: self.ratio.tokens(characters),
                characters,
                beside,
            }
        })
    }

    /// The same from what the provider counted last, if that is a part of this conversation.
    fn since_counted(&mut self, messages: &[Arc<Message>], beside: usize) -> Option<Request> {
        let counted = self.counted?;
        let at = counted.messages.checked_sub(1)?;
        messages.get(at).filter(|message| is_answer(message))?;
        let before = match counted.request {
            Some(request) => request,
            // The prompt and the tools are taken to be what they were.
            None => {
                let characters = self.sizes.sum(..at) + beside;
                if !self.ratio.learn(characters, counted.input) {
                    return None;
                }
                let request = Request {
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
        let (answer, after) = (self.sizes.sum(at..=at), self.sizes.sum(at + 1..));
        // Some models count thoughts that they do not get back.
        let mut tokens = match counted.output {
            0 => self.ratio.tokens(answer),
            output => self.ratio.tokens(answer).min(output),
        };
        tokens += self.ratio.tokens(after);
        tokens += counted.input + self.ratio.tokens(beside.saturating_sub(before.beside));
        let gone = self.ratio.tokens(before.beside.saturating_sub(beside));
        Some(Request {
            tokens: tokens.saturating_sub(gone),
            characters: (before.characters + answer + after + beside).saturating_sub(before.beside),
            beside,
        })
    }

    /// The provider counted this for a request, if it was measured, and its answer, which is the last of
    /// these messages, unless there was none to store.
    pub(super) fn learn(
        &mut self,
        request: Option<Request>,
        usage: Usage,
        messages: &[Arc<Message>],
    ) {
        let Some(input) = usage.input.filter(|input| *input > 0) else {
            return;
        };
        // The session shows this count from now on: it must not be taken for one that is believed.
        self.counted = None;
        let is_plausible = |request: Request| self.ratio.learn(request.characters, input);
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
    pub(super) fn tokens(&self, characters: usize) -> u64 {
        self.ratio.tokens(characters)
    }

    /// The characters in `tokens`.
    pub(super) fn characters(&self, tokens: u64) -> usize {
        self.ratio.characters(tokens)
    }
}

fn is_answer(message: &Message) -> bool {
    message.role == Role::Assistant && message.metadata.agent_visible
}

/// How many characters a model counts as a token, learned from what providers report.
#[derive(Clone, Copy, Debug)]
struct Ratio(f64);

impl Default for Ratio {
    fn default() -> Self {
        Ratio(USUAL)
    }
}

impl Ratio {
    /// A request of `size` characters was counted as `tokens`; false if that cannot be.
    fn learn(&mut self, size: usize, tokens: u64) -> bool {
        let ratio = size as f64 / tokens as f64;
        if ratio > MOST {
            return false;
        }
        if size >= TELLING {
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

/// The size of what is sent besides the conversation: the prompt and the tools, in characters.
pub(super) fn size_beside(system: &str, tools: &[ToolSpec]) -> usize {
    let tools = tools.iter().map(|tool| {
        AROUND + tool.name.len() + tool.description.len() + tool.input_schema.get().len()
    });
    system.len() + tools.sum::<usize>()
}

/// The sizes of the messages as the model sees them. Each is measured once.
///
/// What makes a history complete (an answer for a call that has none, a beginning) is short and not counted.
#[derive(Default)]
struct Sizes(Vec<(Weak<Message>, usize)>);

impl Sizes {
    /// Measures those of the messages that are new; gives their number.
    fn update(&mut self, messages: &[Arc<Message>]) -> usize {
        self.0.truncate(messages.len());
        let mut new = 0;
        for (at, message) in messages.iter().enumerate() {
            // While there is a weak reference, no other message has the same address.
            let is_known = |(known, _): &(Weak<Message>, usize)| {
                std::ptr::eq(known.as_ptr(), Arc::as_ptr(message))
            };
            if self.0.get(at).is_some_and(is_known) {
                continue;
            }
            new += 1;
            let shown = Some(message).filter(|message| message.metadata.agent_visible);
            let shown = shown.and_then(|message| model_history::shown(message));
            let size = shown.map_or(0, |shown| size_of(&shown));
            let measured = (Arc::downgrade(message), size);
            match self.0.get_mut(at) {
                Some(known) => *known = measured,
                None => self.0.push(measured),
            }
        }
        new
    }

    /// The size of these messages in all.
    fn sum(
        &self,
        range: impl SliceIndex<[(Weak<Message>, usize)], Output = [(Weak<Message>, usize)]>,
    ) -> usize {
        let sizes = self.0.get(range).unwrap_or_default();
        sizes.iter().map(|(_, size)| size).sum()
    }
}

/// The size of what requests hold of a message, in characters or what counts like them. Not every protocol
/// sends thoughts back.
pub(super) fn size_of(message: &Message) -> usize {
    let part = |part: &Content| match part {
        Content::Text(text) if audience_includes_model(text.annotations.as_ref()) => {
            text.text.len()
        }
        Content::Image(image) if audience_includes_model(image.annotations.as_ref()) => IMAGE,
        Content::ToolRequest(request) => {
            let (name, arguments) = replayed_call(request);
            AROUND + name.len() + arguments.len() + size_of_metadata(request)
        }
        Content::ToolResponse(response) => {
            let (text, images) = response_size(&response.tool_result);
            AROUND + text + images * IMAGE
        }
        Content::Thinking(thinking) => thinking.thinking.len() + thinking.signature.len(),
        Content::RedactedThinking(thinking) => thinking.data.len(),
        Content::Reasoning(reasoning) => reasoning.text.len(),
        _ => 0,
    };
    AROUND + message.content.iter().map(part).sum::<usize>()
}

/// The size of what a provider sent with a call and gets back with it, as JSON. The name and the arguments of
/// a call that cannot be made are in the same place.
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
            // It is JSON already, and counting does not fail.
            let _ = serde_json::to_writer(&mut length, value);
        }
    }
    length.0
}

/// The conversation as text of at most about `budget` bytes, for somebody who is to sum it up. What
/// does not fit is left out of the middle: the beginning says what is wanted, the end where it stands.
pub(super) fn digest<'m>(messages: impl IntoIterator<Item = &'m Message>, budget: usize) -> String {
    let mut all = String::new();
    for message in messages {
        for part in &message.content {
            let (who, text) = match part {
                Content::Text(text) if !audience_includes_model(text.annotations.as_ref()) => {
                    continue;
                }
                Content::Text(text) if message.role == Role::User => ("User", text.text.clone()),
                Content::Text(text) => ("Assistant", text.text.clone()),
                Content::Image(_) => ("User", "(an image)".to_owned()),
                Content::ToolRequest(request) => match &request.tool_call {
                    Outcome::Success { value } => {
                        let call = format!("{} {}", value.name, value.arguments.get());
                        ("Call", shortened(&call, ANSWER))
                    }
                    Outcome::Error { error } => ("Call", error.clone()),
                },
                Content::ToolResponse(response) => match &response.tool_result {
                    Outcome::Success { value } => {
                        ("Result", shortened(&result_text(value), ANSWER))
                    }
                    Outcome::Error { error } => ("Result", shortened(error, ANSWER)),
                },
                _ => continue,
            };
            all.push_str(who);
            all.push_str(": ");
            all.push_str(&shortened(&text, PART));
            all.push_str("\n\n");
        }
    }
    shortened(&all, budget)
}

/// The text with its middle left out, if it is longer than about `most` bytes.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 4);
    let tail = text.ceil_char_boundary(text.len() - (most - most / 4));
    format!(
        "{}\n[… {} bytes left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> Arc<Message> {
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
        let mut messages = vec![said(Role::User, &"x".repeat(10_000))];
        let mut estimate = Estimate::default();
        let first = estimate.request(&messages, 2_000);
        assert_eq!(first.tokens, (12_016_f64 / USUAL).ceil() as u64);
        messages.push(said(Role::Assistant, &"y".repeat(984)));
        estimate.learn(Some(first), usage(1_502, 100), &messages);
        // Eight characters a token.
        messages.push(said(Role::User, &"z".repeat(784)));
        let next = estimate.request(&messages, 2_000);
        assert_eq!(next.tokens, 1_502 + 100 + 100);
        // The prompt grew by 100 tokens.
        let grown = estimate.request(&messages, 2_800);
        assert_eq!(grown.tokens, next.tokens + 100);
        // Thoughts that the model does not get back are not counted.
        estimate.learn(Some(first), usage(1_502, 50_000), &messages[..2]);
        let next = estimate.request(&messages, 2_000);
        assert!(next.tokens < 1_800, "{next:?}");
    }

    #[test]
    fn the_count_of_another_process_is_taken_over() {
        let messages = [
            said(Role::User, &"x".repeat(10_000)),
            said(Role::Assistant, "yes"),
            said(Role::User, "and"),
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
        // It covers nothing, or something else than this conversation.
        for counted in [Some(0), Some(1), Some(9)] {
            let mut estimate = Estimate::default();
            estimate.resume(&session(counted), &messages);
            assert!(estimate.request(&messages, 0).tokens > 2_700);
            assert_eq!(estimate.counted_messages(), 0);
        }
    }

    #[test]
    fn the_text_for_a_missing_beginning_is_not_counted_again_and_again() {
        let mut messages = vec![said(Role::User, &"x".repeat(9_984))];
        let mut estimate = Estimate::default();
        let mut request = estimate.request(&messages, 0);
        for round in 1..=50 {
            messages.push(said(Role::Assistant, &"y".repeat(984)));
            estimate.learn(Some(request), usage(10_000, 250), &messages);
            request = estimate.request(&messages, 0);
            assert_eq!(request.characters, 10_000 + 1_000 * round);
        }
    }

    #[test]
    fn each_message_is_measured_once() {
        let mut messages: Vec<_> = (0..100).map(|_| said(Role::User, "four")).collect();
        let mut sizes = Sizes::default();
        assert_eq!(sizes.update(&messages), 100);
        messages.push(said(Role::Assistant, "answer"));
        assert_eq!((sizes.update(&messages), sizes.update(&messages)), (1, 0));
        assert_eq!((sizes.sum(..), sizes.sum(100..)), (100 * 20 + 22, 22));
        // As the journal hides them.
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
            size_of(&serde_json::from_value(message).unwrap()) - AROUND
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
        let mut messages = vec![said(Role::User, &"x".repeat(10_000))];
        let mut estimate = Estimate::default();
        let request = estimate.request(&messages, 0);
        messages.push(said(Role::Assistant, "yes"));
        estimate.learn(Some(request), usage(2_500, 1), &messages);
        assert_eq!(estimate.counted_messages(), 2);
        // The turn stores the tokens of this exchange.
        messages.push(said(Role::User, "and"));
        let request = estimate.request(&messages, 0);
        messages.push(said(Role::Assistant, "no"));
        estimate.learn(Some(request), usage(10, 10), &messages);
        assert_eq!(estimate.counted_messages(), 0);
    }

    #[test]
    fn a_count_that_cannot_be_one_of_the_whole_request_is_left_alone() {
        let messages = [
            said(Role::User, &"x".repeat(10_000)),
            said(Role::Assistant, "yes"),
        ];
        let mut estimate = Estimate::default();
        let request = estimate.request(&messages[..1], 0);
        estimate.learn(Some(request), usage(10, 10), &messages);
        assert!(estimate.request(&messages, 0).tokens > 2_700);
    }

    #[test]
    fn a_digest_has_nothing_that_is_for_the_user_alone() {
        let message = serde_json::json!({"role": "user", "created": 1, "content": [
            {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [
                {"type": "text", "text": "open"},
                {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
            ]}}},
            {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
        ]});
        let message: Message = serde_json::from_value(message).unwrap();
        assert_eq!(digest([&message], usize::MAX), "Result: open\n\n");
    }

    #[test]
    fn a_digest_keeps_both_ends() {
        let messages: Vec<Message> = (0..100)
            .map(|n| Message::text(Role::User, format!("message é {n} {}", "x".repeat(50))))
            .collect();
        let whole = digest(&messages, usize::MAX);
        assert!(whole.contains("message é 50 "));
        let digest = digest(&messages, 1_000);
        assert!(digest.len() < 1_100 && !digest.contains("message é 50 "));
        assert!(digest.starts_with("User: message é 0 ") && digest.contains("message é 99 "));
        assert!(digest.contains("bytes left out"));
    }
}
