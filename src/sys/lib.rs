//! The operating system layer: processes, signals, clocks, random ids. The only member with `cfg(os)` and with
//! `unsafe`.
#![deny(unsafe_code)]

pub mod cancel;
mod child_command;
pub mod clock;
pub mod fs;
#[cfg_attr(windows, path = "windows/guardian.rs")]
pub mod guardian;
#[cfg(not(windows))]
mod marked_processes;
mod memory;
#[cfg_attr(windows, path = "windows/net.rs")]
pub mod net;
#[cfg(feature = "parts")]
mod parts;
#[cfg_attr(windows, path = "windows/pipe.rs")]
pub mod pipe;
#[cfg(not(windows))]
mod proc_environ;
#[cfg_attr(windows, path = "windows/process.rs")]
pub mod process;
#[cfg(not(windows))]
mod process_mark;
pub mod signal;
#[cfg(not(windows))]
mod spawner;
mod stamp;
mod start_limit;
pub mod sync;
mod taken_variables;
pub mod threads;
mod time_limit;
#[cfg(not(windows))]
mod unix;
#[cfg(windows)]
mod windows;

pub use memory::{memory_limit, share_of_descriptors, share_of_memory};
pub use os::{
    SYSTEM_POLICY, limit_allocator_arenas, own_all_children, protect_memory, system_memory,
};
#[cfg(feature = "parts")]
pub use parts::*;
pub use taken_variables::take_variable;
pub use threads::{SMALL_STACK, caught, spawn};
pub use time_limit::TimeLimit;
#[cfg(not(windows))]
use unix as os;
#[cfg(windows)]
use windows as os;

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
    Ok(to_hex(&buffer))
}

/// In lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns memory to the system: what the allocator keeps of freed memory, and the pages of the executable's
/// code and constants, which the system maps again where they are used. For times when the server is idle.
pub fn trim_memory() {
    os::trim_arenas();
    os::unmap_code();
}
