//! What a file has besides its content: owner, mode, links and extended attributes.

#[cfg(target_os = "linux")]
mod attributes;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// The user who owns a file, and its permission bits. On Windows nothing is known.
pub fn owner_and_mode(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.mode() & 0o7777))
}

/// What tells the file at a path from all others that exist: its device and inode. Follows no symbolic link.
///
/// # Errors
/// When there is none, or it cannot be reached.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.symlink_metadata().map(|it| (it.dev(), it.ino()))
}

/// The number of hard links of a file.
pub fn links(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// Whether a file has several names.
///
/// # Errors
/// When the file cannot be reached.
pub fn has_other_names(file: &File) -> io::Result<bool> {
    file.metadata().map(|metadata| links(&metadata) > 1)
}

/// Gives the file `to`, a copy that only its owner uses, the rights of another one. On Unix it has its mode already.
///
/// # Errors
/// When they cannot be set.
pub fn copy_rights(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether the path is a file with any execute permission; the system decides whether this process may run it.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The file of the program at this path, if it is there and executable. On Windows, the path may lack the extension.
pub fn program_at(path: PathBuf) -> Option<PathBuf> {
    is_executable(&path).then_some(path)
}

/// Makes the file executable for everyone who may read it.
///
/// # Errors
/// When the mode cannot be read or set.
pub fn make_executable(path: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode | (mode & 0o444) >> 2))
}

/// Whether two files, which are not followed if they are links, have the same owner.
pub fn has_owner_of(one: &Path, other: &Path) -> bool {
    let owner = |path: &Path| path.symlink_metadata().map(|it| it.uid()).ok();
    owner(one).is_some_and(|one| owner(other) == Some(one))
}

/// Gives `file` the owner and group of another file; false if that is not permitted.
pub fn copy_owner(file: &File, of: &Metadata) -> bool {
    let Ok(own) = file.metadata() else {
        return false;
    };
    let uid = (own.uid() != of.uid()).then_some(of.uid());
    let gid = (own.gid() != of.gid()).then_some(of.gid());
    (uid.is_none() && gid.is_none()) || fchown(file, uid, gid).is_ok()
}

/// The names and values of a file's extended attributes, of which an access control list is one. Empty where the
/// file system has none, and on other systems than Linux.
///
/// # Errors
/// When they cannot be read.
pub fn attributes(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    #[cfg(target_os = "linux")]
    return attributes::read(file);
    #[cfg(not(target_os = "linux"))]
    return file.metadata().map(|_| BTreeMap::new());
}
