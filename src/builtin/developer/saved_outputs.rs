//! Saves whole outputs of commands in files, for users who are shown only the end.
//!
//! The folder is created with the first file and removed with the server.

use super::temporary_folder::TemporaryFolder;
use crate::sys::lock;
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
mod tests {
    use super::*;

    /// A parent folder, removed with its content.
    struct ParentFolder(PathBuf);

    fn parent() -> ParentFolder {
        let name = format!("gosling-outputs-{}", crate::sys::random_hex(8).unwrap());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        ParentFolder(path)
    }

    impl Drop for ParentFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn they_are_bounded_in_number_and_size_and_go_with_their_server() {
        let parent = parent();
        let outputs = SavedOutputs::under(parent.0.clone());
        assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0, "not before");
        let paths: Vec<_> = (0..MAX_FILES + 3)
            .map(|n| outputs.save(&format!("output {n}\n")).unwrap())
            .collect();
        assert!(paths[..3].iter().all(|path| !path.exists()));
        let last = &paths[MAX_FILES + 2];
        assert_eq!(fs::read_to_string(last).unwrap(), "output 52\n");
        assert_eq!(
            fs::read_dir(last.parent().unwrap()).unwrap().count(),
            MAX_FILES
        );
        let large = "x".repeat(MAX_BYTES / 2);
        let large: Vec<_> = (0..3).map(|_| outputs.save(&large).unwrap()).collect();
        assert!(!last.exists() && !large[0].exists() && large[1].exists() && large[2].exists());
        assert!(outputs.save(&"x".repeat(MAX_BYTES + 1)).is_err());
        drop(outputs);
        assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them() {
        use std::os::unix::fs::PermissionsExt;
        let parent = parent();
        let outputs = SavedOutputs::under(parent.0.clone());
        let path = outputs.save("secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_folder_that_was_removed_is_made_again() {
        let parent = parent();
        let outputs = SavedOutputs::under(parent.0.clone());
        let first = outputs.save("one").unwrap();
        fs::remove_dir_all(first.parent().unwrap()).unwrap();
        let second = outputs.save("two").unwrap();
        assert_ne!(first.parent(), second.parent());
        assert_eq!(fs::read_to_string(second).unwrap(), "two");
        fs::remove_dir_all(&parent.0).unwrap();
        assert!(outputs.save("three").is_err(), "there is no place for it");
    }
}
