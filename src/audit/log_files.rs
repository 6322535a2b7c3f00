//! The files of the log, `1.jsonl`, `2.jsonl` and so on, and their lines.

use crate::record::Record;
use crate::store::files;
use crate::store::{Error, Result};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The largest number of a file.
const MAX_NUMBER: u64 = 1_000_000_000;
/// The end of their names.
const EXTENSION: &str = "jsonl";
/// The longest line that is read, in bytes: longer than any that is written.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// The name of the file with this number.
pub(crate) fn name_of(number: u64) -> String {
    format!("{number}.{EXTENSION}")
}

/// The path of the file with this number.
pub(crate) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(name_of(number))
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
        let number = stem
            .to_str()?
            .parse::<u64>()
            .ok()
            .filter(|it| *it <= MAX_NUMBER)?;
        // No other way of writing it.
        (path == path_of(folder, number)).then_some(number)
    };
    let mut numbers: Vec<u64> = names.filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The day of the first record of a file (UTC); empty if it has none.
pub(crate) fn first_day(folder: &Path, number: u64) -> Result<String> {
    let path = path_of(folder, number);
    let lines = Lines::open(&path, 0)?;
    let line = lines.and_then(|mut lines| lines.next().transpose());
    let line = line.transpose().map_err(Error::io("read", &path))?;
    let first = line.and_then(|(line, _)| Record::read(&line).ok());
    Ok(first.map_or_else(String::new, |(record, _)| record.day().to_owned()))
}

/// Fails if a newer version has begun a file, which says it in its first record.
pub(crate) fn check_format(path: &Path) -> Result<()> {
    let first = Lines::open(path, 0)?.and_then(|mut lines| lines.next().transpose());
    let first = first.transpose().map_err(Error::io("read", path))?;
    first.map_or(Ok(()), |(line, _)| files::check_json_format(path, &line))
}

/// The sizes of the files, in bytes.
pub(crate) fn sizes(folder: &Path) -> Result<Vec<u64>> {
    let size = |number| {
        let path = path_of(folder, number);
        let found = files::if_exists(path.metadata()).map_err(Error::io("read", &path))?;
        Ok(found.map_or(0, |it| it.len()))
    };
    numbers(folder)?.into_iter().map(size).collect()
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// Not at all: it is the last of its file, and being written, or its process has ended.
    None,
    /// It is too long for a record, and only its beginning was read.
    TooLong,
}

/// The lines of a file.
pub(crate) struct Lines {
    reader: BufReader<File>,
    /// The position behind the lines that were read and have an end.
    pub(crate) at: u64,
}

impl Lines {
    /// Those of this file from a position on, or from the beginning if the file is shorter now; `None` if it does not
    /// exist.
    pub(crate) fn open(path: &Path, from: u64) -> Result<Option<Self>> {
        let Some(mut file) = files::open(path)? else {
            return Ok(None);
        };
        let unreadable = || Error::io("read", path);
        let size = file.metadata().map_err(unreadable())?.len();
        let at = if from > size { 0 } else { from };
        file.seek(SeekFrom::Start(at)).map_err(unreadable())?;
        let reader = BufReader::with_capacity(64 << 10, file);
        Ok(Some(Lines { reader, at }))
    }

    /// The next line, without its end.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<(Vec<u8>, Ending)>> {
        let mut line = Vec::new();
        let mut limited = self.reader.by_ref().take(MAX_LINE as u64);
        let mut length = limited.read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(None);
        }
        let ending = if line.pop_if(|byte| *byte == b'\n').is_some() {
            Ending::Whole
        } else if length == MAX_LINE {
            length += self.reader.skip_until(b'\n')?;
            Ending::TooLong
        } else {
            return Ok(Some((line, Ending::None)));
        };
        self.at += length as u64;
        Ok(Some((line, ending)))
    }
}
