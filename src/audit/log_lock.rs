//! The lock of the log, and how a server keeps it from one record to the next while no other process needs it.

use crate::store::disk::Files;
use crate::store::file_lock::{FileLock, LockFile};
use crate::store::{Error, Result};
use crate::sys::fs::{FileCalls, open_regular_with, private};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another process may hold the lock.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a process that waits says so again, which fails while another one looks whether it does.
const SIGNALS: u32 = 10;
/// How many records follow each other before the lock is kept.
const MIN_BURST: u32 = 8;
/// How many records follow each other before the ends of something are written with what follows.
const MIN_BUSY_BURST: u32 = 100;
/// The longest time from one of them to the next, after which a kept lock is released.
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// How long a kept lock is used before it is looked whether another process waits for it.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long the lock is not kept after another process has waited for it.
const SHARED: Duration = Duration::from_secs(1);

/// The lock files of a log.
pub(crate) struct LogLock {
    lock: LockFile,
    path: PathBuf,
    /// Processes that wait share a lock on this file; so the word of one that ends is gone with it.
    waiting: File,
}

impl LogLock {
    /// Opens the files in this folder; creates them if they do not exist.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("lock");
        let waiting = folder.join("waiting");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = open_regular_with(private(&mut options), &waiting);
        Ok(LogLock {
            lock: LockFile::open(&path)?,
            path,
            waiting: file.map_err(Error::io("open", &waiting))?,
        })
    }

    /// Takes the lock; also returns whether another process had it.
    pub(crate) fn acquire(&self) -> Result<(FileLock, bool)> {
        match self.lock.acquire(Duration::ZERO) {
            Err(Error::Locked { .. }) => {}
            free => return Ok((free?, false)),
        }
        let mut taken = None;
        let mut has_said = false;
        for _ in 0..SIGNALS {
            // Windows would count a lock twice.
            has_said = has_said || FileCalls::try_lock_shared(&self.waiting).is_ok();
            match self.lock.acquire(LOCK_TIMEOUT / SIGNALS) {
                Err(Error::Locked { .. }) => {}
                other => {
                    taken = Some(other);
                    break;
                }
            }
        }
        let _ = FileCalls::unlock(&self.waiting);
        let late = || Error::Locked {
            path: self.path.clone(),
            waited: LOCK_TIMEOUT,
        };
        Ok((taken.unwrap_or_else(|| Err(late()))?, true))
    }

    /// Whether another process waits for the lock, which this one holds.
    pub(crate) fn is_wanted(&self) -> bool {
        match FileCalls::try_lock(&self.waiting) {
            Ok(()) => FileCalls::unlock(&self.waiting).is_err(),
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// Whether the path still refers to the open file.
    pub(crate) fn is_in_place(&self) -> bool {
        self.lock.is_in_place(&Files).unwrap_or(false)
    }
}

/// The lock as it is kept between records.
#[derive(Default)]
pub(crate) struct KeptLock {
    held: Option<FileLock>,
    /// When it was last looked whether another process waits.
    checked: Option<Instant>,
    /// When the last record was appended.
    used: Option<Instant>,
    /// How many records have followed each other without a pause.
    burst: u32,
    /// Until when it is not kept, because others need it, too.
    shared_until: Option<Instant>,
}

impl KeptLock {
    /// The lock, if it was kept.
    pub(crate) fn take(&mut self) -> Option<FileLock> {
        self.held.take()
    }

    /// Whether it is time to look whether another process waits.
    pub(crate) fn is_check_due(&mut self, now: Instant) -> bool {
        let is_due = self.checked.is_none_or(|at| now >= at + CHECK_INTERVAL);
        if is_due {
            self.checked = Some(now);
        }
        is_due
    }

    /// Other processes need the lock.
    pub(crate) fn share(&mut self, now: Instant) {
        self.shared_until = Some(now + SHARED);
    }

    /// A record is appended. Returns whether the lock should be kept after it.
    pub(crate) fn count(&mut self, now: Instant) -> bool {
        let goes_on = self.used.is_some_and(|at| now < at + MAX_PAUSE);
        self.burst = if goes_on {
            self.burst.saturating_add(1)
        } else {
            1
        };
        self.used = Some(now);
        self.shared_until.take_if(|until| *until <= now);
        self.burst >= MIN_BURST && self.shared_until.is_none()
    }

    /// Whether so many records follow each other that each write counts.
    pub(crate) fn is_busy(&self) -> bool {
        self.burst >= MIN_BUSY_BURST
    }

    /// Keeps the lock until [`due`](Self::due).
    pub(crate) fn keep(&mut self, held: FileLock) {
        self.held = Some(held);
    }

    /// When it has to be released, unless there is another record before; `None` if it is not kept.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.used
            .filter(|_| self.held.is_some())
            .map(|at| at + MAX_PAUSE)
    }
}
