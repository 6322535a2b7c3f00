//! What the folders and files of sessions are made of: those of the system, unless a program has a store of its own.

use super::{Error, Result, files};
use crate::sys::fs::{
    FileCalls, Stamp, move_folder, open_regular_with, private, private_dir, sync_data,
};
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// What the folders and files of sessions are made of. What is not implemented is that of the system.
pub trait Disk: fmt::Debug + Send + Sync {
    /// The state of a file or folder; `None` if it does not exist.
    fn stamp(&self, path: &Path) -> Result<Option<Stamp>> {
        files::stamp(path)
    }
    /// Opens a file for reading; `None` if it does not exist.
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>> {
        Ok(files::open(path)?.map(|file| Box::new(file) as _))
    }
    /// Opens a file for reading and appending; `None` if it does not exist and `create` is not set, or has no folder.
    fn open_log(&self, path: &Path, create: bool) -> Result<Option<Box<dyn Handle>>> {
        if !create && files::stamp(path)?.is_none() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(create);
        let opened = files::if_exists(open_regular_with(private(&mut options), path));
        let opened = opened.map_err(Error::io("open", path))?;
        Ok(opened.map(|file| Box::new(file) as _))
    }
    /// Opens a file for locks, and creates it if it does not exist.
    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        Ok(Box::new(open_regular_with(private(&mut options), path)?))
    }
    /// Replaces the content of a file atomically.
    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        files::replace(path, content, || Ok(()))
    }
    /// Creates a folder that does not exist yet.
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        private_dir().create(path)
    }
    /// Creates a folder and those around it, unless they exist.
    fn ensure_dir(&self, path: &Path) -> Result<()> {
        files::ensure_dir(path)
    }
    /// The names in a folder; none if it does not exist.
    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in files::if_exists(fs::read_dir(path))?.into_iter().flatten() {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }
    /// Renames a folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        move_folder(from, to)
    }
    /// Removes a folder with all that is in it.
    fn remove(&self, path: &Path) -> io::Result<()> {
        crate::sys::fs::remove_dir_all(path)
    }
    /// Makes the names in a folder durable.
    fn sync_names(&self, path: &Path) -> Result<()> {
        files::sync_names(path)
    }
}

/// The files of the system.
#[derive(Debug)]
pub struct Files;

impl Disk for Files {}

/// An open file.
pub trait Handle: Read + Write + Seek + fmt::Debug + Send + Sync {
    /// Its state.
    fn stamp(&self) -> io::Result<Stamp>;
    /// Cuts off what follows the first `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes its content durable.
    fn sync(&self) -> io::Result<()>;
    /// Takes its lock, if it is free.
    fn try_lock(&self) -> std::result::Result<(), TryLockError>;
    /// Releases its lock.
    fn unlock(&self) -> io::Result<()>;
    /// Writes `text` into it, for those who find it locked. Does not write if the text is already there, and does not
    /// truncate first: both would make the next sync slower.
    fn describe(&self, text: &str) -> io::Result<()>;
}

impl Handle for File {
    fn stamp(&self) -> io::Result<Stamp> {
        Stamp::of(&self.metadata()?)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        FileCalls::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        sync_data(self)
    }

    fn try_lock(&self) -> std::result::Result<(), TryLockError> {
        FileCalls::try_lock(self)
    }

    fn unlock(&self) -> io::Result<()> {
        FileCalls::unlock(self)
    }

    fn describe(&self, text: &str) -> io::Result<()> {
        let mut file = self;
        let mut old = vec![0; text.len() + 1];
        let count = file.read(&mut old)?;
        if &old[..count] == text.as_bytes() {
            return Ok(());
        }
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        self.truncate(text.len() as u64)
    }
}
