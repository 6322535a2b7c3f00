//! A signal of this process to itself.

use std::process::ExitStatus;

/// The signal that has ended a process: none does here.
pub fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Lets this process end as if the system told it to.
pub fn terminate_self() {
    crate::windows::terminate_self();
}
