//! The stdio transport: an MCP server as a child process, one message per line on its stdin and stdout.
//!
//! The sending thread writes a message with one system call that never blocks. A writer thread exists only
//! while messages wait for a server that is slow to read. One thread reads stdout, one reads stderr; a caller
//! that waits for an answer reads stdout itself for a short while. So a call usually wakes only the server
//! and the caller. MCP 2025-11-25, basic/transports, stdio; CORE §8.1; SERVER §4.2.

#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
mod line_splitter;
mod stderr_reader;
mod stdin_writer;
mod stdout_reader;

use super::{MessageHandler, Transport, TransportError};
use crossbeam_channel::{Receiver as Inbox, bounded};
use gosling_sys as sys;
use gosling_sys::cancel::Cancel;
use gosling_sys::pipe::{PipeReader, PipeWriter};
use gosling_sys::process::{Command, Grace, Process};
use gosling_sys::threads::Threads;
use gosling_sys::{SMALL_STACK, lock};
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stderr_reader::StderrReader;
use stdin_writer::StdinWriter;
use stdout_reader::{EndOfInput, StdoutReader};

/// The default of the longest line that a server may send, in bytes.
pub const MAX_LINE: usize = 64 << 20;
/// The default of the time limit for starting a program.
const START: Duration = Duration::from_secs(30);
/// How long stderr may stay open after stdout has ended.
const STDERR_END_TIMEOUT: Duration = Duration::from_millis(250);

/// Options of one server process.
#[non_exhaustive]
pub struct StdioOptions {
    /// The server's name in logs and thread names.
    pub name: String,
    /// The longest line that it may send, in bytes.
    pub max_line: usize,
    /// The time limit for starting the program, for file systems that do not respond.
    pub start: Duration,
    /// Texts to redact in everything that the server prints.
    pub secrets: Vec<String>,
}

impl StdioOptions {
    /// The defaults for a server of this name.
    pub fn new(name: &str) -> Self {
        StdioOptions {
            name: name.to_owned(),
            max_line: MAX_LINE,
            start: START,
            secrets: Vec::new(),
        }
    }
}

/// A transport over the pipes of a child process.
pub struct StdioTransport {
    process: Arc<Process>,
    stdin_writer: Arc<StdinWriter>,
    /// `None` before the start and after the end: the reader holds the handler, which holds this transport.
    stdout_reader: Mutex<Option<Arc<StdoutReader>>>,
    stdout: PipeReader,
    stderr: PipeReader,
    options: Arc<StdioOptions>,
    tail: Arc<stderr_reader::Tail>,
    threads: Mutex<Threads>,
    grace: Mutex<Grace>,
    owned: Owned,
}

/// What a process needs while it runs. Dropped when it has ended.
type Owned = Arc<Mutex<Vec<Box<dyn Send>>>>;

impl StdioTransport {
    /// Starts the process of the server and waits until its program runs.
    ///
    /// # Errors
    /// Why the program could not be started, see [`Process::spawn`].
    pub fn spawn(command: Command, options: StdioOptions, cancel: &Cancel) -> io::Result<Self> {
        let (process, pipes) = Process::spawn(command, Some(options.start), cancel)?;
        let process = Arc::new(process);
        let stdin = PipeWriter::new(pipes.stdin)?;
        Ok(StdioTransport {
            process: process.clone(),
            stdin_writer: Arc::new(StdinWriter::new(stdin, process)),
            stdout_reader: Mutex::default(),
            stdout: PipeReader::new(pipes.stdout),
            stderr: PipeReader::new(pipes.stderr),
            options: Arc::new(options),
            tail: Arc::default(),
            threads: Mutex::default(),
            // A server that has not answered yet needs no time to shut down.
            grace: Mutex::new(Grace::SHORT),
            owned: Arc::default(),
        })
    }

    /// Keeps `owned`, for example a file that the server reads, until the process has ended.
    pub fn owning(self, owned: impl Send + 'static) -> Self {
        lock(&self.owned).push(Box::new(owned));
        self
    }

    /// The id of the server's process.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Sends bytes that contain their own framing, for example a line that ends with CR LF.
    ///
    /// # Errors
    /// As [`send`](Transport::send).
    pub fn send_unframed(&self, bytes: Vec<u8>, id: Option<i64>) -> Result<(), TransportError> {
        StdinWriter::send_unframed(&self.stdin_writer, bytes, id, &self.options.name)
    }

    /// Closes the server's stdin and waits until its process has ended by itself; how long that took, or `None`
    /// if it still runs after `limit`.
    pub fn end_input(&self, limit: Duration) -> Option<Duration> {
        let begin = Instant::now();
        self.stdin_writer.close();
        self.process.wait_exit(limit).then(|| begin.elapsed())
    }

    /// The end of what the server wrote to stderr, without secrets.
    pub fn stderr_tail(&self) -> String {
        stderr_reader::stderr_excerpt(&self.tail, &self.options.secrets)
    }

    /// The exit status of a process that has ended by itself, known after [`close`](Transport::close).
    pub fn own_status(&self) -> Option<ExitStatus> {
        self.process.own_status()
    }

    fn thread(
        &self,
        what: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), TransportError> {
        let name = format!("mcp {} {what}", self.options.name);
        let handle = sys::spawn(name, Some(SMALL_STACK), work).map_err(|e| {
            TransportError::Io(format!(
                "no thread could be started to read the server's output: {e}"
            ))
        })?;
        lock(&self.threads).add(handle);
        Ok(())
    }
}

impl Transport for StdioTransport {
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        let max_line = self.options.max_line;
        let stdout_reader = StdoutReader::new(self.stdout.clone(), handler.clone(), max_line);
        let stdout_reader = Arc::new(stdout_reader);
        *lock(&self.stdout_reader) = Some(stdout_reader.clone());
        let stderr_reader = StderrReader {
            stderr: self.stderr.clone(),
            exit: self.process.watch(),
            stdout_reader: stdout_reader.clone(),
            tail: self.tail.clone(),
            options: self.options.clone(),
        };
        let (ended, stderr_end) = bounded(0);
        self.thread("stderr", move || stderr_reader.run(ended))?;
        let end = ExitReport {
            process: self.process.clone(),
            stdin_writer: self.stdin_writer.clone(),
            tail: self.tail.clone(),
            stderr_end,
            options: self.options.clone(),
            owned: self.owned.clone(),
        };
        self.thread("reader", move || {
            let over = stdout_reader.read_all();
            handler.closed(end.explain(over));
        })
    }

    fn read_while_waiting(&self, done: &dyn Fn() -> bool) {
        let stdout_reader = lock(&self.stdout_reader).clone();
        if let Some(stdout_reader) = stdout_reader {
            stdout_reader.read_while_waiting(done);
        }
    }

    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError> {
        StdinWriter::send(&self.stdin_writer, message, request, &self.options.name)
    }

    fn may_have_been_sent(&self, request: i64) -> bool {
        self.stdin_writer.may_have_been_sent(request)
    }

    fn negotiated(&self, _version: &str) {
        *lock(&self.grace) = Grace::NORMAL;
    }

    fn close(&self) {
        self.stdin_writer.close();
        let grace = *lock(&self.grace);
        self.process.end(grace);
        drop(std::mem::take(&mut *lock(&self.owned)));
        let stdout_reader = lock(&self.stdout_reader).take();
        let certain =
            stdout_reader.is_none_or(|stdout_reader| stdout_reader.end()) & self.stderr.stop();
        // The reader thread may drop the last reference itself.
        std::mem::take(&mut *lock(&self.threads)).join(certain);
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the reader thread needs to explain the end of the connection.
struct ExitReport {
    process: Arc<Process>,
    stdin_writer: Arc<StdinWriter>,
    tail: Arc<stderr_reader::Tail>,
    stderr_end: Inbox<()>,
    options: Arc<StdioOptions>,
    owned: Owned,
}

impl ExitReport {
    /// Ends the server, which is useless without output, and explains its end with its exit status and stderr.
    fn explain(&self, over: EndOfInput) -> TransportError {
        if !self.stdin_writer.closed_by_server() {
            return TransportError::Closed;
        }
        self.process.end(Grace::SHORT);
        drop(std::mem::take(&mut *lock(&self.owned)));
        if let Some(error) = over {
            return error;
        }
        let _ = self.stderr_end.recv_timeout(STDERR_END_TIMEOUT);
        let status = self.process.own_status();
        TransportError::Exited {
            status: status.map_or(String::new(), |status| status.to_string()),
            stderr: stderr_reader::stderr_excerpt(&self.tail, &self.options.secrets),
        }
    }
}
