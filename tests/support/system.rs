//! Where systems differ for tests: how a server is started and ended, and what is known of processes. Each system has
//! the same functions; what only Unix has is in its file alone, and so are the methods of [`Server`] for it.
//!
//! [`Server`]: super::server::Server

use std::path::{MAIN_SEPARATOR_STR, Path};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// Whether the permissions of a file are these, where files have such.
pub fn has_mode(path: impl AsRef<Path>, wanted: u32) -> bool {
    mode(path).is_none_or(|mode| mode == wanted)
}

/// How the end of a process by itself with this code is written.
pub fn exit_status(code: i32) -> String {
    format!("{EXIT_STATUS}: {code}")
}

/// A path with slashes as the system shows it.
pub fn shown(path: &str) -> String {
    path.replace('/', MAIN_SEPARATOR_STR)
}
