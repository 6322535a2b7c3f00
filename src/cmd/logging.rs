//! Where log records go: one line each, to stderr and to a file below `state/logs/server/`.

use crate::store::Paths;
use crate::sys::fs::private;
use crate::sys::{clock, lock};
use crate::text::printable;
use log::{LevelFilter, Log, Metadata, Record};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;

/// A log file that has grown to this size takes no more records, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// The longest record, in characters; what is not printable in it is escaped, so it is one line.
const MAX_RECORD: usize = 4_000;
/// How many days of log files are kept.
const KEEP_DAYS: usize = 14;

/// What Goose Desktop takes for the death of a server that it starts.
const ALARMS: [&str; 3] = ["panicked at", "RUST_BACKTRACE", "fatal error"];

struct Logger {
    folder: PathBuf,
    /// Records above this level go to the file alone.
    stderr: LevelFilter,
    file: Mutex<Sink>,
}

enum Sink {
    /// Opened with the first record, so that a start costs nothing.
    NotYet,
    Open(File, u64),
    /// Full, or not writable: stderr has to do.
    Off,
}

/// Begins to log. The level is that of `GOOSE_LOG`, else of `RUST_LOG`, else `info`. Only what this
/// crate says is written: the HTTP client's own records may carry headers.
pub(super) fn start(paths: &Paths) {
    start_with(paths, LevelFilter::Trace);
}

/// The same for a program with a person at stderr, who is told of errors only unless `GOOSE_LOG` is
/// set.
pub(super) fn start_quietly(paths: &Paths) {
    match std::env::var_os("GOOSE_LOG") {
        Some(_) => start(paths),
        None => start_with(paths, LevelFilter::Error),
    }
}

/// The same for a program that another one has started: on stderr alone, which is that one's to keep.
pub(super) fn start_on_stderr() {
    begin(PathBuf::new(), LevelFilter::Trace, Sink::Off);
}

fn start_with(paths: &Paths, stderr: LevelFilter) {
    let folder = paths.state.join("logs").join("server");
    begin(folder, stderr, Sink::NotYet);
}

fn begin(folder: PathBuf, stderr: LevelFilter, file: Sink) {
    let logger = Logger {
        folder,
        stderr,
        file: Mutex::new(file),
    };
    let wanted = ["GOOSE_LOG", "RUST_LOG"];
    let level = wanted.iter().find_map(|name| std::env::var(name).ok());
    log::set_max_level(level.map_or(LevelFilter::Info, |text| level_of(&text)));
    let _ = log::set_boxed_logger(Box::new(logger));
    std::panic::set_hook(Box::new(|panic| {
        let reason = panic.payload_as_str().unwrap_or("unknown");
        match panic.location() {
            Some(at) => log::error!("internal error at={at} reason={reason:?}"),
            None => log::error!("internal error reason={reason:?}"),
        }
    }));
}

/// Understands `debug` and lists such as `warn,gosling=debug,hyper=off`.
fn level_of(text: &str) -> LevelFilter {
    let (mut general, mut own) = (None, None);
    for directive in text.split(',') {
        match directive.split_once('=') {
            Some(("gosling", level)) => own = level.trim().parse().ok(),
            Some(_) => {}
            None => general = directive.trim().parse().ok().or(general),
        }
    }
    own.or(general).unwrap_or(LevelFilter::Info)
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let target = metadata.target();
        target == "gosling" || target.starts_with("gosling::")
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let said = one_line(&record.args().to_string());
        let line = format!("{} {} {said}\n", clock::now_rfc3339(), record.level());
        // Nobody is left to tell if stderr is gone.
        if record.level() <= self.stderr {
            let _ = io::stderr().write_all(line.as_bytes());
        }
        lock(&self.file).write(&self.folder, &line);
    }

    fn flush(&self) {}
}

/// A record must not look like two, whatever an MCP server has said, nor like the last words of this
/// one.
fn one_line(text: &str) -> String {
    ALARMS
        .iter()
        .fold(printable(text, MAX_RECORD), |line, alarm| {
            line.replace(alarm, &alarm.replace([' ', '_'], "-"))
        })
}

impl Sink {
    fn write(&mut self, folder: &PathBuf, line: &str) {
        if matches!(self, Sink::NotYet) {
            *self = match open(folder) {
                Ok(file) => Sink::Open(file, 0),
                Err(_) => Sink::Off,
            };
        }
        if let Sink::Open(file, size) = self {
            *size += line.len() as u64;
            if *size > MAX_FILE || file.write_all(line.as_bytes()).is_err() {
                *self = Sink::Off;
            }
        }
    }
}

/// `YYYYMMDD/gosling-PID.log`; folders of days long past go.
fn open(folder: &PathBuf) -> io::Result<File> {
    let day = folder.join(clock::today());
    crate::store::files::ensure_dir(&day).map_err(io::Error::other)?;
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
    let file = day.join(format!("gosling-{}.log", std::process::id()));
    private(OpenOptions::new().create(true).append(true)).open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_and_raises_no_alarm() {
        assert_eq!(
            one_line("reason=thread panicked at x\n2026 INFO forged\x1b[0m, \"é\""),
            "reason=thread panicked-at x\\u{a}2026 INFO forged\\u{1b}[0m, \"é\""
        );
    }

    #[test]
    fn levels_are_read_as_users_write_them() {
        for (text, level) in [
            ("debug", LevelFilter::Debug),
            ("WARN", LevelFilter::Warn),
            ("off", LevelFilter::Off),
            ("warn,gosling=trace", LevelFilter::Trace),
            ("gosling=error,hyper=debug", LevelFilter::Error),
            ("hyper=debug", LevelFilter::Info),
            ("nonsense", LevelFilter::Info),
        ] {
            assert_eq!(level_of(text), level, "{text}");
        }
    }
}
