//! Calls for which those of std do not do here what they do on Unix.

use super::ffi::{self, Overlapped};
use std::fs::{File, TryLockError};
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle};

/// `FILE_SHARE_READ`, `FILE_SHARE_WRITE` and `FILE_SHARE_DELETE`, with which std opens files.
const SHARED: u32 = 7;
/// The access that a change of the size needs, and that std does not ask for when it opens a file to append to it.
const WRITE_DATA: u32 = 2;
/// What is locked: one byte where no content is. The system lets nobody else read or write what is locked, so with
/// the whole file, as std locks it, nobody could read what the holder of a lock has written into the file.
const LOCKED_AT: u64 = 1 << 62;

/// The functions of [`File`] of these names.
#[derive(Debug)]
pub struct FileCalls;

impl FileCalls {
    /// Changes the size, also of a file that was opened to append to it.
    ///
    /// # Errors
    /// When the file cannot be written, or the disk is full.
    pub fn set_len(file: &File, len: u64) -> io::Result<()> {
        Self::writable(file)?.set_len(len)
    }

    /// Another handle of the file, which may change its size.
    pub(super) fn writable(file: &File) -> io::Result<File> {
        // SAFETY: the handle is open as long as `file` is borrowed; a new one that is valid is ours.
        unsafe {
            let handle = ffi::ReOpenFile(file.as_raw_handle(), WRITE_DATA, SHARED, 0);
            if handle == ffi::INVALID_HANDLE {
                return Err(io::Error::last_os_error());
            }
            Ok(File::from_raw_handle(handle))
        }
    }

    /// Takes the lock of a file, unless another handle has it.
    ///
    /// # Errors
    /// When another handle has it, or the file system has no locks.
    pub fn try_lock(file: &File) -> Result<(), TryLockError> {
        try_lock(file, ffi::LOCK_AT_ONCE | ffi::LOCK_EXCLUSIVE)
    }

    /// Shares the lock of a file, unless another handle has it alone.
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock).
    pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
        try_lock(file, ffi::LOCK_AT_ONCE)
    }

    /// As [`try_lock_shared`](Self::try_lock_shared), but waits for another handle.
    ///
    /// # Errors
    /// When the file system has no locks.
    pub fn lock_shared(file: &File) -> io::Result<()> {
        lock(file, 0)
    }

    /// Releases the lock, however often the handle has taken it.
    ///
    /// # Errors
    /// When the handle does not have it.
    pub fn unlock(file: &File) -> io::Result<()> {
        unlock(file)?;
        while unlock(file).is_ok() {}
        Ok(())
    }
}

fn place() -> Overlapped {
    Overlapped {
        internal: 0,
        internal_high: 0,
        offset: LOCKED_AT as u32,
        offset_high: (LOCKED_AT >> 32) as u32,
        event: std::ptr::null_mut(),
    }
}

fn lock(file: &File, flags: u32) -> io::Result<()> {
    // SAFETY: the handle is open as long as `file` is borrowed. It was not opened for overlapped operations, so the
    // system does not use the structure after it has returned.
    super::checked(unsafe { ffi::LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut place()) })
}

fn try_lock(file: &File, flags: u32) -> Result<(), TryLockError> {
    lock(file, flags).map_err(|error| match error.raw_os_error() {
        Some(ffi::ERROR_LOCK_VIOLATION | ffi::ERROR_IO_PENDING) => TryLockError::WouldBlock,
        _ => TryLockError::Error(error),
    })
}

fn unlock(file: &File) -> io::Result<()> {
    // SAFETY: as in `lock`.
    super::checked(unsafe { ffi::UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &mut place()) })
}
