//! Looking up the file of a program.

use gosling_core::extension::program_lookup::{is_path, not_found, program};
use gosling_core::sys::is_executable;
use std::path::{Path, PathBuf};

/// The file of a program.
///
/// # Errors
/// The program does not exist; the error names the searched directories.
pub fn find_program(cmd: &str, working_dir: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let path = program(cmd, working_dir)?;
    if is_path(cmd) {
        if is_executable(&path) {
            return Ok(path);
        }
        return Err(if path.exists() {
            format!("{cmd:?} is not an executable file")
        } else {
            format!("there is no program {cmd:?}")
        });
    }
    let found = folders
        .iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(cmd))
        .find(|path| is_executable(path));
    found.ok_or_else(|| not_found(cmd, folders))
}

#[cfg(test)]
mod tests;
