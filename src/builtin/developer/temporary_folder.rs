//! A private temporary folder, for example for files that are exchanged with a helper program. Dropping it
//! removes it with its content.

use crate::sys;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The path of the folder, which only its owner can access.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder in the one for temporary files.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn new() -> io::Result<Self> {
        TemporaryFolder::within(&env::temp_dir())
    }

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

    /// Writes a new file of at most `most` bytes.
    ///
    /// # Errors
    /// When it cannot be written, or the content is longer.
    pub(super) fn write(&self, name: &str, content: impl Read, most: u64) -> io::Result<()> {
        let mut file = self.create(name)?;
        let written = io::copy(&mut content.take(most.saturating_add(1)), &mut file)?;
        if written > most {
            Err(io::Error::other("it grew while it was copied"))
        } else {
            file.flush()
        }
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

    /// Opens a file that a program has created, makes it private, and returns its size in bytes.
    ///
    /// # Errors
    /// When it does not exist or is not a regular file. A symbolic link is an error, too: the mode of its
    /// target must not change.
    pub(super) fn open(&self, name: &str) -> io::Result<(File, u64)> {
        let path = self.0.join(name);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_with_what_is_in_it() {
        let folder = TemporaryFolder::new().unwrap();
        let path = folder.path().to_owned();
        folder.write("a", &b"four"[..], 4).unwrap();
        assert!(folder.write("b", &b"five!"[..], 4).is_err());
        assert!(folder.write("a", &b"again"[..], 9).is_err());
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join("deep/c"), "made by a program").unwrap();
        let mut read = String::new();
        let (mut file, len) = folder.open("a").unwrap();
        file.read_to_string(&mut read).unwrap();
        assert_eq!((read.as_str(), len), ("four", 4));
        assert!(folder.open("none").is_err() && folder.open("deep").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            folder.open("deep/c").unwrap();
            let modes = ["", "a", "deep/c"].map(|name| mode(&path.join(name)));
            assert_eq!(modes, [0o700, 0o600, 0o600]);
            let elsewhere = TemporaryFolder::new().unwrap();
            let theirs = elsewhere.path().join("theirs");
            fs::write(&theirs, "not made here").unwrap();
            fs::set_permissions(&theirs, fs::Permissions::from_mode(0o644)).unwrap();
            std::os::unix::fs::symlink(&theirs, path.join("link")).unwrap();
            assert!(folder.open("link").is_err());
            assert_eq!(mode(&theirs), 0o644);
        }
        drop(folder);
        assert!(!path.exists());
    }
}
