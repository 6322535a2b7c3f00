//! The signals that end a server: SIGTERM, SIGINT and SIGHUP, taken one at a time by whoever waits. The last
//! two are none if they were ignored when the process began, as `nohup` has it.

use super::unix;

/// Holds the ending signals back in this thread and all that it makes from now on, so that only
/// [`wait`] receives them. Called before threads are made. Those who are started with
/// [`process`](super::process) hear them.
pub fn hold() {
    unix::hold_signals();
}

/// Waits for the next ending signal and gives its number.
pub fn wait() -> i32 {
    unix::wait_signal()
}
