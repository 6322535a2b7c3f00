//! The signals that end a server: SIGTERM, SIGINT and SIGHUP. SIGINT and SIGHUP do not count if they were
//! ignored when the process started, as `nohup` arranges. Also resets signal dispositions that the process must
//! not inherit.

use super::unix;
use std::time::Duration;

/// Resets dispositions that the parent process may have changed. With SIGCHLD ignored, the system reaps
/// children before this process learns how they ended. With SIGXFSZ at its default, a file that reaches the
/// size limit (`ulimit -f`) ends the process instead of causing an error. Called before threads are started.
pub fn reset_inherited() {
    unix::reset_inherited_signals();
}

/// Blocks the ending signals in this thread and in the threads that it starts later, so that only [`wait`]
/// receives them. Called before threads are started. Children of [`process`](super::process) do not inherit
/// this.
pub fn block() {
    unix::block_signals();
}

/// Waits for the next ending signal and returns its number.
pub fn wait() -> i32 {
    unix::wait_signal()
}

/// Waits for the next ending signal, for at most `limit`. On systems other than Linux, `None` at once.
pub fn wait_timeout(limit: Duration) -> Option<i32> {
    unix::wait_signal_timeout(limit)
}
