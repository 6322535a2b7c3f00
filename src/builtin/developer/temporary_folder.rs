//! A private temporary folder. Dropping it removes it with its content.

use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The path of the folder, which only its owner can access.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder with an unpredictable name in `folder`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn within(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("gosling-{}", sys::random_hex(12)?));
        // An existing folder may belong to another user, so it is an error.
        sys::fs::private_dir().create(&path)?;
        Ok(TemporaryFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a new file.
    ///
    /// # Errors
    /// When it exists already or cannot be created.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        sys::fs::private(&mut options).open(self.0.join(name))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            log::warn!(
                "a temporary folder cannot be removed folder={} reason={error}",
                self.0.display()
            );
        }
    }
}
