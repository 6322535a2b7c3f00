//! The end of a server whose sockets the service manager keeps for its successor: not one request is refused.
//!
//! While turns end, requests for other turns wait here, as the registry tells them to. Then the server accepts no
//! more connections, what it has accepted is answered, and the turns that have waited get 503: a proxy that repeats
//! them finds the successor, for which the socket has kept them.

use crate::http::{Head, Method};
use crate::sys::lock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most requests that wait; the others get 503 at once.
const MAX_WAITING: usize = 256;
/// How long a client that has just connected has to send the head of its request.
const ARRIVAL: Duration = Duration::from_millis(250);
/// How long requests may take that were accepted before the end.
const REQUESTS: Duration = Duration::from_secs(10);

/// Of this process: its sockets are opened before there is a service.
pub(crate) static HANDOVER: Handover = Handover::new();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Turns end, and no other begins.
    Draining,
    /// No more connections are accepted.
    Ending,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Requests for turns that wait.
    waiting: usize,
    /// Requests that are answered, without those that last as long as their clients.
    active: usize,
}

/// How far the server is on its way to its end.
#[derive(Debug)]
pub(crate) struct Handover {
    /// Whether a successor gets the sockets; known before there are requests, which cost nothing without.
    has_successor: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// A request, until its response has ended.
#[derive(Debug)]
pub(crate) struct ActiveRequest<'a>(&'a Handover);

impl Handover {
    const fn new() -> Self {
        Handover {
            has_successor: AtomicBool::new(false),
            state: Mutex::new(State {
                phase: Phase::Serving,
                waiting: 0,
                active: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// The manager has opened a socket, and keeps it.
    pub(crate) fn expect_successor(&self) {
        self.has_successor.store(true, Relaxed);
    }

    /// Whether the successor shall accept what connects.
    pub(crate) fn is_ending(&self) -> bool {
        lock(&self.state).phase == Phase::Ending
    }

    /// From now on requests for turns wait.
    pub(crate) fn drain(&self) {
        if self.has_successor.load(Relaxed) {
            lock(&self.state).phase = Phase::Draining;
        }
    }

    /// Leaves what connects to the successor, lets the waiting requests go on, and returns when all requests have been
    /// answered, or have taken too long.
    pub(crate) fn end(&self) {
        if !self.has_successor.load(Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        state.phase = Phase::Ending;
        self.changed.notify_all();
        let begin = Instant::now();
        loop {
            let elapsed = begin.elapsed();
            let wait = match state.active {
                0 => ARRIVAL.saturating_sub(elapsed),
                _ => REQUESTS.saturating_sub(elapsed),
            };
            if wait.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Receives a request; it is active until the result is dropped.
    pub(crate) fn receive(&self, head: &Head) -> Option<ActiveRequest<'_>> {
        if !self.has_successor.load(Relaxed) || lasts(head) {
            return None;
        }
        lock(&self.state).active += 1;
        Some(ActiveRequest(self))
    }

    /// Waits while turns end, in the thread of a request for another one.
    pub(crate) fn wait(&self) {
        let mut state = lock(&self.state);
        if state.phase == Phase::Draining && state.waiting < MAX_WAITING {
            state.waiting += 1;
            let waits = |state: &mut State| state.phase == Phase::Draining;
            let ended = self.changed.wait_while(state, waits);
            ended.unwrap_or_else(PoisonError::into_inner).waiting -= 1;
        }
    }
}

impl Drop for ActiveRequest<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.active -= 1;
        if state.phase == Phase::Ending {
            self.0.changed.notify_all();
        }
    }
}

/// Whether the response is a stream or a WebSocket that ends with its client.
fn lasts(head: &Head) -> bool {
    head.method == Method::Get && (head.path == "/acp" || head.path.ends_with("/events"))
}
