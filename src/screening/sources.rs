//! Where advisories are on this machine: an index, a file or a folder of OSV files.

use crate::advisory::{Advisory, MAX_FILE, Malware, read_all};
use crate::index;
use crate::packages::Ecosystem;
use crate::store::files;
use crate::sys::cancel::Cancel;
use gosling_shared::without_advice;
use std::fs;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The name of the index in the data folder.
pub const INDEX: &str = "advisories.index";

/// How many files of a folder are read for one launch, which takes seconds. An index has no such limit.
const MAX_FILES: usize = 500_000;
/// How many files of a folder are imported.
const MAX_IMPORTED: usize = 2_000_000;
/// How deep the folders in a folder may be.
const MAX_DEPTH: usize = 10;
/// How many faults are kept.
const MAX_FAULTS: usize = 10;
/// The size of the parts in which an index is read: not much more than a line.
const BUFFER: usize = 1 << 10;

/// What the advisories say about some packages.
#[derive(Debug, Default)]
pub struct Found {
    /// The entries that name one of them.
    pub malware: Vec<Malware>,
    /// Why not all advisories could be read.
    pub fault: Option<String>,
}

/// The advisories of a folder or a file.
#[derive(Debug, Default)]
pub struct Imported {
    /// All that are malware.
    pub malware: Vec<Malware>,
    /// The number of advisories about something else.
    pub others: usize,
    /// The number of advisories that were withdrawn.
    pub withdrawn: usize,
    /// The number of files that could not be read.
    pub unread: usize,
    /// Why, for the first of them.
    pub faults: Vec<String>,
}

/// What the advisories at this path say about the packages.
pub fn find(path: &Path, packages: &[(Ecosystem, &str)], cancel: &Cancel) -> Found {
    let is_named = |it: &Malware| {
        let mut names = packages.iter();
        names.any(|(ecosystem, name)| ecosystem.name() == it.ecosystem && *name == it.name)
    };
    let mut imported = Imported::default();
    let complete = match find_in_index(path, packages) {
        Ok(Some(malware)) => {
            imported.malware = malware;
            Ok(())
        }
        Ok(None) => imported.read(path, MAX_FILES, cancel, &is_named),
        Err(fault) => Err(fault),
    };
    Found {
        fault: (complete.err()).or_else(|| imported.faults.into_iter().next()),
        malware: imported.malware,
    }
}

/// As [`find`], if the path is an index; `None` if it is not.
fn find_in_index(
    path: &Path,
    packages: &[(Ecosystem, &str)],
) -> Result<Option<Vec<Malware>>, String> {
    if path.is_dir() {
        return Ok(None);
    }
    let opened = files::open(path).map_err(without_advice)?;
    let file = opened.ok_or_else(|| format!("{} does not exist", path.display()))?;
    let failed = |error| format!("{}: {error}", path.display());
    let mut index = BufReader::with_capacity(BUFFER, file);
    let mut header = Vec::new();
    let length = index::HEADER.len() as u64;
    index
        .by_ref()
        .take(length)
        .read_to_end(&mut header)
        .map_err(failed)?;
    if header != index::HEADER.as_bytes() {
        return Ok(None);
    }
    index.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut found = Vec::new();
    for (ecosystem, name) in packages {
        found.extend(index::find(&mut index, *ecosystem, name).map_err(failed)?);
    }
    Ok(Some(found))
}

impl Imported {
    /// All advisories at this path.
    ///
    /// # Errors
    /// The path cannot be read, or has too many files.
    pub fn from_path(path: &Path) -> Result<Self, String> {
        let mut imported = Imported::default();
        imported.read(path, MAX_IMPORTED, &Cancel::new(), &|_| true)?;
        Ok(imported)
    }

    fn read(
        &mut self,
        path: &Path,
        max_files: usize,
        cancel: &Cancel,
        is_wanted: &dyn Fn(&Malware) -> bool,
    ) -> Result<(), String> {
        if !path.is_dir() {
            return self.read_file(path, is_wanted);
        }
        let mut left = max_files;
        let mut may_go_on = || {
            left = left.checked_sub(1).ok_or(
                "there are too many files; make an index of them with `gosling advisories import`",
            )?;
            if cancel.is_cancelled() {
                Err("the start was cancelled")
            } else {
                Ok(())
            }
        };
        self.read_folder(path, MAX_DEPTH, &mut may_go_on, is_wanted)
    }

    fn read_folder(
        &mut self,
        folder: &Path,
        depth: usize,
        before_file: &mut dyn FnMut() -> Result<(), &'static str>,
        is_wanted: &dyn Fn(&Malware) -> bool,
    ) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            if kind.is_dir() {
                let depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| format!("{} is {MAX_DEPTH} folders deep", folder.display()))?;
                self.read_folder(&path, depth, before_file, is_wanted)?;
            }
            // A link to a folder is not followed, since it may lead back.
            let is_json = path
                .extension()
                .is_some_and(|end| end.eq_ignore_ascii_case("json"));
            if !is_json || kind.is_dir() {
                continue;
            }
            before_file().map_err(|fault| format!("{}: {fault}", folder.display()))?;
            if let Err(fault) = self.read_file(&path, is_wanted) {
                self.unread += 1;
                if self.faults.len() < MAX_FAULTS {
                    self.faults.push(fault);
                }
            }
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        path: &Path,
        is_wanted: &dyn Fn(&Malware) -> bool,
    ) -> Result<(), String> {
        let read = files::read_file(path, MAX_FILE).map_err(without_advice)?;
        let (text, _) = read.ok_or_else(|| format!("{} does not exist", path.display()))?;
        let failed = |fault: String| format!("{}: {fault}", path.display());
        if text.starts_with(b"PK") {
            let advice = "it is a ZIP file; unpack it into a folder, and use that";
            return Err(failed(advice.to_owned()));
        }
        for advisory in read_all(&text).map_err(failed)? {
            match advisory {
                Advisory::Malware { packages, .. } => {
                    self.malware
                        .extend(packages.into_iter().filter(|it| is_wanted(it)));
                }
                Advisory::Withdrawn => self.withdrawn += 1,
                Advisory::Other => self.others += 1,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
