//! Files and folders on Windows. Those of a user's profile are for that user, the administrators and the system only,
//! by what they inherit, so files get no rights of their own.

pub use super::file_calls::FileCalls;

use super::{access_list, ffi, path_text};
use crate::stamp::Stamp;
use std::borrow::Cow;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The file that stands for its folder where that is locked.
const FOLDER_LOCK: &str = ".gosling.lock";
/// Lets a folder be opened.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Lets the other side find out who this user is, and not more.
const SECURITY_IDENTIFICATION: u32 = 0x0001_0000;
/// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`, and `ERROR_DIR_NOT_EMPTY`: what is removed and still open is there.
const IN_USE: [i32; 3] = [5, 32, 145];
/// How long, and how often, something is tried that another program has open.
const IN_USE_WAIT: Duration = Duration::from_secs(1);
const IN_USE_INTERVAL: Duration = Duration::from_millis(5);

/// Changes nothing: a new file has the rights that its folder gives it.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A builder of folders with the rights that the folder around gives them.
pub fn private_dir() -> DirBuilder {
    DirBuilder::new()
}

/// Changes nothing: false.
///
/// # Errors
/// Never here.
pub fn make_private(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Gives a file or folder another name, and takes the place of a file that has it. Waits up to a second for other
/// programs that have it open: before Windows 10, and on some file systems, a file cannot be replaced meanwhile. What
/// takes the place of a file gets its rights first, if they can be set.
///
/// # Errors
/// As the function of std.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    // Some shares do not let their users set rights.
    if let Err(error) = access_list::keep(to, from) {
        log::warn!("a new file does not get the rights of the old one path={to:?} error={error}");
    }
    until_unused(|| fs::rename(from, to))
}

/// Removes a folder with all that is in it. Waits up to a second for files that are open there. Those that stay open go
/// when they are closed; then the empty folder stays.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    match until_unused(|| fs::remove_dir_all(&path)) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed,
    }
}

fn until_unused(attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_in_use(&error) && begin.elapsed() < IN_USE_WAIT => {
                thread::sleep(IN_USE_INTERVAL);
            }
            result => return result,
        }
    }
}

/// What stands for an absolute path in a `file:` URI, before it is encoded.
pub fn uri_path(path: &Path) -> Cow<'_, [u8]> {
    path_text::to_uri(&path.to_string_lossy())
        .into_bytes()
        .into()
}

/// Gives a folder another name. The system refuses that while a file below it is open, in any process; then its files
/// and folders get their new place one by one.
///
/// # Errors
/// When something stands in the new place, or a file is open that its program does not share. What has its new place
/// then keeps it.
pub fn move_folder(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    match fs::rename(from, to) {
        Err(error) if is_in_use(&error) && from.is_dir() => move_entries(from, to),
        result => result,
    }
}

pub(super) fn move_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            move_folder(entry.path(), to)?;
        } else {
            rename(entry.path(), to)?;
        }
    }
    fs::remove_dir(from)
}

fn is_in_use(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code.is_some_and(|code| IN_USE.contains(&code))
}

/// Whether it is a pipe or a socket.
pub(crate) fn is_pipe(file: &impl AsRawHandle) -> bool {
    // SAFETY: the handle is open as long as `file` is borrowed, or is none, for which the call fails.
    unsafe { ffi::GetFileType(file.as_raw_handle()) == ffi::FILE_TYPE_PIPE }
}

/// As [`open_regular`](crate::fs::open_regular), with other options.
///
/// # Errors
/// As [`open_regular`](crate::fs::open_regular).
pub fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let not_regular = || io::Error::other("it is not a regular file");
    // The server of a pipe must not act as this user before the kind is known.
    let options = options.security_qos_flags(SECURITY_IDENTIFICATION);
    let file = match options.open(path) {
        // Access is denied to it, whoever asks.
        Err(_) if path.is_dir() => return Err(not_regular()),
        opened => opened?,
    };
    // SAFETY: the handle is open as long as `file` is borrowed.
    let kind = unsafe { ffi::GetFileType(file.as_raw_handle()) };
    if kind != ffi::FILE_TYPE_DISK || !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    Ok(file)
}

/// A folder, to read the states of files in it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder `path`.
    ///
    /// # Errors
    /// When it does not exist or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        open_folder(path).map(|_| Folder(path.to_owned()))
    }

    /// The state of the file at the relative path that `parts` form together; `None` if it does not exist.
    /// Follows symbolic links.
    ///
    /// # Errors
    /// When the file cannot be reached.
    pub fn stamp(&self, parts: &[&str]) -> io::Result<Option<Stamp>> {
        match fs::metadata(self.0.join(parts.concat())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => Stamp::of(&found?).map(Some),
        }
    }
}

/// The number of the volume and that of the file there of what stands at a path, also a folder or a symbolic link.
pub(crate) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    const READ_ATTRIBUTES: u32 = 0x80;
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let mut options = OpenOptions::new();
    options.access_mode(READ_ATTRIBUTES);
    let options = options.custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT);
    let file = options.open(path)?;
    let mut state = ffi::FileState::default();
    // SAFETY: the handle is open, and a place for the structure.
    super::checked(unsafe {
        ffi::GetFileInformationByHandle(file.as_raw_handle(), &raw mut state)
    })?;
    let number = u64::from(state.number_high) << 32 | u64::from(state.number_low);
    Ok((state.volume.into(), number))
}

/// Opens a file in the folder `path` that stands for it: a folder cannot be locked here.
///
/// # Errors
/// When the folder does not exist, or the file cannot be made.
pub fn lockable_folder(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    options.open(path.join(FOLDER_LOCK))
}

/// Opens the folder `path`.
///
/// # Errors
/// When it does not exist, is not a folder, or cannot be read.
pub fn open_folder(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let folder = options.read(true).custom_flags(BACKUP_SEMANTICS);
    let folder = folder.open(path)?;
    if !folder.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(folder)
}

/// Does nothing: the file system keeps a journal of the entries of folders.
pub(crate) fn sync_folder(_: &File) -> io::Result<()> {
    Ok(())
}

impl Stamp {
    /// The state that `metadata` describes. Files that were made in the same 100 nanoseconds are not told apart.
    ///
    /// # Errors
    /// When the file system has no modification times.
    pub fn of(metadata: &Metadata) -> io::Result<Self> {
        let written = metadata.last_write_time().cast_signed();
        Ok(Self {
            modified: metadata.modified()?,
            len: metadata.len(),
            inode: metadata.creation_time(),
            changed: (written, metadata.file_attributes().into()),
        })
    }
}
