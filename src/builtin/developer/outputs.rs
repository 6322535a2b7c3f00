//! Whole outputs of commands in files, for people who were shown only the end.
//!
//! Their folder is made with the first of them and goes with the server.

use super::scratch::Scratch;
use crate::sys::lock;
use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How many outputs are kept, and how much of them together, in bytes; the oldest go first.
const MOST: usize = 50;
const MOST_BYTES: usize = 16 << 20;

/// The outputs that are kept. Dropping it removes them.
pub(super) struct Outputs {
    /// Where the folder is to be.
    around: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    folder: Option<Scratch>,
    /// The oldest first, with their sizes.
    files: VecDeque<(PathBuf, usize)>,
    /// How many there have been.
    count: usize,
}

impl Outputs {
    /// Of a server that has not kept any yet.
    pub(super) fn new() -> Outputs {
        Outputs::under(env::temp_dir())
    }

    fn under(around: PathBuf) -> Outputs {
        Outputs {
            around,
            kept: Mutex::default(),
        }
    }

    /// Keeps one and says where.
    ///
    /// # Errors
    /// When it is too large, or the disk refuses.
    pub(super) fn keep(&self, output: &str) -> io::Result<PathBuf> {
        if output.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut kept = lock(&self.kept);
        kept.make_room(output.len());
        kept.count += 1;
        let name = format!("output-{}.txt", kept.count);
        let folder = kept.folder(&self.around)?;
        let (path, mut file) = (folder.path().join(&name), folder.create(&name)?);
        // Half of one is removed like a whole one.
        kept.files.push_back((path.clone(), output.len()));
        file.write_all(output.as_bytes())?;
        Ok(path)
    }
}

impl Kept {
    /// The folder, made anew if somebody has removed it.
    fn folder(&mut self, around: &Path) -> io::Result<&Scratch> {
        let folder = match self.folder.take() {
            Some(folder) if folder.path().is_dir() => folder,
            _ => {
                self.files.clear();
                Scratch::within(around)?
            }
        };
        Ok(self.folder.insert(folder))
    }

    fn make_room(&mut self, size: usize) {
        let mut bytes = size + self.files.iter().map(|(_, size)| size).sum::<usize>();
        while self.files.len() >= MOST || bytes > MOST_BYTES {
            let Some((path, size)) = self.files.pop_front() else {
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

    /// A folder to keep them under, removed with all that is in it.
    struct Around(PathBuf);

    fn around() -> Around {
        let name = format!("gosling-outputs-{}", crate::sys::random_hex(8).unwrap());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Around(path)
    }

    impl Drop for Around {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn they_are_bounded_in_number_and_size_and_go_with_their_server() {
        let around = around();
        let outputs = Outputs::under(around.0.clone());
        assert_eq!(fs::read_dir(&around.0).unwrap().count(), 0, "not before");
        let paths: Vec<_> = (0..MOST + 3)
            .map(|n| outputs.keep(&format!("output {n}\n")).unwrap())
            .collect();
        assert!(paths[..3].iter().all(|path| !path.exists()));
        let last = &paths[MOST + 2];
        assert_eq!(fs::read_to_string(last).unwrap(), "output 52\n");
        assert_eq!(fs::read_dir(last.parent().unwrap()).unwrap().count(), MOST);
        let large = "x".repeat(MOST_BYTES / 2);
        let large: Vec<_> = (0..3).map(|_| outputs.keep(&large).unwrap()).collect();
        assert!(!last.exists() && !large[0].exists() && large[1].exists() && large[2].exists());
        assert!(outputs.keep(&"x".repeat(MOST_BYTES + 1)).is_err());
        drop(outputs);
        assert_eq!(fs::read_dir(&around.0).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them() {
        use std::os::unix::fs::PermissionsExt;
        let around = around();
        let outputs = Outputs::under(around.0.clone());
        let path = outputs.keep("secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_folder_that_was_removed_is_made_again() {
        let around = around();
        let outputs = Outputs::under(around.0.clone());
        let first = outputs.keep("one").unwrap();
        fs::remove_dir_all(first.parent().unwrap()).unwrap();
        let second = outputs.keep("two").unwrap();
        assert_ne!(first.parent(), second.parent());
        assert_eq!(fs::read_to_string(second).unwrap(), "two");
        fs::remove_dir_all(&around.0).unwrap();
        assert!(outputs.keep("three").is_err(), "there is no place for it");
    }
}
