//! The log file of this process: `YYYYMMDD/gosling-PID.log`. A full file is renamed to `….log.1`.

use super::background_writer::BackgroundWriter;
use crate::store::files::ensure_dir;
use crate::sys::clock;
use crate::sys::fs::{open_regular_with, private};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The largest log file, in bytes, unless a single line is longer.
const MAX_FILE: u64 = 16 << 20;
/// How many full files are kept.
const KEEP_FILES: usize = 4;
/// How many days of log files are kept.
const KEEP_DAYS: usize = 14;

/// Takes complete lines, in any number of writes.
pub(super) struct LogFile {
    folder: PathBuf,
    name: String,
    max: u64,
    open: Option<Open>,
    /// Whether the last write ended within a line.
    within_line: bool,
    /// Where the first of several failed writes is reported.
    failure_log: Option<&'static BackgroundWriter>,
    fails: bool,
}

struct Open {
    file: File,
    size: u64,
    day: String,
}

impl LogFile {
    /// Creates no file before the first write.
    pub(super) fn new(folder: PathBuf, failure_log: Option<&'static BackgroundWriter>) -> Self {
        LogFile {
            folder,
            name: format!("gosling-{}.log", std::process::id()),
            max: MAX_FILE,
            open: None,
            within_line: false,
            failure_log,
            fails: false,
        }
    }

    fn write_some(&mut self, lines: &[u8]) -> io::Result<usize> {
        let line = 1 + (lines.iter().position(|byte| *byte == b'\n')).unwrap_or(lines.len() - 1);
        let mut open = match self.open.take() {
            Some(open) if self.within_line || open.day == clock::today() => open,
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
            let _ = fs::rename(path(n), path(n + 1));
        }
        match fs::rename(self.folder.join(day).join(&self.name), path(1)) {
            // The file was removed by another process.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    fn complain(&self, error: &io::Error) {
        if let Some(failure_log) = self.failure_log {
            failure_log.push(&format!(
                "{} WARN the log file cannot be written, so records go to stderr only folder={:?} \
                 reason={error}\n",
                clock::now_rfc3339(),
                self.folder
            ));
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
            self.complain(error);
        }
        self.fails = written.is_err();
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env::temp_dir;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("gosling-log-{name}-{}", std::process::id());
            Folder(temp_dir().join(name))
        }

        fn log(&self, max: u64) -> LogFile {
            LogFile {
                max,
                name: "log".to_owned(),
                ..LogFile::new(self.0.clone(), None)
            }
        }

        /// Today's files with their contents.
        fn files(&self) -> Vec<(String, String)> {
            let files = fs::read_dir(self.0.join(clock::today())).unwrap().flatten();
            let mut files: Vec<(String, String)> = files
                .map(|file| {
                    let name = file.file_name().into_string().unwrap();
                    (name, fs::read_to_string(file.path()).unwrap())
                })
                .collect();
            files.sort();
            files
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_full_file_gives_way_and_four_of_them_are_kept() {
        let folder = Folder::new("rotates");
        let mut log = folder.log(20);
        let lines: String = (0..30).map(|n| format!("line {n:02}\n")).collect();
        // In one write, and then byte by byte.
        log.write_all(lines.as_bytes()).unwrap();
        let at_once = folder.files();
        let names: Vec<&str> = at_once.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["log", "log.1", "log.2", "log.3", "log.4"]);
        assert_eq!(at_once[0].1, "line 28\nline 29\n");
        assert_eq!(at_once[4].1, "line 20\nline 21\n");
        for byte in lines.bytes() {
            log.write_all(&[byte]).unwrap();
        }
        let mut all: Vec<(String, String)> = folder.files();
        all.sort_by(|a, b| b.0.cmp(&a.0));
        let kept: String = all.into_iter().map(|(_, text)| text).collect();
        let newest: String = (0..30).map(|n| format!("line {n:02}\n")).collect();
        assert!(newest.ends_with(&kept), "{kept}");
        // The file of an earlier process with the same id is continued, and its size counts.
        let mut log = folder.log(20);
        log.write_all(b"x\n").unwrap();
        let newest = &folder.files()[0];
        assert!(
            newest.1.len() <= 20 && newest.1.ends_with("x\n"),
            "{newest:?}"
        );
    }

    #[test]
    fn a_line_that_is_longer_than_a_file_is_written_in_whole() {
        let folder = Folder::new("long");
        let mut log = folder.log(10);
        log.write_all(b"one\na line of many words\ntwo\n").unwrap();
        let texts: Vec<String> = folder.files().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["two\n", "a line of many words\n", "one\n"]);
    }

    #[test]
    fn a_file_that_could_not_be_written_is_tried_again() {
        let folder = Folder::new("fails");
        fs::write(&folder.0, "in the way").unwrap();
        let mut log = folder.log(100);
        assert!(log.write(b"one\n").is_err());
        fs::remove_file(&folder.0).unwrap();
        log.write_all(b"one\n").unwrap();
        assert_eq!(folder.files(), [("log".to_owned(), "one\n".to_owned())]);
    }
}
