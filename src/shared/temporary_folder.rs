//! A private temporary folder. Dropping it removes it with its content.

use gosling_core::sys;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The path of the folder, which only its owner can access.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder with an unpredictable name in `folder`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn within(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("gosling-{}", sys::random_hex(12)?));
        // An existing folder may belong to another user, so it is an error.
        sys::fs::private_dir().create(&path)?;
        Ok(TemporaryFolder(path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a new file.
    ///
    /// # Errors
    /// When it exists already or cannot be created.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        sys::fs::private(&mut options).open(self.0.join(name))
    }

    /// Creates a folder in the one for temporary files.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new() -> io::Result<Self> {
        TemporaryFolder::within(&env::temp_dir())
    }

    /// Writes a new file of at most `most` bytes.
    ///
    /// # Errors
    /// When it cannot be written, or the content is longer.
    pub fn write(&self, name: &str, content: impl Read, most: u64) -> io::Result<()> {
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
    pub fn open(&self, name: &str) -> io::Result<(File, u64)> {
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

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = sys::fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            log::warn!(
                "a temporary folder cannot be removed folder={} reason={error}",
                self.0.display()
            );
        }
    }
}

#[cfg(test)]
mod tests;
