//! What a file has besides its content. Owners and rights are not read here: they are not those of Unix, and have no
//! numbers.

use crate::windows::programs;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The user who owns a file, and its permission bits: not known.
pub fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

/// What tells a file from others: when it was made.
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.creation_time())
}

/// The number of hard links of a file: not known, so one.
pub fn links(_: &Metadata) -> u64 {
    1
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

/// Whether two files have the same owner: not known, so no.
pub fn has_owner_of(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Gives `file` the owner and group of another file: a new one belongs to the user, as others in its folder do.
pub fn copy_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// The names and values of a file's extended attributes: none are known here.
///
/// # Errors
/// When the file cannot be reached.
pub fn attributes(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    file.metadata().map(|_| BTreeMap::new())
}
