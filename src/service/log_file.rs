//! The log file of this process: `YYYYMMDD/gosling-PID.log`. A full file is renamed to `….log.1`.

use crate::store::files::ensure_dir;
use crate::sys::clock;
use crate::sys::fs::{open_regular_with, private, rename};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The largest log file, in bytes, unless a single line is longer.
const MAX_FILE: u64 = 16 << 20;
/// How many full files are kept.
const KEEP_FILES: usize = 4;
/// How many days of log files are kept.
const KEEP_DAYS: usize = 14;

/// Set if the file has to be opened again.
static REOPEN: AtomicBool = AtomicBool::new(false);

/// Creates the log file in this folder. The function gets a sentence about the first of several failed writes.
pub(crate) fn create(folder: PathBuf, report: fn(&str)) -> Box<dyn Write + Send> {
    Box::new(LogFile::new(folder, report))
}

/// Opens the file again before the next record, because another program may have moved it.
pub(crate) fn reopen() {
    REOPEN.store(true, Relaxed);
}

/// Takes complete lines, in any number of writes.
struct LogFile {
    folder: PathBuf,
    name: String,
    max: u64,
    open: Option<Open>,
    /// Whether the last write ended within a line.
    within_line: bool,
    /// Where the first of several failed writes is reported.
    report: fn(&str),
    fails: bool,
}

struct Open {
    file: File,
    size: u64,
    day: String,
}

impl LogFile {
    /// Creates no file before the first write.
    fn new(folder: PathBuf, report: fn(&str)) -> Self {
        LogFile {
            folder,
            name: format!("gosling-{}.log", std::process::id()),
            max: MAX_FILE,
            open: None,
            within_line: false,
            report,
            fails: false,
        }
    }

    fn write_some(&mut self, lines: &[u8]) -> io::Result<usize> {
        let line = 1 + (lines.iter().position(|byte| *byte == b'\n')).unwrap_or(lines.len() - 1);
        let mut open = match self.open.take() {
            Some(open) if self.within_line => open,
            Some(open) if open.day == clock::today() && !REOPEN.swap(false, Relaxed) => open,
            _ => self.open_today()?,
        };
        let is_full = |size: u64| size > 0 && size + line as u64 > self.max;
        if !self.within_line && is_full(open.size) {
            self.rotate(&open.day)?;
            open = self.open_today()?;
        }
        let whole = if self.within_line {
            line
        } else {
            whole_lines(lines, self.max.saturating_sub(open.size)).max(line)
        };
        let n = open.file.write(&lines[..whole])?;
        open.size += n as u64;
        self.within_line = n > 0 && lines[n - 1] != b'\n';
        self.open = Some(open);
        Ok(n)
    }

    /// Opens today's file and removes the folders of old days.
    fn open_today(&self) -> io::Result<Open> {
        let day = clock::today();
        ensure_dir(&self.folder.join(&day)).map_err(io::Error::other)?;
        remove_old_days(&self.folder)?;
        let path = self.folder.join(&day).join(&self.name);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = open_regular_with(private(&mut options), &path)?;
        let size = file.metadata()?.len();
        Ok(Open { file, size, day })
    }

    fn rotate(&self, day: &str) -> io::Result<()> {
        let path = |n| self.folder.join(day).join(format!("{}.{n}", self.name));
        for n in (1..KEEP_FILES).rev() {
            let _ = rename(path(n), path(n + 1));
        }
        match rename(self.folder.join(day).join(&self.name), path(1)) {
            // The file was removed by another process.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }
}

/// How many of these bytes are complete lines that fit into `room`.
fn whole_lines(lines: &[u8], room: u64) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if lines.len() <= room {
        return lines.len();
    }
    let end = lines[..room].iter().rposition(|byte| *byte == b'\n');
    end.map_or(0, |end| end + 1)
}

fn remove_old_days(folder: &Path) -> io::Result<()> {
    let mut days: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    days.sort();
    let excess = days.len().saturating_sub(KEEP_DAYS);
    for old in &days[..excess] {
        let _ = fs::remove_dir_all(old);
    }
    Ok(())
}

impl Write for LogFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if lines.is_empty() {
            return Ok(0);
        }
        let written = self.write_some(lines);
        if let Err(error) = &written
            && !self.fails
        {
            let folder = &self.folder;
            (self.report)(&format!(
                "the log file cannot be written, so records go to stderr only folder={folder:?} reason={error}"
            ));
        }
        self.fails = written.is_err();
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
