//! The files of the log, `1.jsonl`, `2.jsonl` and so on, and their lines.

use crate::store::files;
use crate::store::{Error, Result};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The end of their names.
const EXTENSION: &str = "jsonl";
/// The longest line that is read, in bytes: longer than any that is written.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// The path of the file with this number.
pub(crate) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.{EXTENSION}"))
}

/// The numbers of the files, in their order; none if there is no folder.
pub(crate) fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let entries = files::if_exists(fs::read_dir(folder));
    let entries = entries.map_err(Error::io("read", folder))?;
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let number = |path: PathBuf| {
        let is_ours = path.extension().is_some_and(|end| end == EXTENSION);
        let stem = path.file_stem().filter(|_| is_ours)?;
        let number = stem.to_str()?.parse::<u64>().ok()?;
        // No other way of writing it.
        (path == path_of(folder, number)).then_some(number)
    };
    let mut numbers: Vec<u64> = names.filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The lines of a file, of which a last one may lack its end.
pub(crate) struct Lines {
    reader: BufReader<File>,
}

impl Lines {
    /// Those of this file from a position on; `None` if it does not exist.
    pub(crate) fn open(path: &Path, from: u64) -> Result<Option<Self>> {
        let Some(mut file) = files::open(path)? else {
            return Ok(None);
        };
        let sought = file.seek(SeekFrom::Start(from));
        sought.map_err(Error::io("read", path))?;
        Ok(Some(Lines {
            reader: BufReader::with_capacity(64 << 10, file),
        }))
    }

    /// The next line without its end, and whether it has one; of a line that is too long, its beginning.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(Vec<u8>, bool)>> {
        let mut line = Vec::new();
        let mut limited = self.reader.by_ref().take(MAX_LINE as u64);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            line.pop();
        } else if line.len() == MAX_LINE {
            self.reader.skip_until(b'\n')?;
        }
        Ok(Some((line, is_whole)))
    }
}
