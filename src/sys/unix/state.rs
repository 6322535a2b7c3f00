//! The state of a file.

use super::checked;
use crate::stamp::Stamp;
use std::ffi::CStr;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

/// The state of the file at this path, relative to an open folder.
pub(super) fn of_file(folder: i32, path: &CStr) -> io::Result<Stamp> {
    // SAFETY: the path ends with NUL; plain data that outlives the call, for which zero is valid.
    let stat = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        checked(libc::fstatat(folder, path.as_ptr(), &raw mut stat, 0))?;
        stat
    };
    let (Ok(seconds), Ok(nanos)) = (stat.st_mtime.try_into(), stat.st_mtime_nsec.try_into()) else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    Ok(Stamp {
        modified: UNIX_EPOCH + Duration::new(seconds, nanos),
        len: stat.st_size as u64,
        inode: stat.st_ino,
        changed: (stat.st_ctime, stat.st_ctime_nsec),
    })
}
