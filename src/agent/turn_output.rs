//! The voice of a turn: what it says, to whoever hears its events, and what it hears of the model.

use super::{Event, EventSink};
use crate::conversation::{
    Content, Message, Metadata, NotificationType, Reasoning, Role, SystemNotification, TokenState,
};
use crate::provider::{self, DeltaSink, Usage};
use crate::sys::{self, clock};
use std::time::Duration;

/// Where events go, and the count of tokens that goes with them.
pub(super) struct TurnOutput<'t> {
    pub(super) events: &'t mut dyn EventSink,
    pub(super) tokens: TokenState,
}

impl TurnOutput<'_> {
    /// Sends the message, or the piece of one.
    pub(super) fn say(&mut self, message: &Message) {
        let token_state = self.tokens;
        self.events.event(Event::Message {
            message,
            token_state,
        });
    }

    /// Sends any event.
    pub(super) fn event(&mut self, event: Event<'_>) {
        self.events.event(event);
    }

    /// What was sent goes out.
    pub(super) fn flush(&mut self) {
        self.events.flush();
    }

    /// A word of the program to the user, which is not stored.
    pub(super) fn notify(&mut self, kind: NotificationType, msg: impl Into<String>) {
        let notification = SystemNotification {
            notification_type: kind,
            msg: msg.into(),
            data: None,
        };
        let content = vec![Content::SystemNotification(notification)];
        self.say(&Message::new(Role::Assistant, content).seen_by(Metadata::USER_ONLY));
        self.flush();
    }

    /// Another exchange with the model has cost this.
    pub(super) fn used(&mut self, usage: Usage) {
        let [input, output, total] = counts(usage);
        if (input, output, total) != (0, 0, 0) {
            self.tokens.add(input, output, total);
        }
    }

    /// The summary that takes the place of the conversation has cost this.
    pub(super) fn summarized(&mut self, usage: Usage) {
        let [input, output, total] = counts(usage);
        self.tokens.summarize(input, output, total);
    }

    /// An exchange with the model that is no part of the conversation has cost this.
    pub(super) fn spent(&mut self, usage: Usage) {
        let [input, output, total] = counts(usage);
        self.tokens.spend(input, output, total);
    }
}

/// Input, output and total, of which a provider may leave out any.
fn counts(usage: Usage) -> [i64; 3] {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    let total = usage.total.unwrap_or(input.saturating_add(output));
    [input, output, total].map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX))
}

/// Passes on what a model says while it says it, and keeps it in case it does not come to an end.
pub(super) struct AnswerAccumulator<'h, 's> {
    output: &'h mut TurnOutput<'s>,
    /// The event under way: the id of the answer with one piece of it.
    piece: Message,
    heard: Vec<Content>,
}

impl<'h, 's> AnswerAccumulator<'h, 's> {
    pub(super) fn new(output: &'h mut TurnOutput<'s>) -> Self {
        AnswerAccumulator {
            output,
            piece: Message::new(Role::Assistant, Vec::new()),
            heard: Vec::new(),
        }
    }

    /// What was heard, as a message.
    pub(super) fn end(mut self) -> Message {
        if self.piece.id.is_none() {
            self.piece.id = Some(random_id("msg_"));
        }
        Message {
            content: self.heard,
            ..self.piece
        }
    }

    fn say(&mut self) {
        if self.piece.id.is_none() {
            self.piece.id = Some(random_id("msg_"));
        }
        self.output.say(&self.piece);
    }
}

impl DeltaSink for AnswerAccumulator<'_, '_> {
    fn begin(&mut self, id: Option<&str>) {
        self.piece.id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        self.piece.created = clock::unix_seconds();
    }

    fn text(&mut self, text: &str) {
        match self.piece.content.as_mut_slice() {
            [Content::Text(piece)] => {
                piece.text.clear();
                piece.text.push_str(text);
            }
            _ => self.piece.content = vec![Content::text(text)],
        }
        match self.heard.last_mut() {
            Some(Content::Text(heard)) => heard.text.push_str(text),
            _ => self.heard.push(Content::text(text)),
        }
        self.say();
    }

    fn reasoning(&mut self, text: &str) {
        let thought = |text: &str| {
            Content::Reasoning(Reasoning {
                text: text.to_owned(),
            })
        };
        self.piece.content = vec![thought(text)];
        match self.heard.last_mut() {
            Some(Content::Reasoning(heard)) => heard.text.push_str(text),
            _ => self.heard.push(thought(text)),
        }
        self.say();
    }

    fn idle(&mut self) {
        self.output.flush();
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &provider::Error) {
        let seconds = wait.as_secs_f32();
        let msg = format!("{reason} Trying again in {seconds:.1} s (attempt {attempt}).");
        self.output.notify(NotificationType::ThinkingMessage, msg);
    }
}

/// An id that no other message has.
pub(super) fn random_id(prefix: &str) -> String {
    // Without random numbers, which no system we know lacks, the clock has to do.
    let random = sys::random_hex(16).unwrap_or_else(|_| format!("{:?}", std::time::Instant::now()));
    format!("{prefix}{random}")
}
