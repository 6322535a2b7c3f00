//! File operations: atomic and durable writes, bounded reads.

use super::disk::Handle;
use super::{Error, Result};
use crate::sys::fs::{Stamp, open_regular, private, private_dir, rename, sync_data, sync_dir};
use crate::sys::lock;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Maximum length of a chain of symbolic links.
const MAX_LINKS: usize = 40;

/// Creates the folder `path` and its missing parents, with mode 0700.
///
/// # Errors
/// [`Error::Io`] when that is not permitted or a file is in the way.
pub fn ensure_dir(path: &Path) -> Result<()> {
    private_dir()
        .recursive(true)
        .create(path)
        .map_err(Error::io("make the folder", path))
}

/// The state of the file `path`, or `None` if it does not exist.
///
/// # Errors
/// [`Error::Io`] when it cannot be reached.
pub fn stamp(path: &Path) -> Result<Option<Stamp>> {
    let stamp = fs::metadata(path).and_then(|metadata| Stamp::of(&metadata));
    if_exists(stamp).map_err(Error::io("read", path))
}

/// The result of an operation on a file or folder; `None` if it does not exist.
///
/// # Errors
/// That of the operation, for another reason.
pub fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Opens the file `path` for reading; `None` if it does not exist.
///
/// # Errors
/// [`Error::Broken`] when it is not a regular file (opening a pipe would block), [`Error::Io`] when it cannot
/// be opened.
pub fn open(path: &Path) -> Result<Option<File>> {
    match if_exists(open_regular(path)) {
        Ok(file) => Ok(file),
        Err(error) if error.raw_os_error().is_none() => Err(Error::broken(path, error.to_string())),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Reads `file` and returns its content and its state just before the read. `path` is for error messages.
///
/// # Errors
/// [`Error::Broken`] when it is larger than `limit` bytes, [`Error::Io`] when it cannot be read.
pub fn read(file: &mut dyn Handle, path: &Path, limit: u64) -> Result<(Vec<u8>, Stamp)> {
    let stamp = file.stamp().map_err(Error::io("read", path))?;
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

/// As [`read`], of the file `path`; `None` if it does not exist.
///
/// # Errors
/// As [`open`] and [`read`].
pub fn read_file(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, Stamp)>> {
    let file = open(path)?;
    file.map(|mut file| read(&mut file, path, limit))
        .transpose()
}

/// Follows symbolic links, also to a file that does not exist yet, as dotfile managers create them.
///
/// # Errors
/// [`Error::Io`] when a link cannot be read or the links form a cycle.
pub fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let metadata = if_exists(fs::symlink_metadata(&path)).map_err(Error::io("read", &path))?;
        if !metadata.is_some_and(|metadata| metadata.is_symlink()) {
            return Ok(path);
        }
        let target = fs::read_link(&path).map_err(Error::io("follow the link", &path))?;
        path = parent(&path).join(target);
    }
    let circle = io::Error::other("the symbolic links go round in a circle");
    Err(Error::io("follow the link", &path)(circle))
}

/// Replaces the content of the file `path` atomically and durably, with mode 0600.
///
/// # Errors
/// [`Error::Io`]. The file keeps its old content then, unless only the sync of its folder failed.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content, || Ok(()))?;
    sync_names(parent(path))
}

/// Replaces the content of the file `path` atomically, with mode 0600, if `check`, which runs just before the
/// new content takes effect, succeeds.
///
/// The content is durable before the rename, but the rename may be lost in a power failure until
/// [`sync_names`]. The caller must hold the lock for `path` or be its only user: the temporary file has a fixed
/// name, so that a crash leaves at most one.
///
/// # Errors
/// [`Error::Io`], or the error of `check`. The file keeps its old content then, and the temporary file is
/// removed.
pub fn replace(path: &Path, content: &[u8], check: impl FnOnce() -> Result<()>) -> Result<()> {
    replace_with(path, |file| file.write_all(content), check)
}

/// Makes `path` a copy of the rest of `file`, as [`replace`] does.
///
/// # Errors
/// [`Error::Io`].
pub fn copy(file: &mut File, path: &Path) -> Result<()> {
    replace_with(path, |copy| io::copy(file, copy).map(drop), || Ok(()))
}

fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    check: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let temp = beside(path, ".", ".tmp");
    let result = write_new(&temp, write)
        .and_then(|()| check())
        .and_then(|()| rename(&temp, path).map_err(Error::io("replace", path)));
    if result.is_err() {
        let _ = fs::remove_file(&temp);
    }
    result
}

/// Makes the entries of the folder `dir` durable.
///
/// # Errors
/// [`Error::Io`].
pub fn sync_names(dir: &Path) -> Result<()> {
    sync_dir(dir).map_err(Error::io("make durable", dir))
}

fn write_new(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    if_exists(fs::remove_file(path)).map_err(Error::io("remove the left-over", path))?;
    let mut file = private(OpenOptions::new().write(true).create_new(true))
        .open(path)
        .map_err(Error::io("create", path))?;
    write(&mut file).map_err(Error::io("write", path))?;
    sync_data(&file).map_err(Error::io("write", path))
}

/// The content of a file as it was read last.
#[derive(Debug)]
pub struct Cached<T>(Mutex<Option<(Stamp, SystemTime, Arc<T>)>>);

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Cached(Mutex::new(None))
    }
}

impl<T: Default> Cached<T> {
    /// The content of the file `path`, which `read` reads with its state if it has changed; empty if it does not
    /// exist. Costs one `stat` while the file is unchanged.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be reached, and the errors of `read`.
    pub fn load(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<Option<(T, Stamp)>>,
    ) -> Result<Arc<T>> {
        let Some(stamp) = stamp(path)? else {
            return Ok(Arc::default());
        };
        if let Some((known, read_at, content)) = &*lock(&self.0)
            && *known == stamp
            && stamp.is_settled(*read_at)
        {
            return Ok(Arc::clone(content));
        }
        let read_at = SystemTime::now();
        let Some((content, stamp)) = read()? else {
            return Ok(Arc::default());
        };
        let content = Arc::new(content);
        *lock(&self.0) = Some((stamp, read_at, Arc::clone(&content)));
        Ok(content)
    }
}

/// The member with the format of a file of gosling's own. What has none has format 1, the only one that is known.
pub const FORMAT: &str = "gosling_format";

/// Fails if a newer version has written the file `path`, in this format.
///
/// # Errors
/// [`Error::Broken`].
pub fn check_format(path: &Path, format: Option<u64>) -> Result<()> {
    let reason =
        |it| format!("a newer gosling wrote it (format {it}; this one knows 1), use that one");
    (format.filter(|it| *it > 1)).map_or(Ok(()), |it| Err(Error::broken(path, reason(it))))
}

/// As [`check_format`], of a JSON object; of another text it says nothing.
///
/// # Errors
/// As [`check_format`].
pub fn check_json_format(path: &Path, json: &[u8]) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Format {
        gosling_format: u64,
    }
    let format = crate::json::from_slice::<Format>(json);
    check_format(path, format.ok().map(|it| it.gosling_format))
}

/// The path of a companion file of `path`: `before` and `after` around its name.
pub fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

/// The folder that contains `path`.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(all(test, unix))]
mod tests;
