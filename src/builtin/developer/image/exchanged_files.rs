//! The files that are exchanged with a helper program, in a temporary folder.

use crate::developer::temporary_folder::TemporaryFolder;
use crate::sys;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};

impl TemporaryFolder {
    /// Creates a folder in the one for temporary files.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn new() -> io::Result<Self> {
        TemporaryFolder::within(&env::temp_dir())
    }

    /// Writes a new file of at most `most` bytes.
    ///
    /// # Errors
    /// When it cannot be written, or the content is longer.
    pub(crate) fn write(&self, name: &str, content: impl Read, most: u64) -> io::Result<()> {
        let mut file = self.create(name)?;
        let written = io::copy(&mut content.take(most.saturating_add(1)), &mut file)?;
        if written > most {
            Err(io::Error::other("it grew while it was copied"))
        } else {
            file.flush()
        }
    }

    /// Opens a file that a program has created, makes it private, and returns its size in bytes.
    ///
    /// # Errors
    /// When it does not exist or is not a regular file. A symbolic link is an error, too: the mode of its
    /// target must not change.
    pub(crate) fn open(&self, name: &str) -> io::Result<(File, u64)> {
        let path = self.path().join(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = sys::fs::open_regular(&path)?;
        sys::fs::make_private(&file)?;
        let len = file.metadata()?.len();
        Ok((file, len))
    }
}

#[cfg(test)]
mod tests;
