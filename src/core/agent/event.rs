//! The events of a turn.

use crate::conversation::{Message, TokenState};
use crate::mcp::jsonrpc::RawJson;
use crate::provider;
use crate::sys::caught;
use serde::Serialize;

/// One event of a turn, in the JSON shape of Goose's API (`MessageEvent` of its OpenAPI document).
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Event<'a> {
    /// A message, or the next delta of one: deltas share their `id`.
    Message {
        /// The message or the delta.
        message: &'a Message,
        /// The token counts of the session so far.
        token_state: TokenState,
    },
    /// The turn ended early. Nothing follows.
    Error {
        /// Why, in one sentence.
        error: &'a str,
    },
    /// The turn is over. Nothing follows.
    Finish {
        /// `stop`.
        reason: &'a str,
        /// The token counts of the session so far.
        token_state: TokenState,
    },
    /// Another model answers from now on.
    ModelChange {
        /// Its name.
        model: &'a str,
        /// `lead` or `worker`.
        mode: &'a str,
    },
    /// A notification of an MCP server about a running call.
    Notification {
        /// The id of the tool request.
        request_id: &'a str,
        /// `{method, params}`.
        message: &'a RawJson,
    },
    /// The messages of the session were replaced.
    UpdateConversation {
        /// All of them.
        conversation: &'a [Message],
    },
}

/// A stage of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// It has begun.
    Begun,
    /// The summary replaces the conversation.
    Completed,
    /// The conversation stays as it is.
    Failed,
}

/// A turn calls it with each of its events, from one thread at a time.
pub trait EventSink {
    /// Takes the event; it may be buffered until [`flush`](EventSink::flush).
    fn event(&mut self, event: Event<'_>);
    /// Sends the buffered events now, because none follows for a while.
    fn flush(&mut self);
    /// The model failed, before or after its answer had begun. A message that says so follows.
    fn model_failed(&mut self, _error: &provider::Error, _has_begun: bool) {}
    /// The turn ends without having done its task. A message that says why follows.
    fn turn_failed(&mut self) {}
    /// The conversation is being replaced by a summary, or that has ended.
    fn compaction(&mut self, _stage: Compaction) {}
    /// More of the summary that the model writes, or the whole summary as it is used, in which case it is the last.
    fn summary(&mut self, _text: &str, _is_whole: bool) {}
    /// A tool call that the model requested begins without an approval by the user.
    fn call_begins(&mut self, _request: &str) {}
}

/// Passes on all events to several sinks. One of the others that panics gets no more.
pub(in crate::agent) struct FanOut<'s> {
    pub(in crate::agent) first: &'s mut dyn EventSink,
    pub(in crate::agent) others: Vec<Box<dyn EventSink>>,
}

impl FanOut<'_> {
    fn each(&mut self, act: impl Fn(&mut dyn EventSink)) {
        act(self.first);
        (self.others)
            .retain_mut(|other| caught("sink of an observer", || act(&mut **other)).is_ok());
    }
}

impl EventSink for FanOut<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.each(|sink| sink.event(event));
    }

    fn flush(&mut self) {
        self.each(|sink| sink.flush());
    }

    fn model_failed(&mut self, error: &provider::Error, has_begun: bool) {
        self.each(|sink| sink.model_failed(error, has_begun));
    }

    fn turn_failed(&mut self) {
        self.each(|sink| sink.turn_failed());
    }

    fn compaction(&mut self, stage: Compaction) {
        self.each(|sink| sink.compaction(stage));
    }

    fn summary(&mut self, text: &str, is_whole: bool) {
        self.each(|sink| sink.summary(text, is_whole));
    }

    fn call_begins(&mut self, request: &str) {
        self.each(|sink| sink.call_begins(request));
    }
}
