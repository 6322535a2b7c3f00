//! Writes records in a thread, so that logging never blocks, whatever state the destination is in.
//!
//! A record costs its caller a lock, and a system call if the thread sleeps. The thread writes all queued records
//! with one system call.

use crate::sys::{self, SMALL_STACK, lock};
use log::Level;
use std::io::{ErrorKind, Write};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The size of the queue, in bytes. Records beyond it are dropped and counted.
const MAX_QUEUED: usize = 512 << 10;
/// The shortest and the longest pause before a failed write is retried.
const RETRY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A writer for records. Its thread starts with the first record and ends with the process.
pub(super) struct BackgroundWriter {
    /// The name of the thread, for example `log file`.
    name: &'static str,
    state: Mutex<State>,
    /// Signals that the queue is not empty.
    filled: Condvar,
    /// Signals that everything has been written, or that a write has failed.
    settled: Condvar,
}

#[derive(Default)]
struct State {
    /// The destination, until the thread takes it.
    sink: Option<Box<dyn Write + Send>>,
    /// Whether the thread runs.
    runs: bool,
    /// The queued lines.
    queue: Vec<u8>,
    /// How many records were dropped. No record is queued until the count has been written.
    dropped: u64,
    /// Whether the thread is writing.
    writes: bool,
    /// Whether the last write failed; it is retried.
    fails: bool,
    /// Whether the destination is closed for good.
    closed: bool,
}

impl BackgroundWriter {
    /// Creates a writer for `sink`.
    pub(super) fn new(name: &'static str, sink: Box<dyn Write + Send>) -> Self {
        BackgroundWriter {
            name,
            state: Mutex::new(State {
                sink: Some(sink),
                ..State::default()
            }),
            filled: Condvar::new(),
            settled: Condvar::new(),
        }
    }

    /// Queues one or more complete lines, or counts them as dropped.
    pub(super) fn push(&'static self, lines: &str) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if !state.runs {
            let name = self.name.to_owned();
            // Without a thread the queue fills up; the next record tries again.
            state.runs = sys::spawn(name, Some(SMALL_STACK), || self.run()).is_ok();
        }
        if state.dropped > 0 || state.queue.len() + lines.len() > MAX_QUEUED {
            state.dropped += 1;
            return;
        }
        let sleeps = state.queue.is_empty() && !state.writes;
        state.queue.extend_from_slice(lines.as_bytes());
        drop(state);
        if sleeps {
            self.filled.notify_one();
        }
    }

    /// Waits until everything has been written, at most until `end`; returns at once if writing fails.
    pub(super) fn flush(&self, end: Instant) {
        let mut state = lock(&self.state);
        while state.runs && !state.fails && (state.writes || !state.queue.is_empty()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.settled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread's function.
    fn run(&self) {
        let Some(mut sink) = lock(&self.state).sink.take() else {
            return;
        };
        loop {
            let lines = self.next();
            if !self.write(&mut *sink, &lines) {
                return;
            }
        }
    }

    /// Waits for queued lines and takes them.
    fn next(&self) -> Vec<u8> {
        let mut state = lock(&self.state);
        state.writes = false;
        self.settled.notify_all();
        while state.queue.is_empty() {
            let waited = self.filled.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.writes = true;
        let mut lines = std::mem::take(&mut state.queue);
        let dropped = std::mem::take(&mut state.dropped);
        drop(state);
        if dropped > 0 {
            let warning = format!("log records dropped: the queue was full count={dropped}");
            let warning = super::line(Some(Level::Warn), &warning, self.name != "log file");
            lines.extend_from_slice(warning.as_bytes());
        }
        lines
    }

    /// Writes all lines, however long that takes; returns false if the destination is closed.
    fn write(&self, sink: &mut dyn Write, lines: &[u8]) -> bool {
        let mut rest = lines;
        let mut pause = RETRY.0;
        while !rest.is_empty() {
            match sink.write(rest) {
                Ok(n @ 1..) => {
                    rest = &rest[n..];
                    self.set(|state| state.fails = false);
                    pause = RETRY.0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    self.set(|state| {
                        state.queue = Vec::new();
                        (state.writes, state.closed) = (false, true);
                    });
                    return false;
                }
                failed => {
                    // A slow reader may continue soon, so this does not count as a failure.
                    let slow = failed.is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
                    self.set(|state| state.fails = !slow);
                    thread::sleep(pause);
                    pause = RETRY.1.min(pause * 2);
                }
            }
        }
        true
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.settled.notify_all();
    }
}

#[cfg(test)]
mod tests;
