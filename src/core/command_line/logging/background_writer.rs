//! Writes records in a thread, so that logging never blocks, whatever state the destination is in.
//!
//! A record costs its caller a lock, and a system call if the thread sleeps. The thread writes all queued records
//! with one system call. Where no thread can be started, the callers write, and wait for the destination.

use crate::sys::{self, SMALL_STACK, lock};
use log::Level;
use std::io::{ErrorKind, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
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
    /// The destination, unless the thread or a caller has taken it.
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
        if !state.runs && state.sink.is_some() {
            let name = self.name.to_owned();
            // The next record tries again.
            state.runs = sys::spawn(name, Some(SMALL_STACK), || self.write_queued(true)).is_ok();
        }
        let sleeps = state.queue.is_empty() && !state.writes;
        if state.dropped > 0 || state.queue.len() + lines.len() > MAX_QUEUED {
            state.dropped += 1;
        } else {
            state.queue.extend_from_slice(lines.as_bytes());
        }
        let runs = state.runs;
        drop(state);
        if !runs {
            self.write_queued(false);
        } else if sleeps {
            self.filled.notify_one();
        }
    }

    /// Waits until everything has been written, at most until `end`; returns at once if writing fails.
    pub(super) fn flush(&self, end: Instant) {
        let mut state = lock(&self.state);
        while !state.fails && (state.writes || (state.runs && !state.queue.is_empty())) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.settled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread's function. It writes all lines, however long that takes, until the destination is closed. A caller
    /// writes those that are queued, unless another one does so, and leaves what fails to the next.
    fn write_queued(&self, is_thread: bool) {
        let mut state = lock(&self.state);
        let may_write = state.runs == is_thread;
        let Some(mut sink) = state.sink.take_if(|_| may_write) else {
            return;
        };
        let (mut lines, mut pause) = (Vec::new(), RETRY.0);
        loop {
            if lines.is_empty() {
                (lines, state) = self.next(state, is_thread);
            }
            if lines.is_empty() {
                break;
            }
            drop(state);
            let written = sink.write(&lines);
            state = lock(&self.state);
            match written.map_err(|error| error.kind()) {
                Ok(n @ 1..) => {
                    lines.drain(..n);
                    (state.fails, pause) = (false, RETRY.0);
                }
                Err(ErrorKind::Interrupted) => {}
                Err(ErrorKind::BrokenPipe) => {
                    state.queue = Vec::new();
                    (state.writes, state.closed) = (false, true);
                    return self.settled.notify_all();
                }
                failed => {
                    // A slow reader may continue soon, so this does not count as a failure.
                    state.fails = !is_thread || failed != Err(ErrorKind::WouldBlock);
                    if !is_thread {
                        break;
                    }
                    self.settled.notify_all();
                    drop(state);
                    thread::sleep(pause);
                    pause = RETRY.1.min(pause * 2);
                    state = lock(&self.state);
                }
            }
        }
        lines.append(&mut state.queue);
        (state.queue, state.sink, state.writes) = (lines, Some(sink), false);
        self.settled.notify_all();
    }

    /// Takes the queued lines, for which the thread waits, and the count of dropped records unless writing fails.
    fn next<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        is_thread: bool,
    ) -> (Vec<u8>, MutexGuard<'a, State>) {
        state.writes = false;
        self.settled.notify_all();
        while is_thread && state.queue.is_empty() && state.dropped == 0 {
            let waited = self.filled.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.writes = true;
        let mut lines = std::mem::take(&mut state.queue);
        if state.dropped > 0 && !state.fails {
            let dropped = std::mem::take(&mut state.dropped);
            let warning = format!("log records dropped: the queue was full count={dropped}");
            let warning = super::line(Some(Level::Warn), &warning, self.name != "log file");
            lines.extend_from_slice(warning.as_bytes());
        }
        (lines, state)
    }
}

#[cfg(test)]
mod tests;
