//! The index of malware: a text file that is searched without being read as a whole.
//!
//! After the first line, each line is ecosystem, name, id and [versions](super::versions), separated by tabs.
//! The lines are sorted by their bytes.

use crate::advisory::Malware;
use crate::packages::Ecosystem;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// The first line.
pub const HEADER: &str = "gosling advisories 1\n";

/// The longest line that is written, without the versions of its last item. Longer ones are split.
const MAX_VERSIONS: usize = 32 << 10;

/// The longest line that is read.
const MAX_LINE: u64 = 64 << 10;

/// How many lines of one package are read.
const MAX_LINES: usize = 10_000;

/// The text of an index.
pub fn write(malware: Vec<Malware>) -> String {
    let mut lines = Vec::new();
    for it in malware {
        let package = format!("{}\t{}\t{}", it.ecosystem, it.name, it.id);
        let mut part = String::new();
        for item in it.versions.split(' ') {
            if part.len() + item.len() > MAX_VERSIONS {
                lines.push(format!("{package}\t{part}\n"));
                part.clear();
            }
            if !part.is_empty() {
                part.push(' ');
            }
            part.push_str(item);
        }
        lines.push(format!("{package}\t{part}\n"));
    }
    lines.sort_unstable();
    lines.dedup();
    let mut text =
        String::with_capacity(HEADER.len() + lines.iter().map(String::len).sum::<usize>());
    text.push_str(HEADER);
    for line in lines {
        text.push_str(&line);
    }
    text
}

/// The entries for one package in an index, which begins after [`HEADER`].
///
/// # Errors
/// The file cannot be read, or is not an index.
pub fn find(
    index: &mut (impl BufRead + Seek),
    ecosystem: Ecosystem,
    name: &str,
) -> io::Result<Vec<Malware>> {
    let key = format!("{}\t{name}\t", ecosystem.name());
    let mut found = Vec::new();
    let mut at = first_at_least(index, key.as_bytes())?;
    index.seek(SeekFrom::Start(at))?;
    loop {
        let line = read_line(index)?;
        at += line.len() as u64;
        let Some(rest) = line.strip_prefix(key.as_bytes()) else {
            return Ok(found);
        };
        let rest = std::str::from_utf8(rest).map_err(|_| broken(at))?;
        let fields = rest.trim_end_matches('\n').split_once('\t');
        let (id, versions) = fields.ok_or_else(|| broken(at))?;
        if found.len() == MAX_LINES {
            return Err(broken(at));
        }
        found.push(Malware {
            ecosystem: ecosystem.name(),
            name: name.to_owned(),
            id: id.to_owned(),
            versions: versions.to_owned(),
        });
    }
}

/// The offset of the first line that is not less than the key.
fn first_at_least(index: &mut (impl BufRead + Seek), key: &[u8]) -> io::Result<u64> {
    let (mut low, mut high) = (HEADER.len() as u64, index.seek(SeekFrom::End(0))?);
    // All lines that begin before `low` are less; none that begins at or after `high` is.
    while low < high {
        let middle = low + (high - low) / 2;
        let mut start = low;
        if middle > low {
            // The first line that begins at or after the middle.
            index.seek(SeekFrom::Start(middle - 1))?;
            start = middle - 1 + read_line(index)?.len() as u64;
        } else {
            index.seek(SeekFrom::Start(low))?;
        }
        if start >= high {
            high = middle;
            continue;
        }
        let line = read_line(index)?;
        if line.as_slice() < key {
            low = start + line.len() as u64;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The next line with its end; empty at the end of the file.
fn read_line(index: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    index.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.last().is_some_and(|last| *last != b'\n') {
        return Err(broken(0));
    }
    Ok(line)
}

fn broken(at: u64) -> io::Error {
    let place = match at {
        0 => String::new(),
        at => format!(" before byte {at}"),
    };
    io::Error::other(format!(
        "the index is broken{place}; make it again with `gosling advisories import`"
    ))
}

#[cfg(test)]
mod tests;
