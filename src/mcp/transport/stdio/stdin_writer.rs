//! Writes to a server's stdin: at once in the sending thread, or in a writer thread if the server is slow to
//! read.

use crate::transport::TransportError;
use gosling_sys as sys;
use gosling_sys::pipe::PipeWriter;
use gosling_sys::process::{Grace, Process};
use gosling_sys::{SMALL_STACK, lock};
use gosling_text::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most bytes that may wait for a server that does not read.
const MAX_BACKLOG: usize = 64 << 20;
/// How often the writer thread checks whether the pipe was closed.
const WRITER_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The capacity that an empty backlog keeps, in bytes.
const MIN_BACKLOG_CAPACITY: usize = 4 << 10;

/// The pipe to the server, and the bytes that wait for it.
pub(super) struct StdinWriter {
    process: Arc<Process>,
    state: Mutex<State>,
}

struct State {
    pipe: Pipe,
    backlog: VecDeque<u8>,
    /// A writer thread is writing the backlog.
    writer_running: bool,
    /// The number of bytes accepted so far, and of those written.
    accepted: u64,
    written: u64,
    /// Requests of which no byte was written, and their positions.
    unsent: VecDeque<(i64, u64)>,
}

enum Pipe {
    Open(PipeWriter),
    /// The server has closed its input. The stdout reader reports the end to the waiting requests.
    ServerClosed,
    /// This side has closed it.
    Closed,
}

impl StdinWriter {
    pub(super) fn new(pipe: PipeWriter, process: Arc<Process>) -> Self {
        StdinWriter {
            process,
            state: Mutex::new(State {
                pipe: Pipe::Open(pipe),
                backlog: VecDeque::new(),
                writer_running: false,
                accepted: 0,
                written: 0,
                unsent: VecDeque::new(),
            }),
        }
    }

    pub(super) fn send(
        this: &Arc<Self>,
        message: Vec<u8>,
        request: Option<i64>,
        name: &str,
    ) -> Result<(), TransportError> {
        Self::send_unframed(this, frame(message), request, name)
    }

    /// As [`send`](Self::send), for bytes that contain their own framing.
    pub(super) fn send_unframed(
        this: &Arc<Self>,
        line: Vec<u8>,
        request: Option<i64>,
        name: &str,
    ) -> Result<(), TransportError> {
        let mut state = lock(&this.state);
        let waiting = state.backlog.len();
        if waiting > 0 && waiting + line.len() > MAX_BACKLOG {
            return Err(TransportError::NotReading { waiting });
        }
        // The writer thread handles the error of a pipe that accepts nothing.
        let written = match &mut state.pipe {
            Pipe::Open(pipe) if waiting == 0 => pipe.write_some(&line).unwrap_or(0),
            _ => 0,
        };
        if let (0, Some(id)) = (written, request) {
            let begin = state.accepted;
            state.unsent.push_back((id, begin));
        }
        match state.pipe {
            Pipe::Open(_) => {}
            Pipe::ServerClosed => return Ok(()),
            Pipe::Closed => return Err(TransportError::Closed),
        }
        state.accepted += line.len() as u64;
        state.written += written as u64;
        state.backlog.extend(&line[written..]);
        if !state.backlog.is_empty() && !state.writer_running {
            let drained = this.clone();
            let name = format!("mcp {name} writer");
            sys::spawn(name, Some(SMALL_STACK), move || drained.write_backlog()).map_err(|e| {
                TransportError::Io(format!(
                    "no thread could be started to write to the server: {e}"
                ))
            })?;
            state.writer_running = true;
        }
        Ok(())
    }

    /// Whether any byte of this request may have been written.
    pub(super) fn may_have_been_sent(&self, request: i64) -> bool {
        let mut state = lock(&self.state);
        let place = state.unsent.iter().position(|(id, _)| *id == request);
        place.and_then(|place| state.unsent.remove(place)).is_none()
    }

    /// The writer thread: writes until the backlog is empty or the pipe is closed.
    fn write_backlog(&self) {
        loop {
            let room = {
                let mut state = lock(&self.state);
                let State {
                    pipe,
                    backlog,
                    written,
                    unsent,
                    ..
                } = &mut *state;
                let Pipe::Open(pipe) = pipe else { return };
                let Ok(wrote) = pipe.write_some(backlog.as_slices().0) else {
                    drop(state);
                    return self.end_server();
                };
                backlog.drain(..wrote);
                *written += wrote as u64;
                while unsent.front().is_some_and(|(_, begin)| *begin < *written) {
                    unsent.pop_front();
                }
                if backlog.is_empty() {
                    backlog.shrink_to(MIN_BACKLOG_CAPACITY);
                    state.writer_running = false;
                    return;
                }
                pipe.room()
            };
            room.wait(WRITER_POLL_INTERVAL);
        }
    }

    /// Ends a server that does not accept input. Its output is read to the end, and the stdout reader reports
    /// the reason.
    fn end_server(&self) {
        self.closed_by_server();
        self.process.end(Grace::SHORT);
    }

    /// Marks the pipe as closed by the server: later messages are dropped, and the reader reports the reason.
    /// False if this side had closed the pipe.
    pub(super) fn closed_by_server(&self) -> bool {
        let mut state = lock(&self.state);
        if let Pipe::Closed = state.pipe {
            return false;
        }
        state.end(Pipe::ServerClosed);
        true
    }

    /// Closes the pipe; later messages are refused.
    pub(super) fn close(&self) {
        lock(&self.state).end(Pipe::Closed);
    }
}

impl State {
    fn end(&mut self, pipe: Pipe) {
        self.pipe = pipe;
        self.backlog = VecDeque::new();
    }
}

/// One message as one line.
fn frame(mut message: Vec<u8>) -> Vec<u8> {
    json::in_one_line(&mut message);
    message.push(b'\n');
    message
}

#[cfg(test)]
mod tests;
