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
    for Malware {
        ecosystem,
        name,
        id,
        versions,
    } in malware
    {
        let mut part = String::new();
        for item in versions.split(' ') {
            if part.len() + item.len() > MAX_VERSIONS {
                lines.push(format!("{ecosystem}\t{name}\t{id}\t{part}\n"));
                part.clear();
            }
            if !part.is_empty() {
                part.push(' ');
            }
            part.push_str(item);
        }
        lines.push(format!("{ecosystem}\t{name}\t{id}\t{part}\n"));
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
mod tests {
    use super::*;
    use crate::versions;
    use std::io::Cursor;

    fn malware(name: &str, id: &str, versions: &str) -> Malware {
        Malware {
            ecosystem: "npm",
            name: name.to_owned(),
            id: id.to_owned(),
            versions: versions.to_owned(),
        }
    }

    fn ids(text: &str, name: &str) -> Vec<String> {
        let found = find(&mut Cursor::new(text), Ecosystem::Npm, name).unwrap();
        found.into_iter().map(|it| it.id).collect()
    }

    #[test]
    fn every_entry_is_found_and_nothing_else() {
        gosling_testing::property_testing::check(|u| {
            let mut all = Vec::new();
            for n in 0..u.int_in_range(0..=12)? {
                // Names that begin alike, of different lengths.
                let name = "ab".repeat(u.int_in_range(1..=6)?) + u.choose(&["", "-", "c", "/x"])?;
                let versions = "1.0.0 ".repeat(u.int_in_range(1..=40)?);
                all.push(malware(&name, &format!("MAL-{n:02}"), versions.trim_end()));
            }
            let text = write(all.clone());
            for name in ["ab", "a", "abab", "abab-", "zz", ""] {
                assert_eq!(
                    ids(&text, name).len(),
                    all.iter().filter(|it| it.name == name).count()
                );
            }
            for one in &all {
                let found = find(&mut Cursor::new(&text), Ecosystem::Npm, &one.name).unwrap();
                assert!(found.contains(one), "{one:?} in {text}");
                let other = find(&mut Cursor::new(&text), Ecosystem::PyPi, &one.name).unwrap();
                assert_eq!(other, []);
            }
            Ok(())
        });
    }

    #[test]
    fn many_versions_are_on_several_lines() {
        let many: Vec<String> = (0..20_000).map(|n| format!("1.0.{n}")).collect();
        let text = write(vec![malware("p", "MAL-1", &many.join(" "))]);
        assert!(text.lines().all(|line| (line.len() as u64) < MAX_LINE));
        let found = find(&mut Cursor::new(&text), Ecosystem::Npm, "p").unwrap();
        assert!(found.len() > 1);
        let all: Vec<String> = found.iter().map(|it| it.versions.clone()).collect();
        assert_eq!(all.join(" ").split(' ').count(), many.len());
        assert_eq!(
            write(vec![malware("p", "M", versions::ALL)])
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn a_broken_index_is_an_error() {
        for line in ["npm\tp\tMAL-1\t1.0.0", "npm\tp\tMAL-1\n", "npm\tp\t\n"] {
            let text = format!("{HEADER}{line}");
            let found = find(&mut Cursor::new(&text), Ecosystem::Npm, "p");
            assert!(found.is_err(), "{line:?}");
        }
        let endless = format!("{HEADER}{}", "x".repeat(1 << 20));
        assert!(find(&mut Cursor::new(&endless), Ecosystem::Npm, "p").is_err());
        assert_eq!(ids(HEADER, "p"), [""; 0]);
    }
}
