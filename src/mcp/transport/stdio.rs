//! An MCP server as a child process: one message a line on its stdin and stdout.
//!
//! A message is written by the thread that sends it, with one system call that never blocks. Only
//! when the server does not keep up does a writer thread come to life, for as long as something
//! waits: a thread fewer for each server, and a hop fewer for each call (about 15 µs of the 60 that
//! a call may cost). One thread reads stdout, one stderr.
//! MCP 2025-11-25, basic/transports, stdio; CORE §8.1; SERVER §4.2.

use super::{Receiver, Transport, TransportError};
use crate::mcp::client::printable;
use crate::sys::pipe::{PipeReader, PipeWriter};
use crate::sys::process::{Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use crossbeam_channel::{Receiver as Inbox, bounded};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The largest line that a server may send, in bytes, unless told otherwise.
pub const MAX_LINE: usize = 64 << 20;
/// How much may wait for a server that does not read, in bytes.
const MAX_BACKLOG: usize = 64 << 20;
/// How much of stderr is kept, in bytes.
const STDERR_TAIL: usize = 8 << 10;
/// How much of it goes into an error, in characters.
const STDERR_QUOTED: usize = 2_000;
/// How many lines of stderr are logged; the rest is only kept.
const STDERR_LOGGED: usize = 5;
/// What a read buffer holds when nothing is in it, in bytes.
const SMALL_BUFFER: usize = 4 << 10;
/// A buffer that has grown beyond this is given back once it is empty.
const LARGE_BUFFER: usize = 256 << 10;
/// How long the writer thread holds on to a pipe before it looks whether it is still wanted.
const WRITER_LOOKS: Duration = Duration::from_millis(50);
/// How long stderr may take to end after stdout has.
const STDERR_ENDS: Duration = Duration::from_millis(250);

/// How to run one server.
pub struct StdioOptions {
    /// What it is called in logs and thread names.
    pub name: String,
    /// The largest line that it may send, in bytes.
    pub max_line: usize,
    /// Text that must never be shown, should the server print it.
    pub secrets: Vec<String>,
}

/// The transport over a child's pipes.
pub struct StdioTransport {
    process: Arc<Process>,
    outgoing: Arc<Outgoing>,
    stdout: PipeReader,
    stderr: PipeReader,
    options: Arc<StdioOptions>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    grace: Mutex<Grace>,
}

impl StdioTransport {
    /// Starts the server's process.
    ///
    /// # Errors
    /// Whatever kept the program from starting.
    pub fn spawn(command: Command, options: StdioOptions) -> io::Result<Self> {
        let (process, pipes) = Process::spawn(command)?;
        Ok(StdioTransport {
            process: Arc::new(process),
            outgoing: Arc::new(Outgoing::new(PipeWriter::new(pipes.stdin)?)),
            stdout: PipeReader::new(pipes.stdout),
            stderr: PipeReader::new(pipes.stderr),
            options: Arc::new(options),
            tail: Arc::default(),
            threads: Mutex::default(),
            // Until the server has answered, there is nothing to be polite about.
            grace: Mutex::new(Grace::SHORT),
        })
    }

    /// The id of the server's process.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    fn thread(
        &self,
        what: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), TransportError> {
        let handle = thread::Builder::new()
            .name(format!("mcp {} {what}", self.options.name))
            .stack_size(SMALL_STACK)
            .spawn(work)
            .map_err(|e| TransportError::Io(format!("no thread to read the server with: {e}")))?;
        lock(&self.threads).push(handle);
        Ok(())
    }
}

impl Transport for StdioTransport {
    fn start(&self, receiver: Arc<dyn Receiver>) -> Result<(), TransportError> {
        let (stderr, tail, options) =
            (self.stderr.clone(), self.tail.clone(), self.options.clone());
        let (ended, stderr_end) = bounded(0);
        self.thread("stderr", move || {
            keep_stderr(stderr, &tail, &options);
            drop(ended);
        })?;
        let reader = Reader {
            stdout: self.stdout.clone(),
            process: self.process.clone(),
            outgoing: self.outgoing.clone(),
            tail: self.tail.clone(),
            stderr_end,
            options: self.options.clone(),
        };
        self.thread("reader", move || reader.run(&*receiver))
    }

    fn send(&self, message: Vec<u8>, _request: Option<i64>) -> Result<(), TransportError> {
        Outgoing::send(&self.outgoing, message, &self.options.name)
    }

    fn negotiated(&self, _version: &str) {
        *lock(&self.grace) = Grace::NORMAL;
    }

    fn close(&self) {
        self.outgoing.close();
        let grace = *lock(&self.grace);
        self.process.end(grace);
        let certain = self.stdout.stop() & self.stderr.stop();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // The last reference may be dropped by the reader itself.
            let own = thread.thread().id() == thread::current().id();
            if !own && (certain || thread.is_finished()) {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.close();
    }
}

/// What waits to be written, and the pipe.
struct Outgoing {
    state: Mutex<OutgoingState>,
}

struct OutgoingState {
    pipe: Option<PipeWriter>,
    backlog: VecDeque<u8>,
    /// A writer thread is at work on the backlog.
    draining: bool,
}

impl Outgoing {
    fn new(pipe: PipeWriter) -> Self {
        Outgoing {
            state: Mutex::new(OutgoingState {
                pipe: Some(pipe),
                backlog: VecDeque::new(),
                draining: false,
            }),
        }
    }

    fn send(this: &Arc<Self>, message: Vec<u8>, name: &str) -> Result<(), TransportError> {
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
                    backlog.shrink_to(SMALL_BUFFER);
                    state.draining = false;
                    return;
                }
                pipe.room()
            };
            room.wait(WRITER_LOOKS);
        }
    }

    fn close(&self) {
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

/// The reader thread.
struct Reader {
    stdout: PipeReader,
    process: Arc<Process>,
    outgoing: Arc<Outgoing>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    stderr_end: Inbox<()>,
    options: Arc<StdioOptions>,
}

impl Reader {
    fn run(mut self, receiver: &dyn Receiver) {
        let mut lines = Lines::new(self.options.max_line);
        let error = loop {
            match lines.read(&mut self.stdout, |line| receiver.message(line)) {
                Ok(true) => {}
                Ok(false) => break self.exited(),
                Err(error) => {
                    self.outgoing.close();
                    self.process.end(Grace::SHORT);
                    break error;
                }
            }
        };
        receiver.closed(error);
    }

    /// A server without output is of no use: it is ended, should it still run, and its last words
    /// are gathered.
    fn exited(&self) -> TransportError {
        self.outgoing.close();
        let by_itself = self.process.wait_exit(Grace::SHORT.stdin);
        self.process.end(Grace::SHORT);
        let _ = self.stderr_end.recv_timeout(STDERR_ENDS);
        let status = match (by_itself, self.process.status()) {
            (true, Some(status)) => status.to_string(),
            _ => String::new(),
        };
        TransportError::Exited {
            status,
            stderr: last_words(&self.tail, &self.options.secrets),
        }
    }
}

/// Splits what is read into lines, in one buffer that is only as large as the longest of them.
struct Lines {
    buffer: Vec<u8>,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    limit: usize,
}

impl Lines {
    fn new(limit: usize) -> Self {
        Lines {
            buffer: Vec::new(),
            searched: 0,
            limit,
        }
    }

    /// Reads once and hands over the lines that are complete by then. False at the end.
    fn read(
        &mut self,
        from: &mut impl Read,
        mut line: impl FnMut(&[u8]),
    ) -> Result<bool, TransportError> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + SMALL_BUFFER.max(filled / 2), 0);
        let n = loop {
            match from.read(&mut self.buffer[filled..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(TransportError::Io(format!("the server's output: {e}"))),
                Ok(n) => break n,
            }
        };
        self.buffer.truncate(filled + n);
        let mut start = 0;
        while let Some(length) = self.buffer[self.searched..]
            .iter()
            .position(|b| *b == b'\n')
        {
            let end = self.searched + length;
            let text = self.buffer[start..end].trim_ascii();
            if !text.is_empty() {
                line(text);
            }
            start = end + 1;
            self.searched = start;
        }
        self.buffer.drain(..start);
        self.searched = self.buffer.len();
        if self.buffer.len() > self.limit {
            return Err(TransportError::TooLarge { limit: self.limit });
        }
        if self.buffer.capacity() > LARGE_BUFFER && self.buffer.len() < SMALL_BUFFER {
            self.buffer.shrink_to(SMALL_BUFFER);
        }
        Ok(n > 0)
    }
}

/// The stderr thread: reads as fast as the server writes, keeps the end, logs the first lines.
fn keep_stderr(mut stderr: PipeReader, tail: &Mutex<VecDeque<u8>>, options: &StdioOptions) {
    let mut buffer = [0; SMALL_BUFFER];
    let mut logged = 0;
    loop {
        let n = match stderr.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        if logged < STDERR_LOGGED {
            for line in String::from_utf8_lossy(&buffer[..n]).lines() {
                logged += 1;
                if logged <= STDERR_LOGGED {
                    let line = printable(&redact(line, &options.secrets), STDERR_QUOTED);
                    log::info!(
                        "server wrote to stderr extension={:?} text={line:?}",
                        options.name
                    );
                }
            }
        }
        let mut tail = lock(tail);
        tail.extend(&buffer[..n]);
        let excess = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..excess);
    }
}

/// The end of stderr, fit for an error.
fn last_words(tail: &Mutex<VecDeque<u8>>, secrets: &[String]) -> String {
    let bytes: Vec<u8> = lock(tail).iter().copied().collect();
    let text = redact(&String::from_utf8_lossy(&bytes), secrets);
    let skipped = text.chars().count().saturating_sub(STDERR_QUOTED);
    let text: String = text.chars().skip(skipped).collect();
    let lines = text
        .trim()
        .lines()
        .map(|line| printable(line, STDERR_QUOTED));
    lines.collect::<Vec<_>>().join("\n")
}

fn redact(text: &str, secrets: &[String]) -> String {
    secrets
        .iter()
        .filter(|secret| !secret.is_empty())
        .fold(text.to_owned(), |text, secret| {
            text.replace(secret, "[secret]")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&[u8]], limit: usize) -> (Vec<String>, Result<bool, TransportError>) {
        struct Chunks<'a>(VecDeque<&'a [u8]>);
        impl Read for Chunks<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let chunk = self.0.pop_front().unwrap_or_default();
                let n = chunk.len().min(buffer.len());
                buffer[..n].copy_from_slice(&chunk[..n]);
                if n < chunk.len() {
                    self.0.push_front(&chunk[n..]);
                }
                Ok(n)
            }
        }
        let (mut from, mut lines, mut out) = (
            Chunks(chunks.iter().copied().collect()),
            Lines::new(limit),
            Vec::new(),
        );
        loop {
            let line = |line: &[u8]| out.push(String::from_utf8_lossy(line).into_owned());
            match lines.read(&mut from, line) {
                Ok(true) => {}
                end => return (out, end),
            }
        }
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"{\"a\":1}\r\n\n  \nsecond\nthird, without end";
        for cut in 0..text.len() {
            let (lines, end) = lines_of(&[&text[..cut], &text[cut..]], 1 << 20);
            let expected = ["{\"a\":1}", "second"];
            // An empty read is the end.
            if cut > 0 {
                assert_eq!(lines, expected, "cut at {cut}");
            }
            assert!(matches!(end, Ok(false)));
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines_of(&single, 1 << 20).0, ["{\"a\":1}", "second"]);
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_limit() {
        let chunk = [b'x'; 1000];
        let chunks: Vec<&[u8]> = std::iter::repeat_n(&chunk[..], 100).collect();
        let (lines, end) = lines_of(&chunks, 50_000);
        assert!(lines.is_empty());
        assert_eq!(end, Err(TransportError::TooLarge { limit: 50_000 }));
    }

    #[test]
    fn a_message_is_one_line_whatever_white_space_it_holds() {
        let framed = frame(b"{\"a\":\r\n [1,\n2]}".to_vec());
        assert_eq!(framed, b"{\"a\":   [1, 2]}\n");
    }

    #[test]
    fn last_words_are_the_end_without_secrets_and_escapes() {
        let tail = Mutex::new(b"token=hunter2\n\x1b[31mboom\n".iter().copied().collect());
        assert_eq!(
            last_words(&tail, &["hunter2".into()]),
            "token=[secret]\n\\u{1b}[31mboom"
        );
    }
}
