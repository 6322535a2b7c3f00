//! What is written to a server: at once by whoever sends it, later by a thread of its own if the
//! server does not keep up.

use crate::mcp::transport::TransportError;
use crate::sys;
use crate::sys::pipe::PipeWriter;
use crate::sys::process::{Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How much may wait for a server that does not read, in bytes.
const MAX_BACKLOG: usize = 64 << 20;
/// How long the writer thread holds on to a pipe before it looks whether it is still wanted.
const WRITER_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// What an empty backlog keeps, in bytes.
const MIN_BACKLOG_CAPACITY: usize = 4 << 10;

/// What waits to be written, and the pipe.
pub(super) struct StdinWriter {
    process: Arc<Process>,
    state: Mutex<State>,
}

struct State {
    pipe: Pipe,
    backlog: VecDeque<u8>,
    /// A writer thread is at work on the backlog.
    writer_running: bool,
    /// How many bytes were handed over, and how many of them written.
    accepted: u64,
    written: u64,
    /// Requests of which no byte was written, and where they begin.
    unsent: VecDeque<(i64, u64)>,
}

enum Pipe {
    Open(PipeWriter),
    /// The server does not listen any more. The reader of its output tells everybody who waits.
    ServerClosed,
    /// This end closed it.
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
        let line = frame(message);
        let mut state = lock(&this.state);
        let waiting = state.backlog.len();
        if waiting > 0 && waiting + line.len() > MAX_BACKLOG {
            return Err(TransportError::NotReading { waiting });
        }
        // What is wrong with a pipe that takes nothing, the writer thread will see.
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
            sys::spawn(name, Some(SMALL_STACK), move || drained.write_backlog())
                .map_err(|e| TransportError::Io(format!("no thread to write with: {e}")))?;
            state.writer_running = true;
        }
        Ok(())
    }

    /// Whether any of this request may have been written.
    pub(super) fn may_have_been_sent(&self, request: i64) -> bool {
        let mut state = lock(&self.state);
        let place = state.unsent.iter().position(|(id, _)| *id == request);
        place.and_then(|place| state.unsent.remove(place)).is_none()
    }

    /// The writer thread's work: until nothing waits any more or the pipe is closed.
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

    /// A server that takes no input is of no use, should it still run. What it has said by then is
    /// read to its end, and the reader of stdout finds out why.
    fn end_server(&self) {
        self.closed_by_server();
        self.process.end(Grace::SHORT);
    }

    /// The server is at its end: what is sent from now on gets no answer, and the reason comes from
    /// the reader. False if we had closed the pipe, so that its end is no surprise.
    pub(super) fn closed_by_server(&self) -> bool {
        let mut state = lock(&self.state);
        if let Pipe::Closed = state.pipe {
            return false;
        }
        state.end(Pipe::ServerClosed);
        true
    }

    /// Nothing may be sent from now on, and the server sees the end of its input.
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

/// One message as one line. Line breaks inside JSON are white space (a string cannot hold one), so
/// they may become spaces.
fn frame(mut message: Vec<u8>) -> Vec<u8> {
    for byte in &mut message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    message.push(b'\n');
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cancel::Cancel;
    use crate::sys::process::Command;

    #[test]
    fn what_comes_after_the_end_has_reached_nobody() {
        let (process, pipes) = Process::spawn(Command::new("cat"), None, &Cancel::new()).unwrap();
        let pipe = PipeWriter::new(pipes.stdin).unwrap();
        let stdin_writer = Arc::new(StdinWriter::new(pipe, Arc::new(process)));
        let send = |id| StdinWriter::send(&stdin_writer, b"{}".to_vec(), Some(id), "cat");
        send(1).unwrap();
        stdin_writer.closed_by_server();
        send(2).unwrap();
        stdin_writer.close();
        assert!(matches!(send(3), Err(TransportError::Closed)));
        assert_eq!(
            [1, 2, 3].map(|id| stdin_writer.may_have_been_sent(id)),
            [true, false, false]
        );
    }

    #[test]
    fn a_message_is_one_line_whatever_white_space_it_holds() {
        let framed = frame(b"{\"a\":\r\n [1,\n2]}".to_vec());
        assert_eq!(framed, b"{\"a\":   [1, 2]}\n");
    }
}
