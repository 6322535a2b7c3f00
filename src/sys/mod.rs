//! What the operating system gives: processes, signals, clocks, ids. The only module with `cfg(os)`
//! and with `unsafe`.

pub mod cancel;
pub mod clock;
mod command;
#[cfg(test)]
pub(crate) mod counting_allocator;
mod descendants;
pub mod fs;
pub mod guardian;
pub mod net;
pub mod pipe;
mod proc_environ;
pub mod process;
mod process_mark;
pub mod signal;
mod spawner;
pub(crate) mod sync;
mod time_limit;
mod unix;

pub use time_limit::TimeLimit;

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The stack of threads that only move bytes: touched pages count, not this.
pub const SMALL_STACK: usize = 256 * 1024;

/// Starts a thread with a name, on a stack of so many bytes or of the usual size. std's own way is
/// compiled anew for each kind of work; this one is there once.
///
/// # Errors
/// When there is no thread to be had.
pub fn spawn(
    name: String,
    stack: Option<usize>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    let thread = thread::Builder::new().name(name);
    match stack {
        Some(bytes) => thread.stack_size(bytes).spawn(work),
        None => thread.spawn(work),
    }
}

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
pub fn limit_allocator_arenas() {
    unix::limit_arenas();
}

/// Keeps programs of the same user, children of this process among them, from reading its memory, from
/// its first environment on, and from debugging it. Root still may. Linux; elsewhere nothing is done. There
/// are no core dumps then.
pub fn protect_memory() {
    unix::make_undumpable();
}

/// Takes a variable out of the environment, and out of the memory that other processes see it in: what
/// it was, if it was Unicode. For a secret, and only while there is one thread.
pub fn take_variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    unix::erase_variable(name);
    value.into_string().ok()
}

/// Gives memory back to the system that was freed but is kept for later. For when nothing goes on.
pub fn trim_allocator() {
    unix::trim_arenas();
}

/// Whether this is a file that may be run.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && unix::may_run(&file))
}
