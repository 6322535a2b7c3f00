//! Which process has a turn of a session under way. Only one has at a time: the system gives the lock
//! back when the process ends, however it ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Error, Result, file_lock};
use crate::text::printable;

/// The longest description of a process that is shown, in characters.
const LONGEST: usize = 200;

/// The locks that this process has. Locks are taken and released while it is locked, so that it is always
/// clear whether a lock that cannot be taken belongs to another process.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// While it lives, no other process begins a turn of the session.
#[derive(Debug)]
pub struct TurnLock {
    path: PathBuf,
    lock: Option<file_lock::FileLock>,
}

impl TurnLock {
    /// Takes the lock `path`, waiting at most `wait`, and says in its file who has it.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when the time is up, [`Error::Io`].
    pub(super) fn acquire(path: PathBuf, wait: Duration) -> Result<Self> {
        let lock =
            file_lock::retry_while_held(wait, || try_acquire(&mut lock_ours(), &path, true))?;
        // The lock holds all the same.
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

/// Whether the lock `path` is free or this process has it.
///
/// # Errors
/// [`Error::TurnInProgress`] when another process has it.
pub(super) fn check_not_held_elsewhere(path: &Path) -> Result<()> {
    match try_acquire(&mut lock_ours(), path, false) {
        Err(error @ Error::TurnInProgress { holder: Some(_) }) => Err(error),
        _ => Ok(()),
    }
}

/// Takes the lock `path` if it is free, and enters it into `ours` if it is to be kept.
fn try_acquire(
    ours: &mut BTreeSet<PathBuf>,
    path: &Path,
    keep: bool,
) -> Result<file_lock::FileLock> {
    if ours.contains(path) {
        return Err(Error::TurnInProgress { holder: None });
    }
    match file_lock::FileLock::acquire(path, Duration::ZERO) {
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

/// The command and the id of this process, for people.
fn this_process() -> String {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or_default();
    let mut command = program.to_string_lossy().into_owned();
    // Anything else than a command's name may be somebody's secret.
    let is_command = |word: &str| word.len() <= 20 && word.bytes().all(|b| b.is_ascii_lowercase());
    if let Some(word) = arguments.next().and_then(|word| word.into_string().ok())
        && is_command(&word)
    {
        command = format!("{command} {word}");
    }
    format!("`{command}`, process {}", process::id())
}

/// The other process that has the lock `path`.
fn holder(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    printable(
        text.lines().next().unwrap_or("whose id is not known"),
        LONGEST,
    )
}
