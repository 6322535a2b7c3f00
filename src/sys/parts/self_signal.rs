//! A signal of this process to itself.
#![allow(unsafe_code)]

/// Sends SIGTERM to this process: it ends as if another process had sent that.
pub fn terminate_self() {
    // SAFETY: plain integers. A process may always signal itself.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
}
