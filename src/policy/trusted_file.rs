//! Reads a file that the user of the service cannot change: what runs with the rights of this user, as the shell of a
//! session does, could loosen the policy otherwise.
//!
//! The file and each folder above it belong to another user and can be written by their owner alone. A folder with the
//! sticky bit, such as `/tmp`, may be written by all, since what is in it belongs to its owner. If the service runs as
//! root, who may write everywhere, all of it belongs to root: no other user can change it then.

use crate::store::files;
use crate::sys::file_owner::owner_and_mode;
use crate::sys::fs::Stamp;
use std::fs::Metadata;
use std::path::Path;

const ROOT: u32 = 0;
/// The permissions of others than the owner to write.
const SHARED: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// Why nothing is trusted on Windows.
const NOT_TOLD: &str = "it cannot be found out on this system who could change it";

/// Reads a file of at most `limit` bytes, for a service of this user.
///
/// # Errors
/// Why it cannot be read or trusted.
pub(crate) fn read(path: &Path, limit: u64, user: Option<u32>) -> Result<(Vec<u8>, Stamp), String> {
    let mut file = match files::open(path) {
        Ok(Some(file)) => file,
        Ok(None) => return Err("it does not exist".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    let user = user.ok_or_else(|| NOT_TOLD.to_owned())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    check(&metadata, user).map_err(|why| format!("{why}; `chown root` and `chmod 644` it"))?;
    check_folders(path, user)?;
    files::read(&mut file, path, limit).map_err(|error| error.to_string())
}

/// Checks the folders above a file, and above what it is a link to.
///
/// # Errors
/// Which cannot be trusted, and why.
fn check_folders(path: &Path, user: u32) -> Result<(), String> {
    let given = std::path::absolute(path).map_err(|error| error.to_string())?;
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    for folder in given.ancestors().skip(1).chain(real.ancestors().skip(1)) {
        let found = folder.metadata().map_err(|error| error.to_string())?;
        let shown = folder.display();
        check(&found, user)
            .map_err(|why| format!("its folder {shown} cannot be trusted: {why}"))?;
    }
    Ok(())
}

/// Checks who can change a file or folder.
///
/// # Errors
/// That others than a trusted user can.
fn check(metadata: &Metadata, user: u32) -> Result<(), String> {
    let (owner, mode) = owner_and_mode(metadata).ok_or(NOT_TOLD)?;
    if user == ROOT && owner != ROOT {
        return Err(format!(
            "it belongs to the user {owner}, who could change it, and not to root"
        ));
    }
    if user != ROOT && owner == user {
        return Err("it belongs to the user of this service, who could change it".to_owned());
    }
    if mode & SHARED != 0 && !(metadata.is_dir() && mode & STICKY != 0) {
        return Err(format!(
            "others than its owner can write to it (mode {mode:o})"
        ));
    }
    Ok(())
}
