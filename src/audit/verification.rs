//! Whether the log is as it was written: each record in its place behind the one before it.

use crate::log_files::{self, Ending, Lines};
use crate::record::{NO_HASH, Record};
use crate::store::{Error, Result};
use std::collections::HashSet;
use std::path::Path;

/// How each record begins.
const BEGINNING: &[u8] = b"{\"seq\":";
/// How many faults are kept; more are counted.
const MAX_FAULTS: usize = 100;

/// What the verification has found.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) files: usize,
    pub(crate) records: u64,
    /// Lines that a process could not finish.
    pub(crate) cut: u64,
    pub(crate) first: String,
    pub(crate) last: String,
    /// The number and the hash of the last record.
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// File, line and what is wrong.
    pub(crate) faults: Vec<(String, u64, String)>,
    pub(crate) more_faults: u64,
}

impl Verified {
    fn fault(&mut self, file: &str, line: u64, why: String) {
        match self.faults.len() {
            MAX_FAULTS => self.more_faults += 1,
            _ => self.faults.push((file.to_owned(), line, why)),
        }
    }
}

/// Verifies all files of the log.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn verify(folder: &Path) -> Result<Verified> {
    let mut found = Verified::default();
    // The first record may follow one in a file that was removed for its age, which a later record says.
    let mut removed = HashSet::from([NO_HASH.to_owned()]);
    let (mut before, mut first_prev) = (None, None);
    for number in log_files::numbers(folder)? {
        let path = log_files::path_of(folder, number);
        let Some(mut lines) = Lines::open(&path, 0)? else {
            continue;
        };
        log_files::check_format(&path)?;
        found.files += 1;
        let name = log_files::name_of(number);
        let mut at = 0;
        while let Some((line, ending)) = lines.next().map_err(Error::io("read", &path))? {
            at += 1;
            let (record, hash) = match Record::read(&line) {
                Ok(read) => read,
                // If it stands in the place of a record, the next one does not follow.
                Err(_) if is_cut(&line, ending) => {
                    found.cut += 1;
                    continue;
                }
                Err(why) => {
                    found.fault(&name, at, why);
                    continue;
                }
            };
            match &before {
                None => first_prev = Some((name.clone(), at, record.prev.clone())),
                Some((seq, hash)) if record.prev == *hash && record.seq == *seq + 1 => {}
                Some((seq, _)) => {
                    let why = format!(
                        "record {} does not follow record {seq}: records are missing, or were added or changed",
                        record.seq
                    );
                    found.fault(&name, at, why);
                }
            }
            if record.kind == "removed" {
                removed.insert(record.last.to_string());
            }
            if found.first.is_empty() {
                found.first = record.time.to_string();
            }
            found.last = record.time.to_string();
            found.records += 1;
            (found.seq, found.hash) = (record.seq, hash.clone());
            before = Some((record.seq, hash));
        }
    }
    if let Some((file, line, prev)) = first_prev
        && !removed.contains(&*prev)
    {
        found.fault(&file, line, "the records before it are missing".to_owned());
    }
    Ok(found)
}

/// Whether a line is the beginning of a record, which a process could not finish.
fn is_cut(line: &[u8], ending: Ending) -> bool {
    let begins = line.starts_with(BEGINNING) || BEGINNING.starts_with(line);
    begins && !line.ends_with(b"\"}") && ending != Ending::TooLong
}
