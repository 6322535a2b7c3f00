//! Reads and writes of pipes that go on in the system while this process does other things.

use super::ffi::{self, Overlapped};
use super::wait::Event;
use crossbeam_channel::{Sender, bounded, unbounded};
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The size of the buffer, in bytes; that of the pipes of the standard library, too.
const BUFFER: usize = 64 << 10;

/// One end of a pipe, with a buffer from or to which the system moves bytes: at most one operation at a time.
pub(crate) struct Transfer {
    pipe: OwnedHandle,
    /// Set when the operation has ended.
    event: std::sync::Arc<Event>,
    /// Boxed, as the system writes to it while this value may be moved.
    overlapped: Box<Overlapped>,
    buffer: Box<[u8]>,
    under_way: bool,
}

// SAFETY: the handle in `overlapped` is that of `event`, which any thread may use.
unsafe impl Send for Transfer {}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    UnderWay,
    /// It has moved so many bytes.
    Moved(usize),
    /// The other end is closed.
    Closed,
    /// The system has ended it, because the thread that began it has ended. A write is not ended so.
    Aborted,
}

/// A write to begin, while the thread that asks for it waits for `reply`: the code of an error, if it fails at once.
struct Write {
    pipe: ffi::Handle,
    buffer: *const u8,
    len: u32,
    overlapped: *mut Overlapped,
    reply: Sender<Option<i32>>,
}

// SAFETY: what the pointers point to is lent until the reply, and then to the system.
unsafe impl Send for Write {}

/// The thread that begins all writes, and lives as long as this process: with a thread the system ends the operations
/// that the thread has begun, and does not say how much of a write the reader has already taken.
static WRITES: Mutex<Option<Sender<Write>>> = Mutex::new(None);

/// Where writes are begun.
fn writes() -> io::Result<Sender<Write>> {
    let mut writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(writes) = &*writes {
        return Ok(writes.clone());
    }
    let (sender, begun) = unbounded::<Write>();
    let name = "pipe writes".to_owned();
    crate::spawn(name, Some(crate::SMALL_STACK), move || {
        for write in begun {
            // SAFETY: an open handle, and a buffer and a state that stay until the operation has ended.
            let done = unsafe {
                let (buffer, len) = (write.buffer, write.len);
                ffi::WriteFile(write.pipe, buffer, len, ptr::null_mut(), write.overlapped)
            };
            let failed = (done == 0).then(io::Error::last_os_error);
            let _ = write.reply.send(failed.and_then(|it| it.raw_os_error()));
        }
    })?;
    Ok(writes.insert(sender).clone())
}

impl Transfer {
    /// Takes over the end of a pipe that was opened for overlapped operations, as those of std are.
    pub(crate) fn new(pipe: OwnedHandle, event: std::sync::Arc<Event>) -> Self {
        let overlapped = Overlapped {
            internal: 0,
            internal_high: 0,
            offset: 0,
            offset_high: 0,
            event: event.raw(),
        };
        Transfer {
            pipe,
            event,
            overlapped: Box::new(overlapped),
            buffer: vec![0; BUFFER].into(),
            under_way: false,
        }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// What a read has moved.
    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Begins to read. No operation may be under way.
    ///
    /// # Errors
    /// When the pipe fails.
    pub(crate) fn read(&mut self) -> io::Result<Progress> {
        assert!(!self.under_way);
        let len = self.buffer.len() as u32;
        let (pipe, buffer) = (self.pipe.as_raw_handle(), self.buffer.as_mut_ptr());
        // SAFETY: an open handle. Buffer and state are on the heap, and neither moves nor is used otherwise or
        // freed before the operation has ended, see `progress` and `drop`.
        let done = unsafe {
            ffi::ReadFile(
                pipe,
                buffer,
                len,
                ptr::null_mut(),
                &raw mut *self.overlapped,
            )
        };
        let failed = (done == 0).then(io::Error::last_os_error);
        self.begun(failed.and_then(|it| it.raw_os_error()))
    }

    /// Begins to write the beginning of these bytes, which is copied; returns its length, too. No operation may be
    /// under way.
    ///
    /// # Errors
    /// When the pipe fails.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<(usize, Progress)> {
        assert!(!self.under_way);
        let len = bytes.len().min(self.buffer.len());
        self.buffer[..len].copy_from_slice(&bytes[..len]);
        let (reply, answer) = bounded(1);
        let write = Write {
            pipe: self.pipe.as_raw_handle(),
            buffer: self.buffer.as_ptr(),
            len: len as u32,
            overlapped: &raw mut *self.overlapped,
            reply,
        };
        let no_thread = "the thread that begins to write has ended";
        let sent = writes()?.send(write);
        sent.map_err(|_| io::Error::other(no_thread))?;
        let failed = answer.recv().map_err(|_| io::Error::other(no_thread))?;
        Ok((len, self.begun(failed)?))
    }

    /// An operation has begun, or has ended at once.
    fn begun(&mut self, failed: Option<i32>) -> io::Result<Progress> {
        match failed {
            Some(ffi::ERROR_IO_PENDING) => {
                self.under_way = true;
                Ok(Progress::UnderWay)
            }
            Some(code) => {
                // The start has reset it.
                self.event.set();
                ended_with(io::Error::from_raw_os_error(code))
            }
            None => {
                self.under_way = true;
                self.progress()
            }
        }
    }

    /// How far the operation is that is under way.
    ///
    /// # Errors
    /// As [`read`](Self::read) and [`write`](Self::write).
    pub(crate) fn progress(&mut self) -> io::Result<Progress> {
        assert!(self.under_way);
        let (pipe, mut moved) = (self.pipe.as_raw_handle(), 0);
        // SAFETY: an open handle, and the state of an operation that has begun with it.
        let done = unsafe {
            let state = &raw mut *self.overlapped;
            ffi::GetOverlappedResult(pipe, state, &raw mut moved, 0)
        };
        let failed = (done == 0).then(io::Error::last_os_error);
        if let Some(error) = &failed
            && error.raw_os_error() == Some(ffi::ERROR_IO_INCOMPLETE)
        {
            return Ok(Progress::UnderWay);
        }
        self.under_way = false;
        failed.map_or(Ok(Progress::Moved(moved as usize)), ended_with)
    }
}

fn ended_with(error: io::Error) -> io::Result<Progress> {
    match error.raw_os_error() {
        Some(ffi::ERROR_BROKEN_PIPE) => Ok(Progress::Closed),
        Some(ffi::ERROR_OPERATION_ABORTED) => Ok(Progress::Aborted),
        _ => Err(error),
    }
}

/// The system must not write to freed memory.
impl Drop for Transfer {
    fn drop(&mut self) {
        if self.under_way {
            // SAFETY: an open handle, and the state of an operation that has begun with it.
            unsafe { ffi::CancelIoEx(self.pipe.as_raw_handle(), &raw mut *self.overlapped) };
            // A wait would be for the event, which others may have set.
            while matches!(self.progress(), Ok(Progress::UnderWay)) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
