//! The end of stdin, which says that the program which has started the server is gone, even if it was killed.

use crate::sys::own_stdio::{Stdin, StdioEnd, can_end_later, stdio};
use crate::sys::{self, lock};
use std::io::{self, ErrorKind, Read};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a signal may take that comes with the end of stdin, as Ctrl+C ends both programs: with two signals the
/// server would end at once.
const SIGNAL_GRACE: Duration = Duration::from_millis(100);

/// The stdin of this process, and the thread that waits for its end.
pub(crate) struct HostStdin {
    /// What the thread takes.
    source: Mutex<Option<(Stdin, Receiver<()>)>>,
    /// Dropping these ends the wait.
    end: Mutex<Option<(StdioEnd, Sender<()>)>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl HostStdin {
    /// # Errors
    /// It is at its end from the beginning, such as `/dev/null`, or no descriptors are left.
    pub(crate) fn open() -> Result<Self, String> {
        let fault = |error: io::Error| format!("--end-with-stdin: {error}");
        if !can_end_later().map_err(fault)? {
            let why = "it is neither a pipe nor a socket nor a terminal";
            return Err(format!(
                "--end-with-stdin: stdin tells nothing, because {why}; the program that starts gosling \
                 must keep the other end of a pipe open"
            ));
        }
        let (stdin, _, end) = stdio().map_err(fault)?;
        let (sender, ignored) = channel();
        Ok(HostStdin {
            source: Mutex::new(Some((stdin, ignored))),
            end: Mutex::new(Some((end, sender))),
            thread: Mutex::default(),
        })
    }

    /// Begins to wait, in a thread of its own.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn watch(&self) -> Result<(), String> {
        let Some((stdin, ignored)) = lock(&self.source).take() else {
            return Ok(());
        };
        let work = move || end_after(stdin, &ignored);
        let thread = sys::spawn("stdin".to_owned(), Some(sys::SMALL_STACK), work);
        let thread = thread.map_err(|error| format!("--end-with-stdin: no thread: {error}"))?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// From now on its end has no effect.
    pub(crate) fn ignore(&self) {
        drop(lock(&self.end).take());
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.ignore();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Reads until the end, and then ends the server, unless that is ignored.
fn end_after(mut stdin: Stdin, ignored: &Receiver<()>) {
    let mut buffer = [0; 512];
    let why = loop {
        match stdin.read(&mut buffer) {
            Ok(0) => break "it has ended".to_owned(),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break error.to_string(),
        }
    };
    if ignored.recv_timeout(SIGNAL_GRACE) == Err(RecvTimeoutError::Timeout) {
        log::info!("stopping with stdin reason={why:?}");
        sys::terminate_self();
    }
}
