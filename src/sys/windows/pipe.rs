//! Pipes to a child: a write end that does not block, and read ends that another thread can stop. The ends of this
//! process are overlapped: the system reads and writes in the background, and an event says when it has.

use super::lock;
use super::windows::transfer::{Progress, Transfer};
use super::windows::wait::{Event, wait_any};
use std::io::{self, Read};
use std::os::windows::io::{BorrowedHandle, OwnedHandle};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The write end of a child's stdin.
pub struct PipeWriter(Arc<Writer>);

struct Writer {
    event: Arc<Event>,
    state: Mutex<WriteState>,
}

struct WriteState {
    transfer: Transfer,
    /// How many bytes of the write under way the caller still has to bring again.
    owed: usize,
}

impl PipeWriter {
    /// Takes over the pipe, whose end here must be overlapped, as std makes it.
    ///
    /// # Errors
    /// When the system has no memory left.
    pub fn new(stdin: ChildStdin) -> io::Result<Self> {
        let event = Arc::new(Event::new()?);
        let state = Mutex::new(WriteState {
            transfer: Transfer::new(stdin.into(), event.clone()),
            owed: 0,
        });
        Ok(PipeWriter(Arc::new(Writer { event, state })))
    }

    /// Writes as much as the pipe accepts now and returns the number of bytes; 0 if it is full. The next call begins
    /// with the bytes that were not accepted.
    ///
    /// The system goes on with a write that the pipe has no room for. The last byte of such a write counts as not
    /// accepted before the write has ended, so that the caller comes back.
    ///
    /// # Errors
    /// When the reader has closed the pipe.
    pub fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = lock(&self.0.state);
        let mut accepted = match state.finish()? {
            Some(owed) => owed,
            None => return Ok(0),
        };
        while accepted < bytes.len() {
            let (len, progress) = state.transfer.write(&bytes[accepted..])?;
            match progress {
                Progress::Moved(moved) => accepted += moved,
                Progress::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
                Progress::Aborted => return Err(aborted()),
                Progress::UnderWay => {
                    state.owed = 1;
                    accepted += len - 1;
                    break;
                }
            }
        }
        Ok(accepted)
    }

    /// A handle that waits for room in the pipe without borrowing the writer. It keeps the pipe open, so it
    /// must not be kept for long.
    pub fn room(&self) -> Room {
        Room(self.0.clone())
    }
}

impl WriteState {
    /// How many bytes a write has accepted that is not under way any more and were not counted yet; `None` if it is.
    fn finish(&mut self) -> io::Result<Option<usize>> {
        while self.transfer.is_under_way() {
            match self.transfer.progress()? {
                Progress::UnderWay => return Ok(None),
                Progress::Moved(_) => {}
                Progress::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
                Progress::Aborted => return Err(aborted()),
            }
        }
        Ok(Some(std::mem::take(&mut self.owed)))
    }
}

/// How much of it the reader has taken is not known, so it cannot be taken up again.
fn aborted() -> io::Error {
    io::Error::other("the system has ended a write")
}

/// See [`PipeWriter::room`].
pub struct Room(Arc<Writer>);

impl Room {
    /// Waits until the pipe accepts bytes or the reader is gone; false when the limit passes first.
    pub fn wait(&self, limit: Duration) -> bool {
        let is_full = lock(&self.0.state).transfer.is_under_way();
        !is_full || wait_any(&[self.0.event.handle()], limit)
    }
}

/// The read end of a child's stdout or stderr. Clones read the same pipe.
#[derive(Clone)]
pub struct PipeReader(Arc<Reader>);

struct Reader {
    /// Set when there is input, the pipe has ended, or reading was stopped.
    event: Arc<Event>,
    stopped: AtomicBool,
    state: Mutex<ReadState>,
}

struct ReadState {
    transfer: Transfer,
    /// What was read and not taken, within the buffer.
    unread: std::ops::Range<usize>,
    end: Option<Result<(), io::ErrorKind>>,
}

impl PipeReader {
    /// Takes over the pipe, whose end here must be overlapped, as std makes it.
    ///
    /// # Panics
    /// When the system has no memory left.
    pub fn new(pipe: impl Into<OwnedHandle>) -> Self {
        let event = Arc::new(Event::new().expect("no memory left for an event"));
        let state = Mutex::new(ReadState {
            transfer: Transfer::new(pipe.into(), event.clone()),
            unread: 0..0,
            end: None,
        });
        PipeReader(Arc::new(Reader {
            event,
            stopped: AtomicBool::new(false),
            state,
        }))
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Waits until there is input or the end of the pipe; false when the limit passes first.
    pub fn wait_readable(&self, limit: Duration) -> bool {
        wait_ready(&[self], None, limit)
    }

    /// Makes the reading thread see the end of the pipe, even if another process still holds it open: true.
    pub fn stop(&self) -> bool {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.0.event.set();
        true
    }

    /// Whether there is input or the end of the pipe. If not, the system reads, and sets the event then.
    pub(super) fn is_ready(&self) -> bool {
        let mut state = lock(&self.0.state);
        state.advance();
        // A read that has just begun has reset the event.
        if self.is_stopped() {
            self.0.event.set();
        }
        state.is_ready() || self.is_stopped()
    }
}

impl ReadState {
    fn is_ready(&self) -> bool {
        !self.unread.is_empty() || self.end.is_some()
    }

    /// Takes what the system has read, and lets it read on if there is nothing to take.
    fn advance(&mut self) {
        while !self.is_ready() {
            let progress = if self.transfer.is_under_way() {
                self.transfer.progress()
            } else {
                self.transfer.read()
            };
            match progress {
                Ok(Progress::UnderWay) => return,
                Ok(Progress::Moved(n)) => self.unread = 0..n,
                // Nothing had come.
                Ok(Progress::Aborted) => {}
                Ok(Progress::Closed) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error.kind())),
            }
        }
    }
}

/// Waits until one of the pipes has input or its end, or the process has exited; false when the limit passes first.
pub(super) fn wait_ready(
    pipes: &[&PipeReader],
    process: Option<BorrowedHandle<'_>>,
    limit: Duration,
) -> bool {
    let begin = Instant::now();
    loop {
        // A bitwise or: each has to read.
        if pipes
            .iter()
            .fold(false, |ready, pipe| ready | pipe.is_ready())
        {
            return true;
        }
        let events = pipes.iter().map(|pipe| pipe.0.event.handle());
        let handles: Vec<_> = events.chain(process).collect();
        if !wait_any(&handles, limit.saturating_sub(begin.elapsed())) {
            return false;
        }
        if process.is_some_and(|process| wait_any(&[process], Duration::ZERO)) {
            return true;
        }
    }
}

impl Read for &PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_stopped() {
                return Ok(0);
            }
            let mut state = lock(&self.0.state);
            if !state.unread.is_empty() {
                let n = buffer.len().min(state.unread.len());
                let start = state.unread.start;
                buffer[..n].copy_from_slice(&state.transfer.buffer()[start..start + n]);
                state.unread.start += n;
                return Ok(n);
            }
            if let Some(end) = state.end {
                return end.map(|()| 0).map_err(Into::into);
            }
            drop(state);
            self.wait_readable(Duration::MAX);
        }
    }
}
