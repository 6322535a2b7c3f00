//! The lock that makes sure that one process at a time runs a turn of a session. The system releases it when
//! the process ends, however it ends.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Error, Result, file_lock};
use crate::sys::fs::read_start;
use crate::text::printable;

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
    pub(super) fn acquire(path: PathBuf, wait: Duration) -> Result<Self> {
        let lock =
            file_lock::retry_while_held(wait, || try_acquire(&mut lock_ours(), &path, true))?;
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
pub(super) fn check_not_held_elsewhere(path: &Path) -> Result<()> {
    match try_acquire(&mut lock_ours(), path, false) {
        Err(error @ Error::TurnInProgress { holder: Some(_) }) => Err(error),
        _ => Ok(()),
    }
}

/// Takes the lock `path` if it is free, and adds it to `ours` if `keep` is set.
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
mod tests {
    use super::*;
    use crate::store::file_lock::FileLock;
    use std::fs;

    fn lock_path(test: &str) -> PathBuf {
        let name = format!("gosling-turn-lock-{}-{test}", process::id());
        std::env::temp_dir().join(name)
    }

    #[test]
    fn a_command_is_described_and_no_other_argument() {
        let program = Path::new("/usr/bin/gosling");
        for (first, expected) in [
            (None, "gosling"),
            (Some("serve"), "gosling serve"),
            (Some("twentylettersandnomo"), "gosling twentylettersandnomo"),
            (Some("twentylettersandmore1"), "gosling"),
            (Some("twentylettersandmores"), "gosling"),
            (Some("sk-1"), "gosling"),
        ] {
            assert_eq!(command(program, first.map(OsString::from)), expected);
        }
    }

    #[test]
    fn a_look_at_a_free_lock_does_not_take_it() {
        let path = lock_path("look");
        for _ in 0..2 {
            check_not_held_elsewhere(&path).unwrap();
            let lock = TurnLock::acquire(path.clone(), Duration::ZERO).unwrap();
            check_not_held_elsewhere(&path).unwrap();
            let second = TurnLock::acquire(path.clone(), Duration::ZERO);
            assert!(matches!(
                second,
                Err(Error::TurnInProgress { holder: None })
            ));
            let described = fs::read_to_string(&path).unwrap();
            assert_eq!(described, format!("{}\n", this_process()));
            drop(lock);
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_holder_in_another_process_is_named_as_it_described_itself() {
        let path = lock_path("holder");
        // As another process does: this one does not know of the lock.
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let long = "ä".repeat(LONGEST);
        for (described, expected) in [("", "whose id is not known"), (&long, &long)] {
            lock.describe(described).unwrap();
            let acquired = TurnLock::acquire(path.clone(), Duration::ZERO).map(drop);
            for refused in [acquired, check_not_held_elsewhere(&path)] {
                let Err(Error::TurnInProgress {
                    holder: Some(holder),
                }) = refused
                else {
                    panic!("{refused:?}");
                };
                assert_eq!(holder, expected);
            }
        }
        fs::remove_file(path).unwrap();
    }
}
