//! Files that this process has made and removes at its end.

use crate::sys::file_owner::identity;
use crate::sys::lock;
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// All of them with all their names.
static ALL: Mutex<Vec<OwnFile>> = Mutex::new(Vec::new());

/// A file that this process has made.
#[derive(Clone, Debug)]
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
        let own = OwnFile {
            path: path.to_owned(),
            id: identity(path)?,
        };
        lock(&ALL).push(own.clone());
        Ok(own)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It has this name now.
    pub(crate) fn renamed(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
        lock(&ALL).push(self.clone());
    }

    pub(crate) fn remove(&self) {
        lock(&ALL).retain(|own| own.id != self.id);
        if !identity(&self.path).is_ok_and(|id| id == self.id) {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            log::warn!("file not removed path={:?} reason={error}", self.path);
        }
    }
}

/// Removes all, for an end that waits for nothing.
pub(crate) fn remove_all() {
    let all = mem::take(&mut *lock(&ALL));
    all.iter().for_each(OwnFile::remove);
}
