//! Private files and folders: modes, durability and identity.

pub use super::os::files::{
    FileCalls, Folder, lockable_folder, make_private, move_folder, open_folder, open_regular_with,
    private, private_dir, remove_dir_all, rename, uri_path,
};
pub use super::stamp::Stamp;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens the regular file `path` for reading, following symbolic links. Every file that another program can replace
/// is opened with this or [`open_regular_with`]: opening a named pipe would block, and a device may have no end.
///
/// # Errors
/// When it cannot be opened, or, without a code of the operating system, when it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(OpenOptions::new().read(true), path)
}

/// The first `most` bytes of the regular file `path`.
///
/// # Errors
/// As [`open_regular`], and when it cannot be read.
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut content)?;
    Ok(content)
}

/// Makes the content of `file` durable.
///
/// # Errors
/// When the disk is full or fails.
pub fn sync_data(file: &File) -> io::Result<()> {
    sync_with(file, File::sync_data)
}

fn sync_with(file: &File, sync: fn(&File) -> io::Result<()>) -> io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    synced::note(file);
    sync(file)
}

/// Makes the entries of the folder `path` durable: what was created, renamed or removed there.
///
/// Does nothing on file systems that do not support it, such as some network file systems, and on Windows.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    sync_with(&open_folder(path)?, super::os::files::sync_folder)
}

#[cfg(any(test, feature = "testing"))]
pub mod synced;
#[cfg(test)]
mod tests;
