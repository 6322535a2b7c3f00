//! The messages that answer one request. They are kept, so that a client whose connection broke can resume. MCP 2025-11-25, basic/transports, resumability and redelivery.

use crate::http::EventStream;
use crate::mcp::server::{ReplySink, is_notification};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many bytes of messages a stream keeps. Beyond this, the oldest messages are dropped: notifications, since
/// the response comes last, and the last message is always kept.
const MAX_KEPT: usize = 1 << 20;

/// The messages that answer one request, in their order.
#[derive(Default)]
pub(super) struct ResponseStream {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Arc<Vec<u8>>>,
    bytes: usize,
    /// How many messages were dropped. Messages are numbered from 1.
    dropped: u64,
    /// No more messages follow.
    ended: bool,
    /// How many readers there were; the number of the newest one.
    readers: u64,
    /// The reader that gets the messages.
    active_reader: u64,
}

/// The first outcome of a request.
pub(super) enum First {
    /// The response, without a message before it.
    Response(Vec<u8>),
    /// No message at all: there was no request, or it was cancelled.
    Nothing,
    /// More messages follow, or precede the response.
    More,
}

/// The id of an event: the number of its stream, and of its message in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) message: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.message)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (stream, message) = text.trim().split_once('-').ok_or(())?;
        Ok(EventId {
            stream: stream.parse().map_err(drop)?,
            message: message.parse().map_err(drop)?,
        })
    }
}

impl ResponseStream {
    /// Where the server sends messages. The stream ends when the last clone of the sink is dropped.
    pub(super) fn sink(self: &Arc<Self>) -> ReplySink {
        let end = End(self.clone());
        Arc::new(move |message| end.take(message))
    }

    /// Waits for the first message or the end of the stream, at most for `timeout`.
    pub(super) fn first(&self, timeout: Duration) -> First {
        let waits = |state: &mut State| !state.ended && state.kept.is_empty();
        let (mut state, _) = self
            .changed
            .wait_timeout_while(lock(&self.state), timeout, waits)
            .unwrap_or_else(PoisonError::into_inner);
        match state.kept.back() {
            None if state.ended => First::Nothing,
            Some(only) if state.ended && state.kept.len() == 1 => {
                if is_notification(only) {
                    First::More
                } else {
                    state.kept.pop_back().map_or(First::Nothing, response)
                }
            }
            _ => First::More,
        }
    }

    /// The number of a new reader. The newest reader gets the messages: a client that resumes must not lose them
    /// to its previous connection, even if that one starts to read later.
    pub(super) fn new_reader(&self) -> u64 {
        let mut state = lock(&self.state);
        state.readers += 1;
        state.readers
    }

    /// Makes this the active reader. False if a newer reader is active.
    fn activate(&self, reader: u64) -> bool {
        let mut state = lock(&self.state);
        let is_newer = reader > state.active_reader;
        if is_newer {
            state.active_reader = reader;
            self.changed.notify_all();
        }
        is_newer
    }

    /// Writes the messages after the event `last` to `out`, until the stream ends, `ended` is cancelled, the
    /// client disconnects, or a newer reader is active.
    pub(super) fn write_to(
        self: &Arc<Self>,
        out: &mut EventStream,
        reader: u64,
        last: EventId,
        ended: &Cancel,
    ) {
        // The client may have closed this connection and read from another one already.
        if !out.is_connected() || !self.activate(reader) {
            return;
        }
        let EventId {
            stream: number,
            message: mut sent,
        } = last;
        let gone = out.gone().clone();
        let wake = |token: &Cancel| {
            let stream = self.clone();
            token.on_cancel(move || stream.wake())
        };
        let _hooks = (wake(&gone), wake(ended));
        loop {
            let is_cancelled = || gone.is_cancelled() || ended.is_cancelled();
            let waits = |state: &mut State| {
                !state.ended
                    && state.active_reader == reader
                    && state.count() <= sent
                    && !is_cancelled()
            };
            let state = self
                .changed
                .wait_while(lock(&self.state), waits)
                .unwrap_or_else(PoisonError::into_inner);
            if state.active_reader != reader || is_cancelled() {
                return;
            }
            let next = state.after(sent);
            let is_complete = state.ended;
            drop(state);
            for (message, json) in next {
                let id = EventId {
                    stream: number,
                    message,
                };
                out.queue_with_id(id, &json);
                sent = message;
            }
            out.flush();
            if is_complete {
                return;
            }
        }
    }

    /// Whether no more messages follow.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.state).ended
    }

    /// Whether the stream has ended, and has no message after number `sent`.
    pub(super) fn is_complete_after(&self, sent: u64) -> bool {
        let state = lock(&self.state);
        state.ended && state.count() <= sent
    }

    /// How many bytes of messages it holds.
    pub(super) fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }

    /// Wakes the readers. Under the lock, so that none misses it.
    fn wake(&self) {
        let state = lock(&self.state);
        self.changed.notify_all();
        drop(state);
    }
}

impl State {
    /// How many messages there were.
    fn count(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    fn push(&mut self, message: Vec<u8>) {
        self.bytes += message.len();
        self.kept.push_back(Arc::new(message));
        while self.bytes > MAX_KEPT && self.kept.len() > 1 {
            if let Some(oldest) = self.kept.pop_front() {
                self.bytes -= oldest.len();
                self.dropped += 1;
            }
        }
    }

    /// The kept messages after number `sent`, with their numbers.
    fn after(&self, sent: u64) -> Vec<(u64, Arc<Vec<u8>>)> {
        let numbered = (self.dropped + 1..).zip(&self.kept);
        let next = numbered.filter(|(number, _)| *number > sent);
        next.map(|(number, message)| (number, message.clone()))
            .collect()
    }
}

/// The message as the only response. No reader shares it yet.
fn response(message: Arc<Vec<u8>>) -> First {
    First::Response(Arc::unwrap_or_clone(message))
}

/// Ends the stream when it is dropped.
struct End(Arc<ResponseStream>);

impl End {
    fn take(&self, message: Vec<u8>) {
        lock(&self.0.state).push(message);
        self.0.changed.notify_all();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.0.state).ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
