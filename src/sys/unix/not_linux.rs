//! In place of what Linux alone has. Nothing here has been tried on a system: it compiles for macOS.

use std::ffi::CStr;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// This system has no handles on processes.
pub(in super::super) enum PidFd {}

impl PidFd {
    pub(in super::super) fn open(_: i32) -> Option<PidFd> {
        None
    }

    pub(in super::super) fn wait_or_readable(&self, _: Option<i32>) -> bool {
        match *self {}
    }

    pub(in super::super) fn fd(&self) -> i32 {
        match *self {}
    }

    pub(super) fn signal(&self, _: i32) -> io::Result<()> {
        match *self {}
    }
}

/// The system is not asked: false.
pub(in super::super) fn is_only_thread() -> bool {
    false
}

pub(super) fn set_limit(_: Option<u64>) {}

/// No limit carries marks.
pub(in super::super) fn limit_of(_: i32) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The memory of the system in bytes, if it tells.
pub fn system_memory() -> Option<u64> {
    // SAFETY: plain integers.
    let number = |name| u64::try_from(unsafe { libc::sysconf(name) }).ok();
    number(libc::_SC_PHYS_PAGES)?.checked_mul(number(libc::_SC_PAGESIZE)?)
}

pub(super) fn set_name(_: &CStr) {}

/// The system does not tell the program.
pub(in super::super) fn started_file() -> Option<PathBuf> {
    None
}

/// No wait for signals has an end here: none at once.
pub fn wait_signal_timeout(_: Duration) -> Option<i32> {
    None
}

/// A no-op.
pub fn protect_memory() {}

/// There is no such call: false.
pub(super) fn close_range(_: i32) -> bool {
    false
}

/// This system ends no process for that.
pub(super) fn dies_with(_: i32) -> bool {
    true
}

pub(in super::super) fn unmap_code() {}

/// No limit is known.
pub(crate) fn limits(_: i32, _: i32, _: Option<[u64; 2]>) -> io::Result<[u64; 2]> {
    Err(io::ErrorKind::Unsupported.into())
}
