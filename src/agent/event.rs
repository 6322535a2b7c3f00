//! What a turn says while it runs.

use crate::conversation::{Message, TokenState};
use crate::mcp::jsonrpc::RawJson;
use crate::provider;
use serde::Serialize;

/// One event of a turn, in the JSON shape of Goose's API (`MessageEvent` of its OpenAPI document).
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type")]
pub enum Event<'a> {
    /// A message, or the next piece of one: pieces share their `id`.
    Message {
        /// What was said.
        message: &'a Message,
        /// What the session has cost so far.
        token_state: TokenState,
    },
    /// The turn ended early. Nothing follows.
    Error {
        /// Why, in one sentence.
        error: &'a str,
    },
    /// The turn is over. Nothing follows.
    Finish {
        /// `stop`, unless the model met a limit.
        reason: &'a str,
        /// What the session has cost so far.
        token_state: TokenState,
    },
    /// Another model answers from now on.
    ModelChange {
        /// Its name.
        model: &'a str,
        /// `lead` or `worker`.
        mode: &'a str,
    },
    /// What an MCP server says about a running call.
    Notification {
        /// The id of the tool request.
        request_id: &'a str,
        /// `{method, params}`.
        message: &'a RawJson,
    },
    /// The messages of the session are other ones now.
    UpdateConversation {
        /// All of them.
        conversation: &'a [Message],
    },
}

/// Who hears what a turn says. It is called from one thread at a time.
pub trait EventSink {
    /// Takes the event; it may wait until [`flush`](EventSink::flush).
    fn event(&mut self, event: Event<'_>);
    /// What was taken goes out now: nothing follows for a while.
    fn flush(&mut self);
    /// The model gave no answer. A message that says so follows.
    fn failed(&mut self, _error: &provider::Error) {}
}
