//! The signals that end a server: SIGTERM, SIGINT and SIGHUP. SIGINT and SIGHUP do not count if they were
//! ignored when the process started, as `nohup` arranges. Also resets signal dispositions that the process must
//! not inherit. On Windows: Ctrl-C, Ctrl-Break, and the end of the console, of the user's session or of the system.

pub use super::os::{
    HANG_UP, block_signals as block, reset_inherited_signals as reset_inherited,
    wait_signal as wait, wait_signal_timeout as wait_timeout,
};
