//! Finding the program of a `stdio` extension, also where PATH is poor: an application that was
//! started from a desktop has not seen the user's shell set-up.

use crate::sys::is_executable;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Where npm, uv, Homebrew and their like put programs, below the home directory.
const HOME_PLACES: &[&str] = &[
    ".local/bin",
    ".cargo/bin",
    ".npm-global/bin",
    ".volta/bin",
    ".bun/bin",
    ".deno/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".nvm/current/bin",
];

/// The same, for the whole machine.
const PLACES: &[&str] = &[
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/usr/bin",
    "/bin",
];

/// What PATH says, then the usual places that exist and that it does not name.
pub fn search_path() -> Vec<PathBuf> {
    let mut folders = on_path();
    for folder in usual_places() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// What PATH says.
pub(super) fn on_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH");
    path.map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}

/// The usual places that exist.
pub(super) fn usual_places() -> Vec<PathBuf> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let usual = home
        .iter()
        .flat_map(|home| HOME_PLACES.iter().map(|place| home.join(place)))
        .chain(PLACES.iter().map(PathBuf::from));
    usual.filter(|folder| folder.is_dir()).collect()
}

/// The same as the value of a PATH variable, for the child, whose own children must be found too.
pub fn child_path(folders: &[PathBuf]) -> Option<OsString> {
    env::join_paths(folders).ok()
}

/// The program to run: a path is taken as it is (relative ones from the working directory, `~/` from
/// the home directory), a name is left to be looked up by the child. No file is touched here: the file system
/// may not answer.
///
/// # Errors
/// When there is no name.
pub(super) fn program(cmd: &str, working_dir: &Path) -> Result<PathBuf, String> {
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

fn is_path(cmd: &str) -> bool {
    cmd.contains('/') || (cfg!(windows) && cmd.contains('\\'))
}

/// Why a [`program`] could not be started.
pub(super) fn explain(cmd: &str, folders: &[PathBuf], error: &io::Error) -> String {
    // Others have a text of their own.
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

fn not_found(cmd: &str, folders: &[PathBuf]) -> String {
    format!(
        "the command {cmd:?} was not found in any of {} folders of PATH, or its interpreter is missing; \
         install it or give its full path",
        folders.len()
    )
}

/// The file of a program.
///
/// # Errors
/// Says what was looked for and where.
pub fn find(cmd: &str, working_dir: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let path = program(cmd, working_dir)?;
    if is_path(cmd) {
        return match is_executable(&path) {
            true => Ok(path),
            false if path.exists() => Err(format!("{cmd:?} is not an executable file")),
            false => Err(format!("there is no program {cmd:?}")),
        };
    }
    let found = folders
        .iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(cmd))
        .flat_map(|path| with_extensions(&path))
        .find(|path| is_executable(path));
    found.ok_or_else(|| not_found(cmd, folders))
}

fn with_extensions(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if cfg!(windows) {
        all.extend(["exe", "cmd", "bat", "com"].map(|e| path.with_extension(e)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let folders = search_path();
        let here = Path::new("/");
        assert!(find("sh", here, &folders).unwrap().is_absolute());
        assert_eq!(find("bin/sh", here, &[]).unwrap(), Path::new("/bin/sh"));
        for (cmd, reason) in [
            ("definitely-not-a-command", "not found in any"),
            ("/definitely/not", "no program"),
            ("/etc", "not an executable"),
            (" ", "empty"),
        ] {
            let error = find(cmd, here, &folders).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_error_says_what_was_looked_for() {
        use io::ErrorKind::{NotFound, PermissionDenied};
        let folders = [PathBuf::from("/bin")];
        let of_exec = |cmd: &str, path: &str| {
            let error = std::fs::read(path).unwrap_err();
            explain(cmd, &folders, &error)
        };
        let missing = "/does/not/exist";
        assert!(of_exec("x", missing).contains("\"x\" was not found in any of 1 folders"));
        assert!(of_exec("./x", missing).contains("no program \"./x\""));
        for kind in [NotFound, PermissionDenied] {
            let of_folder = io::Error::new(kind, "the working directory");
            let text = explain("x", &folders, &of_folder);
            assert_eq!(text, "\"x\" could not be started: the working directory");
        }
    }

    #[test]
    fn a_relative_folder_of_path_is_never_searched() {
        assert!(find("sh", Path::new("/bin"), &[PathBuf::from(".")]).is_err());
    }
}
