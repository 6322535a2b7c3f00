//! What is read from a server, and by whom.
//!
//! A thread of its own reads, so that notifications and the end are seen whenever they come. But a
//! call that is answered at once would pay for two wake-ups, of that thread and of the caller, so a
//! caller may read for itself ([`StdoutReader::read_while_waiting`]): it takes the line splitter, which is the right to
//! read, for a short while. When it leaves and nobody else waits, the thread holds back for a moment
//! in case the next call comes soon. Measured with calls one after the other: 30 of 100 µs saved.

use super::line_splitter::LineSplitter;
use crate::mcp::transport::{MessageHandler, Stream, TransportError};
use crate::sys::pipe::PipeReader;
use crate::sys::sync::{Clock, Condvar, Mutex, lock};
use std::io::Read;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

#[cfg(all(test, model))]
mod loom_tests;

/// How long a caller reads for itself before it leaves that to the thread.
const READ_WHILE_WAITING_LIMIT: Duration = Duration::from_millis(20);
/// How long stdout may go on after the server has exited: a descendant may hold it open.
const STDOUT_LINGER: Duration = Duration::from_millis(250);
/// How long the thread holds back after a caller has read. What the server says unasked meanwhile may
/// be seen up to twice as late.
const HOLD_BACK: Duration = Duration::from_millis(100);

/// What is read from; see [`PipeReader`], the only one there is outside of models.
pub(super) trait Source {
    /// Waits until there is something to read, the end included; false when the limit passes first.
    fn wait_readable(&self, limit: Duration) -> bool;
    /// Makes reading end now; false when that cannot be promised.
    fn stop(&self) -> bool;
}

impl Source for PipeReader {
    fn wait_readable(&self, limit: Duration) -> bool {
        PipeReader::wait_readable(self, limit)
    }

    fn stop(&self) -> bool {
        PipeReader::stop(self)
    }
}

pub(super) struct StdoutReader<S = PipeReader> {
    stdout: S,
    handler: Arc<dyn MessageHandler>,
    state: Mutex<ReadState>,
    changed: Condvar,
}

struct ReadState {
    /// The thread has seen the end.
    ended: bool,
    /// With whoever reads; here when nobody does.
    splitter: Option<LineSplitter>,
    /// Until when the thread holds back, if nobody waits.
    hold_back_until: Instant,
    /// How reading ended, for the thread to deal with.
    ended_with: Option<EndOfInput>,
}

/// How reading ended: an error, or nothing more to read.
pub(super) type EndOfInput = Option<TransportError>;

impl<S: Source> StdoutReader<S>
where
    for<'a> &'a S: Read,
{
    pub(super) fn new(stdout: S, handler: Arc<dyn MessageHandler>, max_line: usize) -> Self {
        StdoutReader {
            stdout,
            handler,
            state: Mutex::new(ReadState {
                ended: false,
                splitter: Some(LineSplitter::new(max_line)),
                hold_back_until: Clock::now(),
                ended_with: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// The thread's work: reads to the end.
    pub(super) fn read_all(&self) -> EndOfInput {
        loop {
            match self.wait_turn() {
                Ok(mut splitter) => {
                    let read = self.read_once(&mut splitter);
                    self.put_back(splitter, read);
                }
                Err(ended_with) => return ended_with,
            }
        }
    }

    /// Reads in the caller's thread until `done`, if nobody reads and it does not take long.
    pub(super) fn read_while_waiting(&self, done: &dyn Fn() -> bool) {
        let splitter = {
            let mut state = lock(&self.state);
            // Should the thread be reading, it will leave the next answer to the next caller.
            state.hold_back_until = Clock::now() + HOLD_BACK;
            state.splitter.take()
        };
        let Some(mut splitter) = splitter else { return };
        let end = Clock::now() + READ_WHILE_WAITING_LIMIT;
        let mut read = Ok(true);
        while matches!(read, Ok(true)) && !done() {
            let left = end.saturating_duration_since(Clock::now());
            if left.is_zero() || !self.stdout.wait_readable(left) {
                break;
            }
            read = self.read_once(&mut splitter);
        }
        self.put_back(splitter, read);
    }

    /// Makes reading end now. False when that cannot be promised: see [`PipeReader::stop`].
    pub(super) fn end(&self) -> bool {
        let certain = self.stdout.stop();
        lock(&self.state).hold_back_until = Clock::now();
        self.changed.notify_all();
        certain
    }

    /// The server has exited: makes reading end, should it not do so by itself in a moment.
    pub(super) fn end_soon(&self) {
        let going_on = |state: &mut ReadState| !state.ended;
        let state = lock(&self.state);
        let waited = self
            .changed
            .wait_timeout_while(state, STDOUT_LINGER, going_on);
        let still = !waited.unwrap_or_else(PoisonError::into_inner).0.ended;
        if still {
            self.end();
        }
    }

    fn read_once(&self, splitter: &mut LineSplitter) -> Result<bool, TransportError> {
        splitter.read(&mut &self.stdout, |line| {
            self.handler.message(line, Stream::Shared);
        })
    }

    /// Waits until it is the thread's wait_turn to read, or reading is ended_with.
    fn wait_turn(&self) -> Result<LineSplitter, EndOfInput> {
        let mut state = lock(&self.state);
        loop {
            if let Some(ended_with) = state.ended_with.take() {
                state.ended = true;
                self.changed.notify_all();
                return Err(ended_with);
            }
            let held_back = Clock::now() < state.hold_back_until && self.handler.is_idle();
            if !held_back && let Some(splitter) = state.splitter.take() {
                return Ok(splitter);
            }
            state = self
                .changed
                .wait_timeout(state, HOLD_BACK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn put_back(&self, splitter: LineSplitter, read: Result<bool, TransportError>) {
        let mut state = lock(&self.state);
        state.splitter = Some(splitter);
        match read {
            Ok(true) => {}
            Ok(false) => state.ended_with = Some(None),
            Err(error) => state.ended_with = Some(Some(error)),
        }
        // Asked under the lock: who comes later finds the splitter, who came before counts.
        let wanted = state.ended_with.is_some() || !self.handler.is_idle();
        drop(state);
        if wanted {
            self.changed.notify_all();
        }
    }
}
