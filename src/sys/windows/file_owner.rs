//! What a file has besides its content. Owners are not read here, and rights are only compared: they are not those of
//! Unix, and have no numbers.

use crate::windows::{access_list, file_streams, files, programs};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The marks that a file keeps: hidden, of the system, compressed, not indexed, encrypted.
const MARKS: u32 = 0x2 | 0x4 | 0x800 | 0x2000 | 0x4000;

/// The user who owns a file, and its permission bits: not known.
pub fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

/// What tells the file at a path from all others that exist: its volume and its number there. Its times do not: a new
/// file of the same name gets the time at which one was made that was removed some seconds before. Follows no symbolic
/// link.
///
/// # Errors
/// When there is none, or it cannot be opened.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    files::identity(path)
}

/// The number of hard links of a file: not known, so one.
pub fn links(_: &Metadata) -> u64 {
    1
}

/// Whether a file has several names.
///
/// # Errors
/// When the file cannot be reached.
pub fn has_other_names(file: &File) -> io::Result<bool> {
    file_streams::links(file).map(|links| links > 1)
}

/// Gives the file `to`, a copy that only its owner uses, the rights of another one.
///
/// # Errors
/// When they cannot be set.
pub fn copy_rights(from: &File, to: &Path) -> io::Result<()> {
    access_list::copy(from, to)
}

/// Whether the path is a file that the system can run by itself, as its extension says.
pub fn is_executable(path: &Path) -> bool {
    programs::is_program(path) && path.is_file()
}

/// The file of the program at this path, which may lack the extension.
pub fn program_at(path: PathBuf) -> Option<PathBuf> {
    programs::file_of(path)
}

/// Does nothing: the extension makes a file executable.
///
/// # Errors
/// Never here.
pub fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether two files, which are not followed if they are links, have the same owner.
pub fn has_owner_of(one: &Path, other: &Path) -> bool {
    let owner = |path| access_list::owner(path).ok().flatten();
    owner(one).is_some_and(|one| owner(other) == Some(one))
}

/// Gives `file` the owner and group of another file: a new one belongs to the user, as others in its folder do.
pub fn copy_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// What a new file does not have by itself: the names and sizes of other streams, marks such as *hidden*, and the
/// access control list. As on Linux, the names of what each file has from the system begin with `security.`.
///
/// # Errors
/// When they cannot be read.
pub fn attributes(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let marks = file.metadata()?.file_attributes() & MARKS;
    let mut all = BTreeMap::new();
    for (name, size) in file_streams::others(file)? {
        all.insert(CString::new(name)?, size.to_le_bytes().to_vec());
    }
    if marks != 0 {
        all.insert(c"marks".to_owned(), marks.to_le_bytes().to_vec());
    }
    if let Some(list) = access_list::content(file) {
        all.insert(c"security.access_control_list".to_owned(), list);
    }
    Ok(all)
}
