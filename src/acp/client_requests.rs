//! Requests to the client that are not answered yet.

use super::Outbox;
use crate::mcp::jsonrpc::{self, ErrorObject, INTERNAL_ERROR, Id, RawJson};
use crate::sys::cancel::{Cancel, NoMessage};
use crate::sys::lock;
use crossbeam_channel::bounded;
use serde::Serialize;
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

/// The most requests that may be pending.
const MAX_PENDING: usize = 1_000;

/// How many of them nothing waits for any more.
const MAX_ABANDONED: usize = 100;

/// What the client answered.
pub(super) type Answer = Result<RawJson, ErrorObject>;

/// Takes the answer, in the thread that reads. It must not block.
type Handler = Box<dyn FnOnce(Answer) + Send>;

/// See the [module](self).
pub(super) struct ClientRequests {
    outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: i64,
    pending: HashMap<i64, Handler>,
    /// Those of them that nothing waits for any more, the oldest first.
    abandoned: VecDeque<i64>,
    is_closed: bool,
}

impl ClientRequests {
    pub(super) fn new(outbox: Outbox) -> Self {
        ClientRequests {
            outbox,
            state: Mutex::default(),
        }
    }

    /// Sends a request and returns its id. `handler` gets the answer, or an error if the request cannot be sent
    /// or the connection ends first; it is dropped if the request is withdrawn.
    pub(super) fn send(
        &self,
        method: &str,
        params: &impl Serialize,
        handler: impl FnOnce(Answer) + Send + 'static,
    ) -> i64 {
        let id = {
            let mut state = lock(&self.state);
            state.last += 1;
            let id = state.last;
            if state.is_closed || state.pending.len() >= MAX_PENDING {
                drop(state);
                handler(Err(unavailable()));
                return id;
            }
            state.pending.insert(id, Box::new(handler));
            id
        };
        if !self.write(id, method, params) {
            self.complete(&Id::Number(id), Err(unavailable()));
        }
        id
    }

    /// Sends a request and waits for its answer. It is withdrawn if there is none.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn ask(
        &self,
        method: &str,
        params: &impl Serialize,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<Answer, NoMessage> {
        let (sender, answer) = bounded(1);
        let id = self.send(method, params, move |answer| drop(sender.send(answer)));
        let answer = cancel.receive(&answer, timeout);
        answer.inspect_err(|_| self.withdraw(id))
    }

    /// Writes a request; false if it has no JSON form.
    fn write(&self, id: i64, method: &str, params: &impl Serialize) -> bool {
        let message = jsonrpc::request(&Id::Number(id), method, Some(params));
        if let Err(error) = &message {
            log::error!("a request has no JSON form method={method} reason={error}");
        }
        message.map(|message| self.outbox.send(message)).is_ok()
    }

    /// Sends a request whose answer is ignored.
    pub(super) fn send_only(&self, method: &str, params: &impl Serialize) {
        let id = {
            let mut state = lock(&self.state);
            state.last += 1;
            state.last
        };
        self.write(id, method, params);
    }

    /// Passes an answer on. An answer without a pending request is ignored: it may be late.
    pub(super) fn complete(&self, id: &Id, answer: Answer) {
        let handler = match id {
            Id::Number(id) => lock(&self.state).pending.remove(id),
            Id::String(_) => None,
        };
        match handler {
            Some(handler) => handler(answer),
            None => log::debug!("answer of the client without a request id={id}"),
        }
    }

    /// Withdraws a request that is still pending, and tells the client so.
    pub(super) fn withdraw(&self, id: i64) {
        // Dropped after the lock is released, because a handler may own anything.
        let handler = lock(&self.state).pending.remove(&id);
        if handler.is_some() {
            self.tell_cancelled(id);
        }
    }

    /// Tells the client that nothing waits for its answer any more. The handler still gets it, unless many others
    /// were abandoned since.
    pub(super) fn abandon(&self, id: i64) {
        let oldest = {
            let mut state = lock(&self.state);
            if !state.pending.contains_key(&id) {
                return;
            }
            state.abandoned.push_back(id);
            let State {
                pending, abandoned, ..
            } = &mut *state;
            abandoned.retain(|id| pending.contains_key(id));
            let is_full = abandoned.len() > MAX_ABANDONED;
            let oldest = abandoned.front().copied().filter(|_| is_full);
            oldest.and_then(|oldest| pending.remove(&oldest))
        };
        drop(oldest);
        self.tell_cancelled(id);
    }

    fn tell_cancelled(&self, id: i64) {
        let params = json!({ "requestId": id });
        if let Ok(message) = jsonrpc::notification("$/cancel_request", Some(&params)) {
            self.outbox.send(message);
        }
    }

    /// Ends every pending request with an error; later ones fail at once.
    pub(super) fn close(&self) {
        let pending = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            std::mem::take(&mut state.pending)
        };
        for handler in pending.into_values() {
            handler(Err(unavailable()));
        }
    }
}

fn unavailable() -> ErrorObject {
    ErrorObject::new(INTERNAL_ERROR, "the client is not connected")
}

#[cfg(test)]
mod tests;
