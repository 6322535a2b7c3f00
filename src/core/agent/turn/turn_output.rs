//! The output of a turn: the events that it sends, and the accumulator of the answer that streams in.

use crate::agent::{Event, EventSink};
use crate::conversation::{
    Content, Message, Metadata, NotificationType, Reasoning, Role, SystemNotification, TokenState,
};
use crate::metric_counters::METRICS;
use crate::provider::{self, DeltaSink, Price, Usage};
use crate::sys::{self, clock};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Sends the events of a turn, with the token counts that go with them.
pub(in crate::agent) struct TurnOutput<'t> {
    pub(in crate::agent) events: &'t mut dyn EventSink,
    pub(in crate::agent) tokens: TokenState,
    /// What the tokens of the model cost, if that is known.
    pub(in crate::agent) price: Option<Price>,
}

impl TurnOutput<'_> {
    /// Sends a message, or a delta of one.
    pub(in crate::agent) fn message(&mut self, message: &Message) {
        let token_state = self.tokens;
        self.events.event(Event::Message {
            message,
            token_state,
        });
    }

    /// Sends any event.
    pub(in crate::agent) fn event(&mut self, event: Event<'_>) {
        self.events.event(event);
    }

    /// Writes what was sent to the client.
    pub(in crate::agent) fn flush(&mut self) {
        self.events.flush();
    }

    /// Sends a system notification to the user. It is not stored.
    pub(in crate::agent) fn notify(&mut self, kind: NotificationType, msg: impl Into<String>) {
        let notification = SystemNotification {
            notification_type: kind,
            msg: msg.into(),
            data: None,
        };
        let content = vec![Content::SystemNotification(notification)];
        self.message(&Message::new(Role::Assistant, content).seen_by(Metadata::USER_ONLY));
        self.flush();
    }

    /// Sends the event that ends a finished turn.
    pub(in crate::agent) fn finish(&mut self) {
        let token_state = self.tokens;
        self.event(Event::Finish {
            reason: "stop",
            token_state,
        });
    }

    /// Counts the tokens of a request to the model with the conversation.
    pub(in crate::agent) fn count_request(&mut self, usage: Usage) {
        let [input, output, total] = counts(usage);
        if (input, output, total) != (0, 0, 0) {
            self.tokens.add(input, output, total);
            self.pay(self.price.clone(), usage);
        }
    }

    /// Counts the tokens of a summary that replaces the conversation, by a model with this price.
    pub(in crate::agent) fn count_summary(&mut self, usage: Usage, price: Option<Price>) {
        let [input, output, total] = counts(usage);
        self.tokens.summarize(input, output, total);
        self.pay(price, usage);
    }

    /// Counts the tokens of a request to the model that is not part of the conversation.
    pub(in crate::agent) fn count_side_request(&mut self, usage: Usage) {
        let [input, output, total] = counts(usage);
        self.tokens.spend(input, output, total);
        self.pay(self.price.clone(), usage);
    }

    fn pay(&mut self, price: Option<Price>, usage: Usage) {
        if let Some(price) = price {
            self.tokens.pay(price(usage));
        }
    }
}

/// Input, output and total tokens, which are added to the metrics. A provider may leave out any of them.
fn counts(usage: Usage) -> [i64; 3] {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    METRICS.input_tokens.add(input);
    METRICS.output_tokens.add(output);
    let total = usage.total.unwrap_or(input.saturating_add(output));
    [input, output, total].map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX))
}

/// How many notices of requests a session gets.
const MAX_NOTICES: usize = 1_000;

/// Sends the deltas of an answer as they arrive, and accumulates them in case the answer breaks off.
pub(in crate::agent) struct AnswerAccumulator<'h, 's> {
    output: &'h mut TurnOutput<'s>,
    /// The message that is sent next: the id of the answer, and one delta.
    delta: Message,
    received: Vec<Content>,
    /// Hashes of what the user was told in this session.
    notices: &'h mut HashSet<u64>,
    /// The tools that the model was not offered, each with a sentence about why.
    left_out: Vec<(String, String)>,
}

impl<'h, 's> AnswerAccumulator<'h, 's> {
    pub(in crate::agent) fn new(
        output: &'h mut TurnOutput<'s>,
        notices: &'h mut HashSet<u64>,
    ) -> Self {
        AnswerAccumulator {
            output,
            delta: Message::new(Role::Assistant, Vec::new()),
            received: Vec::new(),
            notices,
            left_out: Vec::new(),
        }
    }

    /// The tools that the model was not offered, each with a sentence about why.
    pub(in crate::agent) fn take_left_out(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.left_out)
    }

    /// The message as far as it was received.
    pub(in crate::agent) fn into_message(mut self) -> Message {
        if self.delta.id.is_none() {
            self.delta.id = Some(random_id("msg_"));
        }
        Message {
            content: self.received,
            ..self.delta
        }
    }

    fn send_delta(&mut self) {
        if self.delta.id.is_none() {
            self.delta.id = Some(random_id("msg_"));
        }
        self.output.message(&self.delta);
    }
}

impl DeltaSink for AnswerAccumulator<'_, '_> {
    fn begin(&mut self, id: Option<&str>) {
        self.delta.id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        self.delta.created = clock::unix_seconds();
    }

    fn text(&mut self, text: &str) {
        match self.delta.content.as_mut_slice() {
            [Content::Text(delta)] => {
                delta.text.clear();
                delta.text.push_str(text);
            }
            _ => self.delta.content = vec![Content::text(text)],
        }
        match self.received.last_mut() {
            Some(Content::Text(received)) => received.text.push_str(text),
            _ => self.received.push(Content::text(text)),
        }
        self.send_delta();
    }

    fn reasoning(&mut self, text: &str) {
        let reasoning = |text: &str| {
            Content::Reasoning(Reasoning {
                text: text.to_owned(),
            })
        };
        self.delta.content = vec![reasoning(text)];
        match self.received.last_mut() {
            Some(Content::Reasoning(received)) => received.text.push_str(text),
            _ => self.received.push(reasoning(text)),
        }
        self.send_delta();
    }

    fn idle(&mut self) {
        self.output.flush();
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &provider::Error) {
        let seconds = wait.as_secs_f32();
        let reason = reason.message.trim_end_matches('.');
        let msg = format!("{reason}. Trying again in {seconds:.1} s (attempt {attempt}).");
        self.output.notify(NotificationType::ThinkingMessage, msg);
    }

    fn notice(&mut self, text: &str) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let is_new = self.notices.len() < MAX_NOTICES && self.notices.insert(hasher.finish());
        if is_new {
            self.output.notify(NotificationType::InlineMessage, text);
        }
    }

    fn left_out(&mut self, tool: &str, why: &str) {
        self.notice(why);
        self.left_out.push((tool.to_owned(), why.to_owned()));
    }
}

/// A unique id.
pub(in crate::agent) fn random_id(prefix: &str) -> String {
    // The clock stands in where the system has no random numbers.
    let random = sys::random_hex(16).unwrap_or_else(|_| format!("{:?}", std::time::Instant::now()));
    format!("{prefix}{random}")
}
