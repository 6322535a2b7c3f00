//! Which process has a turn of a session under way. Only one has at a time: the system gives the lock
//! back when the process ends, however it ends.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::OnceLock;
use std::time::Duration;

use super::{Error, Result, files};
use crate::sys;
use crate::text::printable;

/// The longest description of a process that is shown, in characters.
const LONGEST: usize = 200;

/// While it lives, no other process begins a turn of the session.
#[derive(Debug)]
pub struct TurnLock {
    _lock: files::Lock,
}

impl TurnLock {
    /// Takes the lock `path`, waiting at most `wait`, and says in its file who has it.
    ///
    /// # Errors
    /// [`Error::AtWork`] when the time is up, [`Error::Io`].
    pub(super) fn acquire(path: &Path, wait: Duration) -> Result<Self> {
        match files::Lock::acquire(path, wait) {
            Ok(lock) => {
                // The lock holds all the same.
                let _ = lock.describe(&format!("{}\n{}\n", this_process(), token()));
                Ok(TurnLock { _lock: lock })
            }
            Err(Error::Locked { .. }) => Err(Error::AtWork {
                holder: holder(path),
            }),
            Err(error) => Err(error),
        }
    }
}

/// Tells this process from one with the same id in another container or before a restart.
fn token() -> &'static str {
    static TOKEN: OnceLock<String> = OnceLock::new();
    TOKEN.get_or_init(|| sys::random_hex(8).unwrap_or_default())
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

/// Who has the lock `path`; `None` if it is this process.
fn holder(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    match text.trim().split_once('\n') {
        Some((_, theirs)) if theirs == token() => None,
        Some((process, _)) => Some(printable(process, LONGEST)),
        None => Some("whose id is not known".to_owned()),
    }
}
