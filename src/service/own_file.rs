//! Files that this process has made and removes at its end.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that this process has made.
#[derive(Debug)]
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Device and inode: another process may have put its own in its place.
    id: (u64, u64),
}

impl OwnFile {
    pub(crate) fn new(path: &Path, made: &Metadata) -> Self {
        OwnFile {
            path: path.to_owned(),
            id: (made.dev(), made.ino()),
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
        if !found.is_ok_and(|it| (it.dev(), it.ino()) == self.id) {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("file not removed path={:?} reason={error}", self.path);
        }
    }
}
