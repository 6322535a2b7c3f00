//! Reads the extended attributes of a file, of which an access control list is one. Linux.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The most bytes that Linux has in a list of names, or in a value.
const MAX_BYTES: usize = 64 << 10;

/// The names and values.
///
/// # Errors
/// When one of them cannot be read.
pub(super) fn read(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let fd = file.as_raw_fd();
    // SAFETY: the buffer has this size.
    let names = filled(|buffer, size| unsafe { libc::flistxattr(fd, buffer.cast(), size) });
    let names = match names {
        Err(error) if error.raw_os_error() == Some(libc::ENOTSUP) => return Ok(BTreeMap::new()),
        names => names?,
    };
    let names = names.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    let values = names.map(|name| {
        let name = CString::new(name)?;
        // SAFETY: the name ends with NUL, and the buffer has this size.
        let value = |buffer, size| unsafe { libc::fgetxattr(fd, name.as_ptr(), buffer, size) };
        let value = filled(value)?;
        Ok((name, value))
    });
    values.collect()
}

/// Calls `fill` with a buffer and its size. It returns the length of what it wrote there, or a negative number.
fn filled(fill: impl Fn(*mut c_void, usize) -> isize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; MAX_BYTES];
    let len = fill(buffer.as_mut_ptr().cast(), buffer.len());
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    buffer.truncate(len);
    Ok(buffer)
}
