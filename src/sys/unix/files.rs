//! Files and folders on Unix.

use super::state;
use crate::stamp::Stamp;
use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
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
        // Long enough for every path of a session; avoids an allocation for each.
        let mut path = [0; 256];
        let mut end = 0;
        for part in parts {
            let place = path.get_mut(end..end + part.len());
            let place = place.ok_or(io::ErrorKind::InvalidFilename)?;
            place.copy_from_slice(part.as_bytes());
            end += part.len();
        }
        let path = path.get(..=end).ok_or(io::ErrorKind::InvalidFilename)?;
        let path = CStr::from_bytes_with_nul(path).map_err(|_| io::ErrorKind::InvalidFilename)?;
        match state::of_file(self.0.as_raw_fd(), path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            stamp => stamp.map(Some),
        }
    }
}

/// What stands for an absolute path in a `file:` URI, before it is encoded.
pub fn uri_path(path: &Path) -> Cow<'_, [u8]> {
    path.as_os_str().as_encoded_bytes().into()
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

/// Calls that Windows needs otherwise: of open files, to remove a folder, and to give a file or a folder another name.
/// A file takes the place of one that has it.
pub use std::fs::{File as FileCalls, remove_dir_all, rename, rename as move_folder};

/// As [`open_regular`](crate::fs::open_regular), with other options.
///
/// # Errors
/// As [`open_regular`](crate::fs::open_regular).
pub fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
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

/// Opens the folder `path` to lock it. On Windows, this is a file in it.
pub use open_folder as lockable_folder;

/// Makes the entries of a folder durable, on file systems that can.
pub(crate) fn sync_folder(folder: &File) -> io::Result<()> {
    const UNABLE: [io::ErrorKind; 2] = [io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported];
    match folder.sync_all() {
        Err(error) if UNABLE.contains(&error.kind()) => Ok(()),
        result => result,
    }
}

impl Stamp {
    /// The state that `metadata` describes.
    ///
    /// # Errors
    /// When the platform has no modification times.
    pub fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            modified: metadata.modified()?,
            len: metadata.len(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
