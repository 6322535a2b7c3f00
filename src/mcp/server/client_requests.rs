//! What a server asks of the requests of its client, beside what a client needs of those of its server.

use crate::incoming_requests::{IncomingRequests, Limits};
use crate::jsonrpc::{BEGIN, Id};
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use std::time::Duration;

impl Limits {
    /// The limits of the calls of one client.
    pub const CALLS: Limits = Limits {
        answered: 64,
        alive: 128,
    };
}

impl<T> IncomingRequests<T> {
    /// Whether the request with this id runs and is not cancelled.
    pub fn is_running(&self, id: &Id) -> bool {
        lock(&self.state).running.contains_key(id)
    }

    /// Whether a request runs, even a cancelled one.
    pub fn is_busy(&self) -> bool {
        lock(&self.state).alive > 0
    }

    /// The token of a running request.
    pub fn token(&self, id: &Id) -> Option<Cancel> {
        let state = lock(&self.state);
        state.running.get(id).map(|running| running.cancel.clone())
    }

    /// Refuses later requests and cancels all, which get no answers.
    pub fn withdraw_all(&self) {
        lock(&self.state).running.clear();
        self.cancel_all();
    }

    /// Waits until no request runs, for `timeout` at most.
    pub fn settle(&self, timeout: Duration) {
        drop(self.wait_ended(timeout, 0));
    }
}

/// Whether `message`, which was written here, is a [notification](crate::jsonrpc::notification) rather than a [response](crate::jsonrpc::response).
pub fn is_notification(message: &[u8]) -> bool {
    let rest = message.strip_prefix(BEGIN);
    rest.is_some_and(|rest| rest.starts_with(br#","method":"#))
}
