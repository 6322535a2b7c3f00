//! An MCP server as a child process: one message a line on its stdin and stdout.
//!
//! A message is written by the thread that sends it, with one system call that never blocks. Only
//! when the server does not keep up does a writer thread come to life, for as long as something
//! waits. One thread reads stdout, one stderr; a caller that is answered at once reads for itself.
//! So a call wakes nobody but the server and the caller.
//! MCP 2025-11-25, basic/transports, stdio; CORE §8.1; SERVER §4.2.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod incoming;
mod lines;
mod outgoing;
mod stderr;

use super::{Receiver, Transport, TransportError};
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::pipe::{PipeReader, PipeWriter};
use crate::sys::process::{Command, Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use crossbeam_channel::{Receiver as Inbox, bounded};
use incoming::{Incoming, Over};
use outgoing::Outgoing;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use stderr::Keeper;

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
    /// How long its program may take to run at all, as on a file system that does not answer.
    pub start: Duration,
    /// Text that must never be shown, should the server print it.
    pub secrets: Vec<String>,
}

/// The transport over a child's pipes.
pub struct StdioTransport {
    process: Arc<Process>,
    outgoing: Arc<Outgoing>,
    /// From the start to the end: it holds the receiver, which holds this.
    incoming: Mutex<Option<Arc<Incoming>>>,
    stdout: PipeReader,
    stderr: PipeReader,
    options: Arc<StdioOptions>,
    tail: Arc<stderr::Tail>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    grace: Mutex<Grace>,
}

impl StdioTransport {
    /// Starts the server's process and waits until its program runs.
    ///
    /// # Errors
    /// Whatever kept the program from starting, see [`Process::spawn`].
    pub fn spawn(command: Command, options: StdioOptions, cancel: &Cancel) -> io::Result<Self> {
        let (process, pipes) = Process::spawn(command, Some(options.start), cancel)?;
        let process = Arc::new(process);
        let stdin = PipeWriter::new(pipes.stdin)?;
        Ok(StdioTransport {
            process: process.clone(),
            outgoing: Arc::new(Outgoing::new(stdin, process)),
            incoming: Mutex::default(),
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
        let name = format!("mcp {} {what}", self.options.name);
        let handle = sys::spawn(name, Some(SMALL_STACK), work)
            .map_err(|e| TransportError::Io(format!("no thread to read the server with: {e}")))?;
        lock(&self.threads).push(handle);
        Ok(())
    }
}

impl Transport for StdioTransport {
    fn start(&self, receiver: Arc<dyn Receiver>) -> Result<(), TransportError> {
        let max_line = self.options.max_line;
        let incoming = Incoming::new(self.stdout.clone(), receiver.clone(), max_line);
        let incoming = Arc::new(incoming);
        *lock(&self.incoming) = Some(incoming.clone());
        let keeper = Keeper {
            stderr: self.stderr.clone(),
            exit: self.process.watch(),
            incoming: incoming.clone(),
            tail: self.tail.clone(),
            options: self.options.clone(),
        };
        let (ended, stderr_end) = bounded(0);
        self.thread("stderr", move || keeper.run(ended))?;
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
        let incoming = lock(&self.incoming).clone();
        if let Some(incoming) = incoming {
            incoming.lend(done);
        }
    }

    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError> {
        Outgoing::send(&self.outgoing, message, request, &self.options.name)
    }

    fn reached(&self, request: i64) -> bool {
        self.outgoing.reached(request)
    }

    fn negotiated(&self, _version: &str) {
        *lock(&self.grace) = Grace::NORMAL;
    }

    fn close(&self) {
        self.outgoing.close();
        let grace = *lock(&self.grace);
        self.process.end(grace);
        let incoming = lock(&self.incoming).take();
        let certain = incoming.is_none_or(|incoming| incoming.end()) & self.stderr.stop();
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
    /// are gathered. One that was told to end has nothing to explain.
    fn explain(&self, over: Over) -> TransportError {
        if !self.outgoing.gone() {
            return TransportError::Closed;
        }
        self.process.end(Grace::SHORT);
        if let Some(error) = over {
            return error;
        }
        let _ = self.stderr_end.recv_timeout(STDERR_ENDS);
        let status = self.process.own_status();
        TransportError::Exited {
            status: status.map_or(String::new(), |status| status.to_string()),
            stderr: stderr::last_words(&self.tail, &self.options.secrets),
        }
    }
}
