//! Files that this process has made and removes at its end.

use crate::sys::file_owner::identity;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that this process has made.
#[derive(Debug)]
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Another process may have put its own in its place.
    id: (u64, u64),
}

impl OwnFile {
    /// The file that this process has just made at this path.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        Ok(OwnFile {
            path: path.to_owned(),
            id: identity(path)?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It has this name now.
    pub(crate) fn renamed(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
    }

    pub(crate) fn remove(&self) {
        if !identity(&self.path).is_ok_and(|id| id == self.id) {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("file not removed path={:?} reason={error}", self.path);
        }
    }
}
