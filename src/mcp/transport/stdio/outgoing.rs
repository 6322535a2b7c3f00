//! What is written to a server: at once by whoever sends it, later by a thread of its own if the
//! server does not keep up.

use crate::mcp::transport::TransportError;
use crate::sys::pipe::PipeWriter;
use crate::sys::{SMALL_STACK, lock};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How much may wait for a server that does not read, in bytes.
const MAX_BACKLOG: usize = 64 << 20;
/// How long the writer thread holds on to a pipe before it looks whether it is still wanted.
const WRITER_LOOKS: Duration = Duration::from_millis(50);
/// What an empty backlog keeps, in bytes.
const KEPT: usize = 4 << 10;

/// What waits to be written, and the pipe.
pub(super) struct Outgoing {
    state: Mutex<OutgoingState>,
}

struct OutgoingState {
    pipe: Option<PipeWriter>,
    backlog: VecDeque<u8>,
    /// A writer thread is at work on the backlog.
    draining: bool,
}

impl Outgoing {
    pub(super) fn new(pipe: PipeWriter) -> Self {
        Outgoing {
            state: Mutex::new(OutgoingState {
                pipe: Some(pipe),
                backlog: VecDeque::new(),
                draining: false,
            }),
        }
    }

    pub(super) fn send(
        this: &Arc<Self>,
        message: Vec<u8>,
        name: &str,
    ) -> Result<(), TransportError> {
        let line = frame(message);
        let mut state = lock(&this.state);
        let waiting = state.backlog.len();
        if waiting > 0 && waiting + line.len() > MAX_BACKLOG {
            return Err(TransportError::NotReading { waiting });
        }
        let Some(pipe) = &mut state.pipe else {
            return Err(TransportError::Closed);
        };
        let written = match waiting {
            0 => pipe.write_some(&line).map_err(not_writable)?,
            _ => 0,
        };
        state.backlog.extend(&line[written..]);
        if !state.backlog.is_empty() && !state.draining {
            let drained = this.clone();
            thread::Builder::new()
                .name(format!("mcp {name} writer"))
                .stack_size(SMALL_STACK)
                .spawn(move || drained.drain())
                .map_err(|e| TransportError::Io(format!("no thread to write with: {e}")))?;
            state.draining = true;
        }
        Ok(())
    }

    /// The writer thread's work: until nothing waits any more or the pipe is closed.
    fn drain(&self) {
        loop {
            let room = {
                let mut state = lock(&self.state);
                let OutgoingState { pipe, backlog, .. } = &mut *state;
                let Some(pipe) = pipe else { return };
                let wrote = pipe.write_some(backlog.as_slices().0);
                match wrote {
                    Ok(n) => drop(backlog.drain(..n)),
                    // The reader of stdout finds out why.
                    Err(_) => backlog.clear(),
                }
                if backlog.is_empty() {
                    backlog.shrink_to(KEPT);
                    state.draining = false;
                    return;
                }
                pipe.room()
            };
            room.wait(WRITER_LOOKS);
        }
    }

    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.pipe = None;
        state.backlog = VecDeque::new();
    }
}

fn not_writable(error: io::Error) -> TransportError {
    TransportError::Io(format!("the server does not take input: {error}"))
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

    #[test]
    fn a_message_is_one_line_whatever_white_space_it_holds() {
        let framed = frame(b"{\"a\":\r\n [1,\n2]}".to_vec());
        assert_eq!(framed, b"{\"a\":   [1, 2]}\n");
    }
}
