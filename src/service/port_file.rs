//! The file that tells other processes where the server listens. Its lock says that the server lives.

use crate::host::is_description;
use crate::own_file::OwnFile;
use crate::store::file_lock::FileLock;
use crate::store::files::beside;
use crate::sys::fs::{FileCalls, open_regular, private, rename};
use crate::sys::random_hex;
use serde_json::Value;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The space that is taken before the server listens, in bytes, so that a full disk is noticed then.
const RESERVED: usize = 4096;
/// The largest file that is replaced, in bytes.
const MAX_OLD: u64 = 1 << 20;

/// The file, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct PortFile {
    path: PathBuf,
    /// Locked as long as it is open.
    file: File,
    own: OwnFile,
}

impl PortFile {
    /// Makes a file beside `path` that can take its place.
    ///
    /// # Errors
    /// The folder or the disk cannot be written, or what stands there is not to be replaced.
    pub(crate) fn prepare(path: &Path) -> Result<Self, String> {
        let cannot = |why: String| format!("--port-file {}: {why}", path.display());
        let path = std::path::absolute(path).map_err(|error| cannot(error.to_string()))?;
        if path.file_name().is_none() {
            return Err(cannot("the name of a file is missing".to_owned()));
        }
        check_replaceable(&path).map_err(cannot)?;
        Self::reserve(path).map_err(|error| cannot(unwritable(error)))
    }

    fn reserve(path: PathBuf) -> io::Result<Self> {
        let temporary = beside(&path, ".", &format!(".{}", random_hex(4)?));
        let mut options = OpenOptions::new();
        let file = private(options.write(true).create_new(true)).open(&temporary)?;
        let own = OwnFile::new(&temporary)?;
        let mut made = PortFile { path, file, own };
        made.file.write_all(&[b' '; RESERVED])?;
        FileCalls::try_lock(&made.file)?;
        Ok(made)
    }

    /// Gives it this content and its name.
    ///
    /// # Errors
    /// The disk is full or fails, or what stands there by now is not to be replaced.
    pub(crate) fn publish(&mut self, text: &str) -> Result<(), String> {
        let taken = self.write(text).and_then(|()| self.take_place());
        taken.map_err(|why| format!("--port-file {}: {why}", self.path.display()))
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        (self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.set_len(text.len() as u64))
            .map_err(unwritable)
    }

    /// Of several servers that were prepared at the same time, one gets the name.
    fn take_place(&mut self) -> Result<(), String> {
        let _lock = FileLock::beside(&self.path).map_err(|error| error.to_string())?;
        check_replaceable(&self.path)?;
        rename(self.own.path(), &self.path).map_err(unwritable)?;
        self.own.renamed(&self.path);
        Ok(())
    }
}

impl Drop for PortFile {
    fn drop(&mut self) {
        self.own.remove();
    }
}

fn unwritable(error: io::Error) -> String {
    format!("it cannot be written: {error}")
}

/// Refuses what a user may want to keep, and the file of a server that lives. Empty files are made for this purpose.
fn check_replaceable(path: &Path) -> Result<(), String> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(found) if found.is_symlink() => {
            return Err("it is a symbolic link: name the file itself".to_owned());
        }
        Ok(found) if !found.is_file() => {
            return Err("what stands there is not a file, and stays: choose another path".into());
        }
        Ok(_) => {}
    }
    let old = open_regular(path).map_err(|error| error.to_string())?;
    match FileCalls::try_lock_shared(&old) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err("a server that runs has written it: choose another path".to_owned());
        }
        Err(TryLockError::Error(error)) => return Err(format!("it cannot be locked: {error}")),
    }
    let mut content = Vec::new();
    let read = old.take(MAX_OLD).read_to_end(&mut content);
    read.map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_slice(&content).unwrap_or_default();
    if content.is_empty() || is_description(&told) {
        return Ok(());
    }
    Err("gosling has not written what stands there, and it stays: choose another path".to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::host::description;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gosling-port-{}", random_hex(8).unwrap()));
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// What a server writes.
    fn text(pid: u32) -> String {
        let mut told = description(&["http://127.0.0.1:8080".to_owned()]);
        told["pid"] = pid.into();
        told.to_string() + "\n"
    }

    #[test]
    fn it_appears_whole_and_goes_with_its_server() {
        let folder = folder();
        let path = folder.join("port");
        // The lock stays.
        let names = || {
            let names = fs::read_dir(&folder).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name());
            names.filter(|name| name != ".port.lock").count()
        };
        let mut file = PortFile::prepare(&path).unwrap();
        assert!(!path.exists());
        file.publish(&text(1)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text(1));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(names(), 1);
        let why = PortFile::prepare(&path).unwrap_err();
        assert!(why.contains("a server that runs"), "{why}");
        // Another process has put its own in its place.
        fs::remove_file(&path).unwrap();
        fs::write(&path, text(2)).unwrap();
        drop(file);
        assert!(path.exists());
        // A server that was killed has left it, and the next one that starts and fails leaves it, too.
        drop(PortFile::prepare(&path).unwrap());
        assert!(path.exists());
        let other = "{\"pid\":1,\"port\":8888,\"token\":\"x\"}";
        for content in ["notes", "{}", "[1]", "{\"pid\": 1}", other, "\u{feff}"] {
            fs::write(&path, content).unwrap();
            let why = PortFile::prepare(&path).unwrap_err();
            assert!(why.contains("has not written"), "{content}: {why}");
        }
        fs::write(&path, "").unwrap();
        let mut file = PortFile::prepare(&path).unwrap();
        file.publish(&text(3)).unwrap();
        drop(file);
        assert_eq!(names(), 0);
        symlink("elsewhere", &path).unwrap();
        let why = PortFile::prepare(&path).unwrap_err();
        assert!(why.contains("symbolic link"), "{why}");
        let why = PortFile::prepare(&folder).unwrap_err();
        assert!(why.contains("not a file"), "{why}");
        let why = PortFile::prepare(&folder.join("a/b")).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn of_those_that_were_prepared_at_the_same_time_one_gets_the_name() {
        for left in [None, Some(String::new()), Some(text(1))] {
            let folder = folder();
            let path = folder.join("port");
            if let Some(left) = &left {
                fs::write(&path, left).unwrap();
            }
            let all: Vec<_> = (0..8).map(|_| PortFile::prepare(&path).unwrap()).collect();
            let begin = std::sync::Barrier::new(all.len());
            let publish = |(mut file, pid): (PortFile, u32)| {
                begin.wait();
                (file.publish(&text(pid)), file, pid)
            };
            let all: Vec<_> = std::thread::scope(|scope| {
                let all: Vec<_> = (all.into_iter().zip(10..))
                    .map(|it| scope.spawn(move || publish(it)))
                    .collect();
                all.into_iter().map(|it| it.join().unwrap()).collect()
            });
            let (won, lost): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.0.is_ok());
            assert_eq!(won.len(), 1, "{left:?}");
            for (published, ..) in &lost {
                let why = published.as_ref().unwrap_err();
                assert!(why.contains("a server that runs has written it"), "{why}");
            }
            drop(lost);
            assert_eq!(fs::read_to_string(&path).unwrap(), text(won[0].2));
            drop(won);
            assert!(!path.exists());
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn what_has_come_there_meanwhile_stays() {
        let folder = folder();
        let path = folder.join("port");
        let mut file = PortFile::prepare(&path).unwrap();
        fs::write(&path, "notes").unwrap();
        let why = file.publish(&text(1)).unwrap_err();
        assert!(why.contains("has not written"), "{why}");
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
        fs::remove_dir_all(&folder).unwrap();
    }
}
