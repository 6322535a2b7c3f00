//! An MCP server as a child process: one message a line on its stdin and stdout.
//!
//! A message is written by the thread that sends it, with one system call that never blocks. Only
//! when the server does not keep up does a writer thread come to life, for as long as something
//! waits. One thread reads stdout, one stderr; a caller that is answered at once reads for itself.
//! So a call wakes nobody but the server and the caller.
//! MCP 2025-11-25, basic/transports, stdio; CORE §8.1; SERVER §4.2.

mod incoming;
mod lines;
mod outgoing;
mod stderr;

use super::{Receiver, Transport, TransportError};
use crate::sys::pipe::{PipeReader, PipeWriter};
use crate::sys::process::{Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use crossbeam_channel::{Receiver as Inbox, bounded};
use incoming::{Incoming, Over};
use outgoing::Outgoing;
use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The largest line that a server may send, in bytes, unless told otherwise.
pub const MAX_LINE: usize = 64 << 20;
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
    incoming: OnceLock<Arc<Incoming>>,
    stdout: PipeReader,
    stderr: PipeReader,
    options: Arc<StdioOptions>,
    tail: Arc<stderr::Tail>,
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
            incoming: OnceLock::new(),
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
            stderr::keep(&stderr, &tail, &options);
            drop(ended);
        })?;
        let max_line = self.options.max_line;
        let incoming = Incoming::new(self.stdout.clone(), receiver.clone(), max_line);
        let incoming = self.incoming.get_or_init(|| Arc::new(incoming)).clone();
        let end = End {
            process: self.process.clone(),
            outgoing: self.outgoing.clone(),
            tail: self.tail.clone(),
            stderr_end,
            options: self.options.clone(),
        };
        self.thread("reader", move || {
            let over = incoming.read_all();
            receiver.closed(end.explain(over));
        })
    }

    fn lend(&self, done: &dyn Fn() -> bool) {
        if let Some(incoming) = self.incoming.get() {
            incoming.lend(done);
        }
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
        if let Some(incoming) = self.incoming.get() {
            incoming.hurry();
        }
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

/// What the reader thread does once there is nothing more to read.
struct End {
    process: Arc<Process>,
    outgoing: Arc<Outgoing>,
    tail: Arc<stderr::Tail>,
    stderr_end: Inbox<()>,
    options: Arc<StdioOptions>,
}

impl End {
    /// A server without output is of no use: it is ended, should it still run, and its last words
    /// are gathered.
    fn explain(&self, over: Over) -> TransportError {
        self.outgoing.close();
        if let Some(error) = over {
            self.process.end(Grace::SHORT);
            return error;
        }
        let by_itself = self.process.wait_exit(Grace::SHORT.stdin);
        self.process.end(Grace::SHORT);
        let _ = self.stderr_end.recv_timeout(STDERR_ENDS);
        let status = match (by_itself, self.process.status()) {
            (true, Some(status)) => status.to_string(),
            _ => String::new(),
        };
        TransportError::Exited {
            status,
            stderr: stderr::last_words(&self.tail, &self.options.secrets),
        }
    }
}
