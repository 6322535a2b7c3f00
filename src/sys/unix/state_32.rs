//! The state of a file, where the `stat` of the C library has 32 bits: it has no place for files of more than 2 GiB,
//! for many inodes of large file systems, and for times after 2038.

use super::checked;
use crate::stamp::Stamp;
use std::ffi::CStr;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

/// The state of the file at this path, relative to an open folder. Linux 4.11.
pub(super) fn of_file(folder: i32, path: &CStr) -> io::Result<Stamp> {
    let mask = libc::STATX_BASIC_STATS;
    // SAFETY: the path ends with NUL; plain data that outlives the call, for which zero is valid.
    let state = unsafe {
        let mut state: libc::statx = std::mem::zeroed();
        let place = &raw mut state;
        checked(libc::syscall(
            libc::SYS_statx,
            folder,
            path.as_ptr(),
            0,
            mask,
            place,
        ))?;
        state
    };
    let Ok(seconds) = state.stx_mtime.tv_sec.try_into() else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    Ok(Stamp {
        modified: UNIX_EPOCH + Duration::new(seconds, state.stx_mtime.tv_nsec),
        len: state.stx_size,
        inode: state.stx_ino,
        changed: (state.stx_ctime.tv_sec, state.stx_ctime.tv_nsec.into()),
    })
}
