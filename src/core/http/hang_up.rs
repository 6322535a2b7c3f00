//! Detects that clients have disconnected while their requests wait: one thread for all of them, which exists while
//! there are any.

use super::Stream;
use crate::sys;
use crate::sys::cancel::{Cancel, WeakCancel};
use crate::sys::lock;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The interval at which the clients of waiting requests are looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Detects that the client of a request has disconnected. Cheap to clone; keeps the socket open while it
/// exists.
#[derive(Debug, Clone)]
pub struct HangUp(Client);

#[derive(Debug, Clone)]
enum Client {
    Socket(Arc<Stream>),
    /// This program, see [`Router::call`](super::Router::call).
    Caller(Cancel),
}

impl HangUp {
    pub(super) fn of_socket(stream: &Arc<Stream>) -> Self {
        HangUp(Client::Socket(stream.clone()))
    }

    pub(super) fn of_caller(cancel: &Cancel) -> Self {
        HangUp(Client::Caller(cancel.clone()))
    }

    /// Whether the client closed its side or the connection broke. Does not block. If the client sent further
    /// requests before it left, this is false until they have been read.
    pub fn happened(&self) -> bool {
        match &self.0 {
            Client::Socket(stream) => stream.hung_up(),
            Client::Caller(cancel) => cancel.is_cancelled(),
        }
    }

    /// Cancels `token` when that has happened, at most 0.1 s later.
    pub fn watch(self, token: WeakCancel) {
        let mut watched = lock(&WATCHED);
        watched.requests.push((self, token));
        if !watched.has_thread {
            let started = sys::spawn("hang-ups".to_owned(), None, watch_all);
            // Without it, a client that has left is noticed when its response is written, or by the next request.
            watched.has_thread = started.is_ok();
        }
    }
}

struct Watched {
    requests: Vec<(HangUp, WeakCancel)>,
    has_thread: bool,
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched {
    requests: Vec::new(),
    has_thread: false,
});

/// Looks at the clients until no request waits.
fn watch_all() {
    loop {
        thread::sleep(INTERVAL);
        // Without the lock, because this calls the system, and hooks run.
        let mut requests = std::mem::take(&mut lock(&WATCHED).requests);
        requests.retain(|(hang_up, token)| {
            if token.is_needed() && hang_up.happened() {
                token.cancel();
            }
            token.is_needed()
        });
        let mut watched = lock(&WATCHED);
        watched.requests.append(&mut requests);
        if watched.requests.is_empty() {
            watched.has_thread = false;
            return;
        }
    }
}
