//! A folder for what programs exchange with us: nobody else can look into it, and it goes when it is
//! dropped, with all that is in it.

use super::text_files;
use crate::sys;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The folder, for its owner alone.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// An empty one where temporary files are.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn new() -> io::Result<Self> {
        TemporaryFolder::within(&env::temp_dir())
    }

    /// An empty one in this folder, by a name that nobody can guess.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn within(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("gosling-{}", sys::random_hex(12)?));
        // It must not be there already: then it would be somebody else's.
        sys::fs::private_dir().create(&path)?;
        Ok(TemporaryFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a new file, at most `most` bytes of it.
    ///
    /// # Errors
    /// When it cannot be written or there is more.
    pub(super) fn write(&self, name: &str, content: impl Read, most: u64) -> io::Result<()> {
        let mut file = self.create(name)?;
        let written = io::copy(&mut content.take(most.saturating_add(1)), &mut file)?;
        if written > most {
            Err(io::Error::other("it is larger than it was at first"))
        } else {
            file.flush()
        }
    }

    /// A new file.
    ///
    /// # Errors
    /// When it is there already or cannot be made.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        sys::fs::private(&mut options).open(self.0.join(name))
    }

    /// Opens a file that a program has made, and says how many bytes it has. From then on it is private
    /// even where the folder is not.
    ///
    /// # Errors
    /// When there is none. A link is none: what it leads to is not ours to change.
    pub(super) fn open(&self, name: &str) -> io::Result<(File, u64)> {
        let path = self.0.join(name);
        let other = || io::Error::other("it is no regular file");
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(other());
        }
        let file = text_files::open(&path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(other());
        }
        sys::fs::make_private(&file)?;
        Ok((file, metadata.len()))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            log::warn!(
                "a temporary folder stays folder={} reason={error}",
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
