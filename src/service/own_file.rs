//! Files that this process has made and removes at its end.

use crate::sys::file_owner::identity;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// A file that this process has made.
#[derive(Debug)]
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Another process may have put its own in its place.
    id: (u64, u64),
}

impl OwnFile {
    pub(crate) fn new(path: &Path, made: &Metadata) -> Self {
        OwnFile {
            path: path.to_owned(),
            id: identity(made),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It has this name now.
    pub(crate) fn renamed(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
    }

    pub(crate) fn remove(&self) {
        let found = self.path.symlink_metadata();
        if !found.is_ok_and(|it| identity(&it) == self.id) {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("file not removed path={:?} reason={error}", self.path);
        }
    }
}
