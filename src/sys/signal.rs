//! The signals that end a server: SIGTERM, SIGINT and SIGHUP, taken one at a time by whoever waits. The last
//! two are none if they were ignored when the process began, as `nohup` has it. And those that a process must
//! not inherit from its launcher.

use super::unix;

/// Sets what a launcher may have set otherwise: with SIGCHLD ignored the system reaps children before this
/// process learns how they ended, and with SIGXFSZ at its default a file that reaches the size limit
/// (`ulimit -f`) ends the process, where an error is meant. Called before threads are made.
pub fn reset_inherited() {
    unix::reset_inherited_signals();
}

/// Holds the ending signals back in this thread and all that it makes from now on, so that only
/// [`wait`] receives them. Called before threads are made. Those who are started with
/// [`process`](super::process) hear them.
pub fn block() {
    unix::block_signals();
}

/// Waits for the next ending signal and gives its number.
pub fn wait() -> i32 {
    unix::wait_signal()
}
