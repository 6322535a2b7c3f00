//! Private files and folders: modes, durability and identity.

pub use super::stamp::Stamp;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// An open folder, to read the states of many files in it without resolving its path again.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens the folder `path`.
    ///
    /// # Errors
    /// When it does not exist or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        open_folder(path).map(Folder)
    }

    /// The state of the file at the relative path that `parts` form together; `None` if it does not exist.
    /// Follows symbolic links.
    ///
    /// # Errors
    /// When the file cannot be reached.
    pub fn stamp(&self, parts: &[&str]) -> io::Result<Option<Stamp>> {
        match super::unix::stamp_at(&self.0, parts) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            stamp => stamp.map(Some),
        }
    }
}

/// Makes `options` create files with mode 0600.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// A builder of folders with mode 0700.
pub fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Removes the permissions of group and others from `file`; returns whether there were any.
///
/// # Errors
/// When the mode cannot be read or set, for example because another user owns the file.
pub fn make_private(file: &File) -> io::Result<bool> {
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(false);
    }
    file.set_permissions(PermissionsExt::from_mode(mode & 0o700))?;
    Ok(true)
}

/// Opens the regular file `path` for reading, following symbolic links. Every file that another program can replace
/// is opened with this or [`open_regular_with`]: opening a named pipe would block, and a device may have no end.
///
/// # Errors
/// When it cannot be opened, or, without a code of the operating system, when it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(OpenOptions::new().read(true), path)
}

/// As [`open_regular`], with other options.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
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

/// Opens the folder `path`, to lock or to sync it.
///
/// # Errors
/// When it does not exist, is not a folder, or cannot be read.
pub fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY)
        .open(path)
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
/// Does nothing on file systems that do not support it, such as some network file systems.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    let folder = open_folder(path)?;
    match sync_with(&folder, File::sync_all) {
        Err(error) if is_unsupported(&error) => Ok(()),
        result => result,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

#[cfg(any(test, feature = "testing"))]
pub mod synced;
#[cfg(test)]
mod tests;
