//! Locks between processes and threads, each on a lock file.

use super::disk::{Disk, Files, Handle};
use super::{Error, Result, files};
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the store waits for a lock.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// A lock between processes and threads, held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: Arc<dyn Handle>,
}

impl FileLock {
    /// Takes the lock of the lock file `path`, waiting at most `wait`.
    ///
    /// Creates the file if it does not exist, and never removes it: a removed lock file can be locked twice.
    ///
    /// # Errors
    /// [`Error::Locked`] when the wait is over, [`Error::Io`] when the file cannot be created or the file
    /// system has no locks.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self> {
        LockFile::open(path)?.acquire(wait)
    }

    /// Takes the lock of the lock file that belongs to the file `path`, which is beside it.
    ///
    /// # Errors
    /// As [`FileLock::acquire`].
    pub fn beside(path: &Path) -> Result<Self> {
        Self::acquire(&files::beside(path, ".", ".lock"), LOCK_TIMEOUT)
    }

    /// As [`Handle::describe`].
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn describe(&self, text: &str) -> io::Result<()> {
        self.file.describe(text)
    }
}

impl Drop for FileLock {
    /// A process that is being started may hold a copy of the descriptor for a moment, so closing it would not
    /// release the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The file of a [`FileLock`], kept open for a lock that is taken often.
#[derive(Debug)]
pub struct LockFile {
    file: Arc<dyn Handle>,
    path: PathBuf,
}

impl LockFile {
    /// Opens the lock file `path`; creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_on(&Files, path)
    }

    /// The same on a disk.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self> {
        let file = disk.open_lock(path);
        Ok(Self {
            file: file.map_err(Error::io("open the lock", path))?.into(),
            path: path.to_owned(),
        })
    }

    /// As [`FileLock::acquire`]. Within one `LockFile` the lock is not exclusive.
    ///
    /// # Errors
    /// As [`FileLock::acquire`].
    pub fn acquire(&self, wait: Duration) -> Result<FileLock> {
        retry_while_held(wait, || match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Error::Locked {
                path: self.path.clone(),
                waited: wait,
            }),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", &self.path)(source)),
        })?;
        let file = Arc::clone(&self.file);
        Ok(FileLock { file })
    }

    /// Whether the path on the disk still refers to the open file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn is_in_place(&self, disk: &dyn Disk) -> Result<bool> {
        let ours = self.file.stamp().map_err(Error::io("read", &self.path))?;
        Ok(disk.stamp(&self.path)? == Some(ours))
    }
}

/// Calls `attempt` until it succeeds, fails for another reason than a held lock, or `wait` is over.
pub(super) fn retry_while_held<T>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        match attempt() {
            Err(Error::Locked { .. } | Error::TurnInProgress { .. }) if start.elapsed() < wait => {}
            result => return result,
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
