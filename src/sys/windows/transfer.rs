//! Reads and writes of pipes that go on in the system while this process does other things.

use super::ffi::{self, Overlapped};
use super::wait::Event;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
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
    /// The system has ended it after so many bytes, because the thread that began it has ended.
    Aborted(usize),
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
        self.begun(done)
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
        let (pipe, buffer, size) = (self.pipe.as_raw_handle(), self.buffer.as_ptr(), len as u32);
        // SAFETY: as in `read`.
        let done = unsafe {
            ffi::WriteFile(
                pipe,
                buffer,
                size,
                ptr::null_mut(),
                &raw mut *self.overlapped,
            )
        };
        Ok((len, self.begun(done)?))
    }

    /// An operation has begun, or has ended at once.
    fn begun(&mut self, done: ffi::Bool) -> io::Result<Progress> {
        let failed = (done == 0).then(io::Error::last_os_error);
        match failed {
            Some(error) if error.raw_os_error() == Some(ffi::ERROR_IO_PENDING) => {
                self.under_way = true;
                Ok(Progress::UnderWay)
            }
            Some(error) => {
                // The start has reset it.
                self.event.set();
                ended_with(error, 0)
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
        let moved = moved as usize;
        failed.map_or(Ok(Progress::Moved(moved)), |error| ended_with(error, moved))
    }
}

fn ended_with(error: io::Error, moved: usize) -> io::Result<Progress> {
    match error.raw_os_error() {
        Some(ffi::ERROR_BROKEN_PIPE) => Ok(Progress::Closed),
        Some(ffi::ERROR_OPERATION_ABORTED) => Ok(Progress::Aborted(moved)),
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
