//! Whether a folder has the files of a release: exactly these, with exactly these bytes.

use crate::manifest::{self, MAX_MANIFEST, RECORD, Record, SUMS, Sums};
use crate::store::files;
use crate::sys::to_hex;
use crate::text::printable;
use gosling_shared::without_advice;
use ring::digest::{Context, SHA256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The largest file that is read: a release has none that is larger, and a sparse file may seem to have any size.
const MAX_FILE: u64 = 1 << 30;
/// The most problems that are described; the others are counted.
const MAX_PROBLEMS: usize = 50;

/// What a folder has.
#[derive(Debug)]
pub(crate) struct Verified {
    /// SHA-256 of `SHA256SUMS`: two releases with the same are the same.
    pub(crate) sums_hash: String,
    /// What the release is, unless its record was changed.
    pub(crate) record: Option<Record>,
    /// What is wrong, each with the name of the file.
    pub(crate) problems: Vec<(String, String)>,
    /// How many problems more there are.
    pub(crate) further: usize,
}

impl Verified {
    fn add(&mut self, name: &str, problem: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push((printable(name, 200), problem.into()));
        } else {
            self.further += 1;
        }
    }
}

/// Compares a folder with its manifest, and that with the hash that it is expected to have. Nothing outside the folder
/// is read: neither links nor folders are followed.
///
/// # Errors
/// Why the manifest, or the folder, cannot be read or understood: then nothing can be said.
pub(crate) fn verify(folder: &Path, expected: Option<&str>) -> Result<Verified, String> {
    let sums = read_manifest(folder, SUMS)?;
    let mut verified = Verified {
        sums_hash: hash_of(&sums),
        record: None,
        problems: Vec::new(),
        further: 0,
    };
    if expected.is_some_and(|expected| expected != verified.sums_hash) {
        let found = &verified.sums_hash;
        let problem = format!("this is another release: its SHA-256 is {found}");
        verified.add(SUMS, problem);
    }
    let sums = manifest::parse_sums(&sums).map_err(about(SUMS))?;
    let record = read_record(folder, &sums, &mut verified)?;
    let mut sizes = BTreeMap::new();
    for file in record.iter().flat_map(|record| &record.files) {
        sizes.insert(file.name.as_str(), file.size);
        match sums.get(&file.name) {
            None => verified.add(&file.name, format!("{RECORD} lists it and {SUMS} does not")),
            Some(hash) if *hash != file.sha256 => {
                verified.add(
                    &file.name,
                    format!("{RECORD} and {SUMS} differ in its hash"),
                );
            }
            Some(_) => {}
        }
    }
    for (name, hash) in sums.iter().filter(|(name, _)| *name != RECORD) {
        let size = sizes.get(name.as_str()).copied();
        if record.is_some() && size.is_none() {
            verified.add(name, format!("{SUMS} lists it and {RECORD} does not"));
        } else if let Err(problem) = compare(&folder.join(name), size, hash) {
            verified.add(name, problem);
        }
    }
    extra(folder, &sums, &mut verified)?;
    verified.record = record;
    Ok(verified)
}

/// One of the two files of the manifest.
fn read_manifest(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = folder.join(name);
    let cannot = about(&path.display().to_string());
    match files::if_exists(path.symlink_metadata()) {
        Ok(Some(found)) if found.is_symlink() => {
            return Err(cannot("it is a symbolic link".to_owned()));
        }
        Ok(_) => {}
        Err(error) => return Err(cannot(error.to_string())),
    }
    match files::read_file(&path, MAX_MANIFEST) {
        Ok(Some((content, _))) => Ok(content),
        Ok(None) => Err(cannot(
            "there is no such file; a release has one".to_owned(),
        )),
        Err(error) => Err(without_advice(error)),
    }
}

/// The record, if it is that of the hashes.
fn read_record(
    folder: &Path,
    sums: &Sums,
    verified: &mut Verified,
) -> Result<Option<Record>, String> {
    let content = read_manifest(folder, RECORD)?;
    if hash_of(&content) != sums[RECORD] {
        let problem = format!("its bytes are not those that {SUMS} names");
        verified.add(RECORD, problem);
        return Ok(None);
    }
    let record = manifest::parse_record(&content).map_err(about(RECORD))?;
    Ok(Some(record))
}

/// For `map_err`: says which file an error is about.
fn about(name: &str) -> impl Fn(String) -> String + use<> {
    let name = printable(name, 4096);
    move |why| format!("{name}: {why}")
}

/// Why the file is not the one with this size, if it is known, and this hash.
fn compare(path: &Path, size: Option<u64>, hash: &str) -> Result<(), String> {
    let found = files::if_exists(path.symlink_metadata()).map_err(cannot_read)?;
    let found = found.ok_or_else(|| "it is missing".to_owned())?;
    if found.is_symlink() {
        return Err("it is a symbolic link".to_owned());
    }
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let has = found.len();
    if let Some(size) = size.filter(|size| *size != has) {
        return Err(format!("it has {has} bytes, and should have {size}"));
    }
    if has > MAX_FILE {
        return Err(format!("it is too large: {has} bytes"));
    }
    let file = files::open(path).map_err(without_advice)?;
    let mut file = file.ok_or_else(|| "it is missing".to_owned())?;
    if hash_file(&mut file, has).map_err(cannot_read)? == hash {
        return Ok(());
    }
    Err(format!("its bytes are not those that {SUMS} names"))
}

fn cannot_read(error: io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// Adds what is in the folder and not in the release.
fn extra(folder: &Path, sums: &Sums, verified: &mut Verified) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot list {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        let is_known = name
            .to_str()
            .is_some_and(|name| name == SUMS || sums.contains_key(name));
        if is_known {
            continue;
        }
        if names.len() < MAX_PROBLEMS {
            names.push(name.to_string_lossy().into_owned());
        } else {
            verified.further += 1;
        }
    }
    names.sort();
    for name in names {
        verified.add(&name, "it does not belong to the release");
    }
    Ok(())
}

/// SHA-256 of the first `size` bytes of a file and of what follows, if it grows: then it is of other bytes.
fn hash_file(file: &mut File, size: u64) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 64 << 10];
    let mut file = file.take(size.saturating_add(1));
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(to_hex(context.finish().as_ref())),
            Ok(count) => context.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hash_of(content: &[u8]) -> String {
    to_hex(ring::digest::digest(&SHA256, content).as_ref())
}
