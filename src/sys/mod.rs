//! What the operating system gives: processes, signals, clocks, ids. The only room with `cfg(os)`
//! and with `unsafe`.

pub mod cancel;
pub mod clock;
pub mod fs;
pub mod guardian;
pub mod net;
pub mod pipe;
pub mod process;
pub mod signal;
mod unix;

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The stack of threads that only move bytes: touched pages count, not this.
pub const SMALL_STACK: usize = 256 * 1024;

/// Locks, whatever became of the last holder: no invariant here outlives a panic half-made.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `bytes` random bytes from the system, in lower-case hexadecimal.
///
/// # Errors
/// When the system has none to give.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    getrandom::getrandom(&mut buffer).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Tunes the process for many threads that each need little. Called first thing in `main`.
pub fn be_small() {
    unix::few_arenas();
}

/// Whether this is a file that may be run.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && unix::may_run(&file))
}
