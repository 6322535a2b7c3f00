//! The messages to the client that are not written yet, and the thread that writes them.

use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many bytes may wait before a turn has to wait.
const SOFT_LIMIT: usize = 4 << 20;
/// How many bytes may wait at all; a client that reads so little is disconnected.
const HARD_LIMIT: usize = 128 << 20;
/// How long a turn waits for a client that does not read.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a waiting turn checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Writes whole messages to the client.
pub trait MessageWriter: Send {
    /// Writes the messages in order; returns when all are written.
    ///
    /// # Errors
    /// When the client is gone, which ends the connection.
    fn write(&mut self, messages: &[Vec<u8>]) -> io::Result<()>;
}

/// The messages to one client that are not written yet. Clones share the same queue.
#[derive(Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Cancelled when nothing more can be written.
    gone: Cancel,
}

#[derive(Default)]
struct State {
    queue: Vec<Vec<u8>>,
    /// The bytes in the queue and in the batch that is being written.
    waiting: usize,
    is_closed: bool,
    writer: Option<JoinHandle<()>>,
}

impl Outbox {
    /// Starts the thread that writes with `writer`. `gone` is cancelled when it fails, or when the client reads
    /// too little.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub fn new(
        name: &str,
        mut writer: impl MessageWriter + 'static,
        gone: Cancel,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            gone,
        });
        let of_thread = shared.clone();
        let write = move || of_thread.write_all(&mut writer);
        let thread = sys::spawn(format!("{name} writer"), None, write)?;
        lock(&shared.state).writer = Some(thread);
        Ok(Outbox { shared })
    }

    /// Queues a message. Never blocks; does nothing if the client is gone.
    pub fn send(&self, message: Vec<u8>) {
        self.push(vec![message]);
    }

    /// Queues the messages of a turn once there is room; false if the client is gone, reads nothing for 30
    /// seconds, or `cancel` fires first.
    pub fn send_when_room(&self, messages: Vec<Vec<u8>>, cancel: &Cancel) -> bool {
        let mut state = lock(&self.shared.state);
        let mut seen = state.waiting;
        let mut since = Instant::now();
        while state.waiting > SOFT_LIMIT {
            if state.is_closed || cancel.is_cancelled() || since.elapsed() > STALL_TIMEOUT {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, POLL_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.waiting < seen {
                since = Instant::now();
            }
            seen = state.waiting;
        }
        drop(state);
        self.push(messages)
    }

    fn push(&self, messages: Vec<Vec<u8>>) -> bool {
        let mut state = lock(&self.shared.state);
        if state.is_closed {
            return false;
        }
        let bytes: usize = messages.iter().map(Vec::len).sum();
        // A single long message is sent in any case.
        if state.waiting > 0 && state.waiting + bytes > HARD_LIMIT {
            state.is_closed = true;
            let dropped = std::mem::take(&mut state.queue);
            state.waiting -= dropped.iter().map(Vec::len).sum::<usize>();
            drop(state);
            log::warn!("client disconnected, as it does not read");
            self.shared.changed.notify_all();
            self.shared.gone.cancel();
            return false;
        }
        let was_empty = state.queue.is_empty();
        state.waiting += bytes;
        state.queue.extend(messages);
        drop(state);
        if was_empty {
            self.shared.changed.notify_all();
        }
        true
    }

    /// Writes what is queued, for `timeout` at most, and ends the thread if that suffices.
    pub fn close(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut state = lock(&self.shared.state);
        state.is_closed = true;
        self.shared.changed.notify_all();
        while state.waiting > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let writer = state.writer.take();
        drop(state);
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn write_all(&self, writer: &mut dyn MessageWriter) {
        loop {
            let batch = {
                let mut state = lock(&self.state);
                while state.queue.is_empty() {
                    if state.is_closed {
                        return;
                    }
                    let waited = self.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                std::mem::take(&mut state.queue)
            };
            let bytes: usize = batch.iter().map(Vec::len).sum();
            let written = writer.write(&batch);
            let mut state = lock(&self.state);
            state.waiting -= bytes;
            if let Err(error) = written {
                log::debug!("client gone reason={error}");
                state.is_closed = true;
                state.waiting = 0;
                state.queue = Vec::new();
            }
            let is_gone = state.is_closed && state.waiting == 0 && state.queue.is_empty();
            drop(state);
            self.changed.notify_all();
            if is_gone {
                self.gone.cancel();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
