//! Finds the file of a program, as a shell would: `npx` is `npx.cmd`, and `uvx` is `uvx.exe`.

use crate::child_command::Command;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

const FILE_NOT_FOUND: i32 = 2;
/// What this system can run, in the order of its `PATHEXT`.
const DEFAULT: &str = ".COM;.EXE;.BAT;.CMD";

/// The extensions of files that are programs, with their dot: those in `PATHEXT` that the system can start by itself.
fn extensions() -> Vec<OsString> {
    let all = env::var("PATHEXT").unwrap_or_default();
    let is_known = |extension: &&str| {
        DEFAULT
            .split(';')
            .any(|it| it.eq_ignore_ascii_case(extension))
    };
    let mut known: Vec<OsString> = all.split(';').filter(is_known).map(Into::into).collect();
    if known.is_empty() {
        known = DEFAULT.split(';').map(Into::into).collect();
    }
    known
}

/// Whether the name of the file has one of the extensions of programs.
pub(crate) fn is_program(path: &Path) -> bool {
    has_extension(path, DEFAULT)
}

/// Whether the name of the file is that of a batch file, which has rules of its own for arguments.
pub(crate) fn is_batch_file(path: &Path) -> bool {
    has_extension(path, ".BAT;.CMD")
}

fn has_extension(path: &Path, all: &str) -> bool {
    let Some(extension) = path.extension().and_then(OsStr::to_str) else {
        return false;
    };
    let mut all = all.split(';');
    all.any(|it| it[1..].eq_ignore_ascii_case(extension))
}

/// The file of the program: a path is relative to the working directory of the command; a name is looked up in the
/// absolute folders of its `PATH`. Without an extension, each of those of programs is tried.
///
/// # Errors
/// There is none.
pub(crate) fn find(command: &Command) -> io::Result<PathBuf> {
    let name = Path::new(command.program());
    let none = || io::Error::from_raw_os_error(FILE_NOT_FOUND);
    if name.as_os_str().is_empty() {
        return Err(none());
    }
    let is_name = name.components().count() == 1 && name.file_name() == Some(name.as_os_str());
    if is_name {
        let path = path_of(command).unwrap_or_default();
        let mut folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
        return folders
            .find_map(|folder| file_of(folder.join(name)))
            .ok_or_else(none);
    }
    let path = match command.dir() {
        Some(dir) => std::path::absolute(dir)?.join(name),
        None => std::path::absolute(name)?,
    };
    // What is no program is left to the system, which says why it cannot be run.
    let found = file_of(path.clone()).or_else(|| path.is_file().then_some(path));
    found.ok_or_else(none)
}

/// The file at this path, or at this path with an extension of programs.
pub(crate) fn file_of(path: PathBuf) -> Option<PathBuf> {
    if is_program(&path) && path.is_file() {
        return Some(path);
    }
    let mut files = extensions().into_iter().map(|extension| {
        let mut file = path.clone().into_os_string();
        file.push(extension);
        PathBuf::from(file)
    });
    files.find(|file| file.is_file())
}

/// The `PATH` of the command. Names of variables have no case.
fn path_of(command: &Command) -> Option<OsString> {
    let mut changed = command.variables.iter();
    match changed.find(|(name, _)| name.eq_ignore_ascii_case("PATH")) {
        Some((_, path)) => path.clone(),
        None => env::var_os("PATH"),
    }
}
