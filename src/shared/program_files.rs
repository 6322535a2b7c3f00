//! Looking up the file of a program.

use gosling_core::extension::program_lookup::{is_path, not_found, program};
use gosling_core::sys::program_at;
use std::path::{Path, PathBuf};

/// The file of a program.
///
/// # Errors
/// The program does not exist; the error names the searched directories.
pub fn find_program(cmd: &str, working_dir: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let path = program(cmd, working_dir)?;
    if is_path(cmd) {
        return program_at(path.clone()).ok_or_else(|| {
            if path.exists() {
                format!("{cmd:?} is not an executable file")
            } else {
                format!("there is no program {cmd:?}")
            }
        });
    }
    let found = folders
        .iter()
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| program_at(folder.join(cmd)));
    found.ok_or_else(|| not_found(cmd, folders))
}

#[cfg(test)]
mod tests;
