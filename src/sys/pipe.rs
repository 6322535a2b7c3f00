//! Pipes to a child: a write end that does not block, and read ends that another thread can stop.

use super::unix;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The write end of a child's stdin.
pub struct PipeWriter {
    stdin: Arc<ChildStdin>,
}

impl PipeWriter {
    /// Takes over the pipe and makes this end non-blocking. The child's end is a different file description and
    /// stays blocking.
    ///
    /// # Errors
    /// When the descriptor cannot be configured.
    pub fn new(stdin: ChildStdin) -> io::Result<Self> {
        unix::set_nonblocking(stdin.as_raw_fd())?;
        Ok(PipeWriter {
            stdin: Arc::new(stdin),
        })
    }

    /// Writes as much as the pipe accepts now and returns the number of bytes; 0 if it is full.
    ///
    /// # Errors
    /// When the reader has closed the pipe.
    pub fn write_some(&mut self, mut bytes: &[u8]) -> io::Result<usize> {
        let all = bytes.len();
        while !bytes.is_empty() {
            match (&*self.stdin).write(bytes) {
                Ok(0) => break,
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all - bytes.len())
    }

    /// A handle that waits for room in the pipe without borrowing the writer. It keeps the pipe open, so it
    /// must not be kept for long.
    pub fn room(&self) -> Room {
        Room(self.stdin.clone())
    }
}

/// See [`PipeWriter::room`].
pub struct Room(Arc<ChildStdin>);

impl Room {
    /// Waits until the pipe accepts bytes or the reader is gone; false when the limit passes first.
    pub fn wait(&self, limit: Duration) -> bool {
        unix::wait_writable(self.0.as_raw_fd(), limit)
    }
}

/// The read end of a child's stdout or stderr. Clones read the same pipe.
#[derive(Clone)]
pub struct PipeReader {
    file: Arc<File>,
    stopped: Arc<AtomicBool>,
}

impl PipeReader {
    /// Takes over the pipe.
    pub fn new(pipe: impl Into<OwnedFd>) -> Self {
        PipeReader {
            file: Arc::new(File::from(pipe.into())),
            stopped: Arc::default(),
        }
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(super) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Waits until there is input or the end of the pipe; false when the limit passes first.
    pub fn wait_readable(&self, limit: Duration) -> bool {
        unix::wait_readable(self.file.as_raw_fd(), limit)
    }

    /// Makes the reading thread see the end of the pipe, even if another process still holds it open. On Linux
    /// this opens the pipe for writing through its read end and writes one byte, which wakes the reader; a full
    /// pipe needs no byte. On other systems the reader stops when the pipe ends, and this returns false: the
    /// caller must not wait for that thread.
    pub fn stop(&self) -> bool {
        self.stopped.store(true, Ordering::SeqCst);
        let path = format!("/proc/self/fd/{}", self.fd());
        let woken = || {
            let mut options = OpenOptions::new();
            // There may be no reader left: the write must not block.
            options.write(true).custom_flags(libc::O_NONBLOCK);
            options.open(path)?.write(b"\n")
        };
        cfg!(target_os = "linux")
            && woken().map_or_else(|e| e.kind() == io::ErrorKind::WouldBlock, |_| true)
    }
}

impl Read for &PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_stopped() {
            return Ok(0);
        }
        let n = (&*self.file).read(buffer)?;
        if self.is_stopped() { Ok(0) } else { Ok(n) }
    }
}

#[cfg(test)]
mod tests;
