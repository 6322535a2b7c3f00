//! What the operating system gives: processes, signals, clocks, ids. The only room with `cfg(os)`
//! and with `unsafe`.

pub mod cancel;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever became of the last holder: no invariant here outlives a panic half-made.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
