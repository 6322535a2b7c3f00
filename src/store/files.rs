//! Files written so that a crash, a full disk or another process never leaves half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::sys::fs::{Stamp, private, private_dir, sync_dir};

/// The chain of symbolic links that is followed before it counts as a loop.
const MAX_LINKS: usize = 40;

/// Makes the folder `path`, and those above it that are missing, for the owner alone.
///
/// # Errors
/// [`Error::Io`] when that is not allowed or a file is in the way.
pub fn ensure_dir(path: &Path) -> Result<()> {
    private_dir()
        .recursive(true)
        .create(path)
        .map_err(Error::io("make the folder", path))
}

/// The state of the file `path`, or `None` if there is no such file.
///
/// # Errors
/// [`Error::Io`] when it cannot be reached.
pub fn stamp(path: &Path) -> Result<Option<Stamp>> {
    match fs::metadata(path).and_then(|metadata| Stamp::of(&metadata)) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Opens the file `path` for reading, or gives `None` if there is no such file.
///
/// # Errors
/// [`Error::Broken`] when it is no regular file (opening a pipe would wait for its writer),
/// [`Error::Io`] when it cannot be opened.
pub fn open(path: &Path) -> Result<Option<File>> {
    let opened = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(Error::broken(path, "it is not a regular file"));
        }
        Ok(_) => File::open(path),
        Err(error) => Err(error),
    };
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// The content of `file`, and its state just before it was read. `path` is for messages.
///
/// # Errors
/// [`Error::Broken`] when it is larger than `limit` bytes, [`Error::Io`] when it cannot be read.
pub fn read(file: &mut File, path: &Path, limit: u64) -> Result<(Vec<u8>, Stamp)> {
    let stamp = file
        .metadata()
        .and_then(|metadata| Stamp::of(&metadata))
        .map_err(Error::io("read", path))?;
    let mut content = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut content)
        .map_err(Error::io("read", path))?;
    if content.len() as u64 > limit {
        return Err(Error::broken(
            path,
            match limit >> 20 {
                0 => format!("it is larger than {} KiB", limit >> 10),
                mib => format!("it is larger than {mib} MiB"),
            },
        ));
    }
    Ok((content, stamp))
}

/// Follows symbolic links, also to a file that does not exist yet, as dotfile managers make them.
///
/// # Errors
/// [`Error::Io`] when a link cannot be read or the links go round in a circle.
pub fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(&path).map_err(Error::io("follow the link", &path))?;
                path = parent(&path).join(target);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(Error::io("read", &path)(error)),
        }
    }
    let circle = io::Error::other("the symbolic links go round in a circle");
    Err(Error::io("follow the link", &path)(circle))
}

/// Replaces the file `path` by one with `content` and mode 0600, durably, or leaves it untouched.
///
/// # Errors
/// [`Error::Io`]; the file has its old content then, unless all that failed was to make the new
/// one's name durable.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content, || Ok(()))?;
    sync_names(parent(path))
}

/// Replaces the file `path` by one with `content` and mode 0600, unless `check`, the last look
/// before the new content takes effect, refuses.
///
/// The content is on the disk before the name points to it; that the name does may still be lost
/// in a power cut until [`sync_names`]. The caller holds the lock for `path`, or is the only one
/// who knows it: the temporary file beside it has a fixed name, so that a crash leaves at most one.
///
/// # Errors
/// [`Error::Io`], or what `check` says; the file has its old content then, and the temporary file
/// is gone.
pub fn replace(path: &Path, content: &[u8], check: impl FnOnce() -> Result<()>) -> Result<()> {
    let temp = beside(path, ".", ".tmp");
    let result = write_new(&temp, content)
        .and_then(|()| check())
        .and_then(|()| fs::rename(&temp, path).map_err(Error::io("replace", path)));
    if result.is_err() {
        let _ = fs::remove_file(&temp);
    }
    result
}

/// Makes durable which names there are in the folder `dir`, and what they point to.
///
/// # Errors
/// [`Error::Io`].
pub fn sync_names(dir: &Path) -> Result<()> {
    sync_dir(dir).map_err(Error::io("make durable", dir))
}

fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("remove the left-over", path)(error));
        }
        _ => {}
    }
    let mut file = private(OpenOptions::new().write(true).create_new(true))
        .open(path)
        .map_err(Error::io("create", path))?;
    file.write_all(content).map_err(Error::io("write", path))?;
    file.sync_data().map_err(Error::io("write", path))
}

/// The path of a companion of `path` in the same folder: its name with something around it.
pub fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

/// The folder that `path` is in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
