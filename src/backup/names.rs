//! The names that the entries of an archive may have: those of files and folders below the folders of a root.

use crate::sys::paths;
use std::collections::HashSet;

/// The folders of a root, as they are called in an archive.
pub(crate) const FOLDERS: [&str; 3] = ["config", "data", "state/tls"];

/// The longest name, and the longest part of one, in bytes.
const MAX_NAME: usize = 4096;
const MAX_PART: usize = 255;

/// The names so far.
#[derive(Default)]
pub(crate) struct Names {
    files: HashSet<String>,
    folders: HashSet<String>,
}

impl Names {
    /// Takes the name of another entry; returns the folder that it is in and its path there, which is empty for the
    /// folder itself.
    ///
    /// # Errors
    /// Why there may be no such entry.
    pub(crate) fn take<'a>(
        &mut self,
        name: &'a str,
        is_folder: bool,
    ) -> Result<(usize, &'a str), &'static str> {
        let (number, path) = place_of(name)?;
        if path.is_empty() && !is_folder {
            return Err("is a file and not a folder");
        }
        for (at, _) in name.match_indices('/') {
            if self.files.contains(&name[..at]) {
                return Err("is below a file");
            }
            if !self.folders.contains(&name[..at]) {
                self.folders.insert(name[..at].to_owned());
            }
        }
        let is_known = self.files.contains(name) || !is_folder && self.folders.contains(name);
        if is_known {
            return Err("is there twice");
        }
        let names = if is_folder {
            &mut self.folders
        } else {
            &mut self.files
        };
        names.insert(name.to_owned());
        Ok((number, path))
    }
}

fn place_of(name: &str) -> Result<(usize, &str), &'static str> {
    if name.len() > MAX_NAME || name.split('/').any(|part| part.len() > MAX_PART) {
        return Err("is too long");
    }
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if name.split('/').any(is_odd) {
        return Err("leads out of its folder");
    }
    if name.contains('\0') || !name.split('/').all(paths::is_file_name) {
        return Err("has a part that is no name of a file on this system");
    }
    for (number, folder) in FOLDERS.iter().enumerate() {
        match name.strip_prefix(folder) {
            Some("") => return Ok((number, "")),
            Some(rest) if rest.starts_with('/') => return Ok((number, &rest[1..])),
            _ => {}
        }
    }
    Err("is in no folder of gosling")
}

#[cfg(test)]
mod tests;
