//! The operating system layer: processes, signals, clocks, random ids. The only member with `cfg(os)` and with
//! `unsafe`.
#![deny(unsafe_code)]

pub mod cancel;
mod child_command;
pub mod clock;
pub mod fs;
pub mod guardian;
mod marked_processes;
mod memory;
pub mod net;
#[cfg(feature = "parts")]
mod parts;
pub mod pipe;
mod proc_environ;
pub mod process;
mod process_mark;
pub mod signal;
mod spawner;
mod stamp;
pub mod sync;
mod taken_variables;
pub mod threads;
mod time_limit;
mod unix;

pub use memory::{memory_limit, share_of_memory};
#[cfg(feature = "parts")]
pub use parts::*;
pub use taken_variables::take_variable;
pub use threads::{SMALL_STACK, spawn};
pub use time_limit::TimeLimit;
pub use unix::{
    limit_arenas as limit_allocator_arenas, make_undumpable as protect_memory, system_memory,
};

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also a poisoned one: no code here leaves an inconsistent state behind when it panics.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `bytes` random bytes from the system, in lower-case hexadecimal.
///
/// # Errors
/// When the system has no random bytes.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    getrandom::getrandom(&mut buffer).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns memory to the system: what the allocator keeps of freed memory, and the pages of the executable's
/// code and constants, which the system maps again where they are used. For times when the server is idle.
pub fn trim_memory() {
    unix::trim_arenas();
    unix::unmap_code();
}
