//! Looks up the program of a `stdio` extension. Also searches the usual directories, because an application
//! that was started from a desktop has a short PATH.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Directories below the home directory in which npm, uv, Homebrew and others install programs.
const HOME_DIRECTORIES: &str = ".local/bin .cargo/bin .npm-global/bin .volta/bin .bun/bin .deno/bin .asdf/shims \
    .local/share/mise/shims .nvm/current/bin";

/// System directories in which programs are installed. On Windows they would be on the current drive, where all users
/// can create them, so there are none.
const DIRECTORIES: &str =
    "/usr/local/bin /opt/homebrew/bin /home/linuxbrew/.linuxbrew/bin /opt/local/bin /usr/bin /bin";

/// The directories of PATH, then the existing usual directories that PATH does not contain.
pub fn search_path() -> Vec<PathBuf> {
    let mut folders = on_path();
    for folder in usual_folders() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The directories of PATH.
pub fn on_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH");
    path.iter().flat_map(env::split_paths).collect()
}

/// The usual directories that exist.
pub fn usual_folders() -> Vec<PathBuf> {
    let home = env::home_dir().unwrap_or_default();
    let of_home = HOME_DIRECTORIES.split(' ').map(|place| home.join(place));
    let usual = of_home.chain(DIRECTORIES.split(' ').map(PathBuf::from));
    let usual = usual.filter(|folder| folder.is_absolute() && folder.is_dir());
    usual.collect()
}

/// The directories as the value of PATH, for a child process.
pub fn child_path(folders: &[PathBuf]) -> Option<OsString> {
    env::join_paths(folders).ok()
}

/// The program to run. A path is made absolute (from the working directory; `~/` from the home directory); a
/// name is left for the child process to look up. Does not access the file system, which may hang.
///
/// # Errors
/// `cmd` is empty.
pub fn program(cmd: &str, working_dir: &Path) -> Result<PathBuf, String> {
    if cmd.trim().is_empty() {
        return Err("`cmd` is empty; it names the program to run".to_owned());
    }
    if !is_path(cmd) {
        return Ok(PathBuf::from(cmd));
    }
    Ok(match (cmd.strip_prefix("~/"), env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => working_dir.join(cmd),
    })
}

/// Whether `cmd` is a path, and not a name to look up.
pub fn is_path(cmd: &str) -> bool {
    cmd.contains(std::path::is_separator)
}

/// Whether `cmd` is a path from the working directory.
pub(super) fn is_relative_path(cmd: &str) -> bool {
    is_path(cmd) && !cmd.starts_with("~/") && !Path::new(cmd).has_root()
}

/// The error for a [`program`] that could not be started.
pub(super) fn explain(cmd: &str, folders: &[PathBuf], error: &io::Error) -> String {
    // Errors that do not come from the operating system have their own text.
    let is_of_exec = error.raw_os_error().is_some();
    match error.kind() {
        io::ErrorKind::NotFound if is_of_exec && !is_path(cmd) => not_found(cmd, folders),
        io::ErrorKind::NotFound if is_of_exec => {
            format!("there is no program {cmd:?}, or its interpreter is missing: {error}")
        }
        io::ErrorKind::PermissionDenied if is_of_exec => {
            format!("{cmd:?} is not an executable file: {error}")
        }
        _ => format!("{cmd:?} could not be started: {error}"),
    }
}

/// The error for a name that is in none of the directories.
pub fn not_found(cmd: &str, folders: &[PathBuf]) -> String {
    format!(
        "the command {cmd:?} was not found in any of {} folders of PATH, or its interpreter is missing; \
         install it or give its full path",
        folders.len()
    )
}

#[cfg(test)]
mod tests;
