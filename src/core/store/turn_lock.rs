//! The lock that makes sure that one process at a time runs a turn of a session. The system releases it when
//! the process ends, however it ends.

use super::disk::Disk;
use super::{Error, Result, file_lock};
use crate::sys::fs::read_start;
use crate::text::printable;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum length of the description of a process, in characters.
const LONGEST: usize = 200;

/// The locks that this process holds. Locks are taken and released while this is locked, so that a lock that
/// cannot be taken is known to belong to another process.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// While it exists, no other turn of the session can begin.
#[derive(Debug)]
pub struct TurnLock {
    path: PathBuf,
    lock: Option<file_lock::FileLock>,
}

impl TurnLock {
    /// Takes the lock `path`, waiting at most `wait`, and writes a description of this process into the file.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when the wait is over, [`Error::Io`].
    pub(super) fn acquire(disk: &dyn Disk, path: PathBuf, wait: Duration) -> Result<Self> {
        let lock =
            file_lock::retry_while_held(wait, || try_acquire(disk, &mut lock_ours(), &path, true))?;
        // The lock is valid without the description.
        let _ = lock.describe(&format!("{}\n", this_process()));
        Ok(TurnLock {
            path,
            lock: Some(lock),
        })
    }
}

impl Drop for TurnLock {
    fn drop(&mut self) {
        let mut ours = lock_ours();
        ours.remove(&self.path);
        self.lock = None;
    }
}

/// Checks that the lock `path` is free or held by this process.
///
/// # Errors
/// [`Error::TurnInProgress`] when another process holds it.
pub(super) fn check_not_held_elsewhere(disk: &dyn Disk, path: &Path) -> Result<()> {
    match try_acquire(disk, &mut lock_ours(), path, false) {
        Err(error @ Error::TurnInProgress { holder: Some(_) }) => Err(error),
        _ => Ok(()),
    }
}

/// Takes the lock `path` if it is free, and adds it to `ours` if `keep` is set.
fn try_acquire(
    disk: &dyn Disk,
    ours: &mut BTreeSet<PathBuf>,
    path: &Path,
    keep: bool,
) -> Result<file_lock::FileLock> {
    if ours.contains(path) {
        return Err(Error::TurnInProgress { holder: None });
    }
    match file_lock::LockFile::open_on(disk, path)?.acquire(Duration::ZERO) {
        Err(Error::Locked { .. }) => Err(Error::TurnInProgress {
            holder: Some(holder(path)),
        }),
        Ok(lock) if keep => {
            ours.insert(path.to_owned());
            Ok(lock)
        }
        lock => lock,
    }
}

fn lock_ours() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A description of this process: its command and id.
fn this_process() -> String {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let command = command(Path::new(&program), arguments.next());
    format!("`{command}`, process {}", process::id())
}

/// The program and its command. Anything other than a command's name may be a secret.
fn command(program: &Path, first: Option<OsString>) -> String {
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let is_command = |word: &str| word.len() <= 20 && word.bytes().all(|b| b.is_ascii_lowercase());
    match first.and_then(|word| word.into_string().ok()) {
        Some(word) if is_command(&word) => format!("{program} {word}"),
        _ => program.into_owned(),
    }
}

/// The description of the process that holds the lock `path`.
fn holder(path: &Path) -> String {
    let text = read_start(path, 4 * LONGEST as u64).unwrap_or_default();
    printable(
        String::from_utf8_lossy(&text)
            .lines()
            .next()
            .unwrap_or("whose id is not known"),
        LONGEST,
    )
}

#[cfg(test)]
mod tests;
