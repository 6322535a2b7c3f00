//! Saves whole outputs of commands in files, for users who are shown only the end.
//!
//! The folder is created with the first file and removed with the server.

use crate::sys::lock;
use gosling_shared::TemporaryFolder;
use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The most files, and their total size in bytes; the oldest are removed first.
const MAX_FILES: usize = 50;
const MAX_BYTES: usize = 16 << 20;

/// The saved outputs. Dropping it removes them.
pub(super) struct SavedOutputs {
    /// The folder in which the folder of the outputs is created.
    parent: PathBuf,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    folder: Option<TemporaryFolder>,
    /// The paths and sizes, the oldest first.
    entries: VecDeque<(PathBuf, usize)>,
    /// How many outputs have been saved so far.
    count: usize,
}

impl SavedOutputs {
    /// Creates it without any outputs, for the folder of temporary files.
    pub(super) fn new() -> SavedOutputs {
        SavedOutputs::under(env::temp_dir())
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.files).entries.is_empty()
    }

    fn under(parent: PathBuf) -> SavedOutputs {
        SavedOutputs {
            parent,
            files: Mutex::default(),
        }
    }

    /// Saves an output and returns the path of its file.
    ///
    /// # Errors
    /// When the output is too large, or the file cannot be written.
    pub(super) fn save(&self, output: &str) -> io::Result<PathBuf> {
        if output.len() > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut files = lock(&self.files);
        files.make_room(output.len());
        files.count += 1;
        let name = format!("output-{}.txt", files.count);
        let folder = files.folder(&self.parent)?;
        let path = folder.path().join(&name);
        let mut file = folder.create(&name)?;
        // Recorded before it is written, so that an incomplete file is removed, too.
        files.entries.push_back((path.clone(), output.len()));
        file.write_all(output.as_bytes())?;
        Ok(path)
    }
}

impl Files {
    /// The folder, which is created again if it was removed.
    fn folder(&mut self, parent: &Path) -> io::Result<&TemporaryFolder> {
        let folder = match self.folder.take() {
            Some(folder) if folder.path().is_dir() => folder,
            _ => {
                self.entries.clear();
                TemporaryFolder::within(parent)?
            }
        };
        Ok(self.folder.insert(folder))
    }

    fn make_room(&mut self, size: usize) {
        let mut bytes = size + self.entries.iter().map(|(_, size)| size).sum::<usize>();
        while self.entries.len() >= MAX_FILES || bytes > MAX_BYTES {
            let Some((path, size)) = self.entries.pop_front() else {
                return;
            };
            bytes -= size;
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
