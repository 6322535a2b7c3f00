//! Files written so that a crash, a full disk or another process never leaves half of one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Error, Result};
use crate::sys::fs::{Stamp, private, private_dir, sync_dir};

/// How long a lock is waited for.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The chain of symbolic links that is followed before it counts as a loop.
const MAX_LINKS: usize = 40;

/// A lock between processes and threads, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock that the file `path` stands for, waiting at most `wait`.
    ///
    /// The file is made if absent, and it stays: a lock file that is removed can be locked twice.
    ///
    /// # Errors
    /// [`Error::Locked`] when the time is up, [`Error::Io`] when the file cannot be made or the
    /// file system has no locks.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self> {
        let file = open_lock(path)?;
        take(&file, path, wait)?;
        Ok(Self { file })
    }

    /// Makes `text` the content of the lock's file, for those who find it locked. It is not written again
    /// if it is there, and never cut to nothing before: that would make the next sync of the disk slower.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn describe(&self, text: &str) -> io::Result<()> {
        let mut file = &self.file;
        let mut old = vec![0; text.len() + 1];
        let count = file.read(&mut old)?;
        if &old[..count] == text.as_bytes() {
            return Ok(());
        }
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }
}

impl Drop for Lock {
    /// A process that is being started may have a copy of the descriptor for a moment, and the system would
    /// keep the lock for it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The file of a [`Lock`], kept open for those who take it often.
#[derive(Debug)]
pub struct LockFile {
    file: Arc<File>,
    path: PathBuf,
}

/// A lock taken through a [`LockFile`], held until it is dropped.
#[derive(Debug)]
pub struct Held(Arc<File>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl LockFile {
    /// Opens the lock file `path`, and makes it if absent.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            file: Arc::new(open_lock(path)?),
            path: path.to_owned(),
        })
    }

    /// As [`Lock::acquire`]. Whoever holds it already through the same `LockFile` holds it twice.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    pub fn acquire(&self, wait: Duration) -> Result<Held> {
        take(&self.file, &self.path, wait)?;
        Ok(Held(Arc::clone(&self.file)))
    }

    /// Whether the file is still what its path names.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn is_in_place(&self) -> Result<bool> {
        let ours = self.file.metadata().and_then(|it| Stamp::of(&it));
        let ours = ours.map_err(Error::io("read", &self.path))?;
        Ok(stamp(&self.path)? == Some(ours))
    }
}

fn open_lock(path: &Path) -> Result<File> {
    private(
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true),
    )
    .open(path)
    .map_err(Error::io("open the lock", path))
}

fn take(file: &File, path: &Path, wait: Duration) -> Result<()> {
    retry(wait, || match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: path.to_owned(),
            waited: wait,
        }),
        Err(TryLockError::Error(source)) => Err(Error::io("lock", path)(source)),
    })
}

/// Makes an attempt to take a lock, and while another one has it, more of them, until `wait` is over.
pub(super) fn retry<T>(wait: Duration, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        match attempt() {
            Err(Error::Locked { .. } | Error::TurnInProgress { .. }) if start.elapsed() < wait => {}
            result => return result,
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

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
