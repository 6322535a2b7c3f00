//! A signal of this process to itself, and those that have ended others.
#![allow(unsafe_code)]

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The signal that has ended a process, if one has.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Sends SIGTERM to this process: it ends as if another process had sent that.
pub fn terminate_self() {
    // SAFETY: plain integers. A process may always signal itself.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
}
