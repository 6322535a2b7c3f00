//! The two files that describe a release: `SHA256SUMS` with the hash of every file, as `sha256sum` writes it, and
//! `release.json` with what each file is and how it was made. No I/O.
//!
//! Whatever is taken from them may be printed, and be joined to the folder: names are plain, and texts are of visible
//! ASCII.

use crate::sys::paths::path_text::is_device;
use crate::text::{json, printable};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The file with the hashes. It does not list itself.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The file with the record of the build.
pub(crate) const RECORD: &str = "release.json";
/// The most bytes that either of them may have.
pub(crate) const MAX_MANIFEST: u64 = 1 << 20;

/// The only format so far.
const FORMAT: u64 = 1;
/// The longest name of a file, and the longest text, in bytes.
const MAX_NAME: usize = 200;
const MAX_TEXT: usize = 200;
/// The digits of a hash.
const DIGITS: usize = 64;
/// Systems that do not tell capital letters from small ones have one file for both.
const REPEATED: &str = "this name was there before, perhaps with other capital letters";

/// The hashes in lower case, by file.
pub(crate) type Sums = BTreeMap<String, String>;

/// What is read of `release.json`. Other members are for other programs.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: String,
    pub(crate) commit: String,
    /// As in RFC 3339.
    pub(crate) time: String,
    pub(crate) toolchain: String,
    /// All files of the release but these two.
    pub(crate) files: Vec<Listed>,
}

/// A file of a release.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// What it is, in words.
    pub(crate) what: String,
    /// The target of the Rust compiler that it is for; empty if it is for all.
    #[serde(default)]
    pub(crate) target: String,
}

/// What is read of a record before its format is known.
#[derive(Deserialize)]
struct Format {
    gosling_release_format: u64,
}

/// Reads `SHA256SUMS`.
///
/// # Errors
/// What is wrong with which line.
pub(crate) fn parse_sums(text: &[u8]) -> Result<Sums, String> {
    let text = str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    if !text.ends_with('\n') {
        return Err("its last line does not end".to_owned());
    }
    let (mut sums, mut names) = (Sums::new(), BTreeSet::new());
    for (line, number) in text.split_terminator('\n').zip(1..) {
        let wrong = |why: &str| format!("line {number}: {why}");
        let (hash, name) = line
            .split_once("  ")
            .ok_or_else(|| wrong("it has to be a SHA-256, two spaces, and a name"))?;
        if !is_hash(hash) {
            return Err(wrong("it does not begin with a SHA-256 in lower case"));
        }
        check_name(name).map_err(wrong)?;
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(wrong(REPEATED));
        }
        sums.insert(name.to_owned(), hash.to_owned());
    }
    if sums.contains_key(RECORD) {
        Ok(sums)
    } else {
        Err(format!("it does not list {RECORD}"))
    }
}

/// Reads `release.json`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse_record(text: &[u8]) -> Result<Record, String> {
    let format: Format = json::from_slice(text).map_err(|error| cut(&error))?;
    let format = format.gosling_release_format;
    if format != FORMAT {
        return Err(format!(
            "it has the format {format}, and this gosling knows {FORMAT} only"
        ));
    }
    let record: Record = json::from_slice(text).map_err(|error| cut(&error))?;
    for (name, value) in [
        ("version", &record.version),
        ("commit", &record.commit),
        ("time", &record.time),
        ("toolchain", &record.toolchain),
    ] {
        check_text(name, value)?;
    }
    if record.files.is_empty() {
        return Err("it lists no files".to_owned());
    }
    let mut names = BTreeSet::new();
    for (file, number) in record.files.iter().zip(1..) {
        let wrong = |why: &str| format!("file {number}: {why}");
        check_name(&file.name).map_err(wrong)?;
        if !is_hash(&file.sha256) {
            return Err(wrong("`sha256` is not a SHA-256 in lower case"));
        }
        check_text("what", &file.what).map_err(|why| wrong(&why))?;
        check_text("target", &file.target).map_err(|why| wrong(&why))?;
        if !names.insert(file.name.to_ascii_lowercase()) {
            return Err(wrong(REPEATED));
        }
    }
    Ok(record)
}

/// Whether this is a SHA-256 in hexadecimal digits, in lower case.
pub(crate) fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == DIGITS && text.bytes().all(is_digit)
}

/// A name must be that of a file in the folder itself, and the same on every system.
fn check_name(name: &str) -> Result<(), &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(&byte);
    if name.contains(['/', '\\']) || matches!(name, "." | "..") {
        Err("the name leads out of the folder; names have no slashes")
    } else if name.is_empty() || name.len() > MAX_NAME {
        Err("the name has to have 1 to 200 characters")
    } else if !name.bytes().all(is_plain) || !name.as_bytes()[0].is_ascii_alphanumeric() {
        Err(
            "the name has other characters than letters, digits and ._+~-, or begins with one of these",
        )
    } else if name.ends_with('.') {
        Err("the name ends with a dot, which Windows leaves out")
    } else if is_device(name) {
        Err("the name is that of a device of Windows")
    } else if name == SUMS {
        Err("SHA256SUMS cannot list itself")
    } else {
        Ok(())
    }
}

/// The error of a parser, which may repeat a text of any length.
fn cut(error: &serde_json::Error) -> String {
    printable(&error.to_string(), MAX_TEXT)
}

fn check_text(name: &str, text: &str) -> Result<(), String> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && text.len() <= MAX_TEXT {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not at most {MAX_TEXT} visible characters of ASCII"
    ))
}

#[cfg(test)]
mod tests;
