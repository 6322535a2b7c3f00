//! Writes log records, one line each, to stderr and, if a part of the program writes it, to a file below
//! `state/logs/server/`.
//!
//! Each destination has its own writer thread (`background_writer`), so that a full pipe, a stopped terminal or
//! a full disk delays neither requests nor the end of the process. Repeated warnings are counted
//! (`repeated_warnings`).

mod background_writer;
mod repeated_warnings;

use crate::part;
use crate::store::Paths;
use crate::sys::{clock, lock};
use crate::text::printable;
use background_writer::BackgroundWriter;
use log::{Level, LevelFilter, Log, Metadata, Record};
use repeated_warnings::RepeatedWarnings;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The longest record, in characters. Non-printable characters are escaped, so a record is one line.
const MAX_RECORD: usize = 4_000;
/// How long the process waits at its end for unwritten records.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);

/// Texts on stderr that Goose Desktop takes for a crash of the server.
const FATAL_MARKERS: [&str; 3] = ["panicked at", "RUST_BACKTRACE", "fatal error"];

static STARTED: AtomicBool = AtomicBool::new(false);

struct Logger {
    /// The least severe level that is written to stderr; the file gets all records.
    stderr: LevelFilter,
    file: Option<&'static BackgroundWriter>,
    repeats: Mutex<RepeatedWarnings>,
}

/// Starts logging. The level is that of `GOOSE_LOG`, else of `RUST_LOG`, else `info`. Only records of this crate
/// are written: those of the HTTP client may contain headers.
pub fn start(paths: &Paths) {
    begin(Some(paths), LevelFilter::Trace);
}

/// Writes a text to stderr, in order with the records. Does not block once logging has started.
pub fn say(text: &str) {
    if STARTED.load(Ordering::Relaxed) {
        stderr().push(&line(None, text, true));
    } else {
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

/// The same with this level, and without a file if an MCP client has started the process: it keeps stderr.
pub fn begin(paths: Option<&Paths>, level: LevelFilter) {
    let create = part::all().iter().find_map(|part| part.log_file);
    let file = paths.zip(create).map(|(paths, create)| {
        let report: fn(&str) = if level >= LevelFilter::Warn {
            |text| stderr().push(&line(Some(Level::Warn), text, true))
        } else {
            |_| {}
        };
        let file = create(paths.state.join("logs").join("server"), report);
        &*Box::leak(Box::new(BackgroundWriter::new("log file", file)))
    });
    let logger = Logger {
        stderr: level,
        file,
        repeats: Mutex::default(),
    };
    let mut names = ["GOOSE_LOG", "RUST_LOG"].iter();
    let wanted = names.find_map(|name| Some((name, std::env::var(name).ok()?)));
    let level = wanted.as_ref().map(|(_, text)| level_of(text));
    let (level, is_understood) = level.unwrap_or((LevelFilter::Info, true));
    log::set_max_level(level);
    let _ = log::set_boxed_logger(Box::new(logger));
    STARTED.store(true, Ordering::Relaxed);
    if let Some((name, text)) = wanted
        && !is_understood
    {
        let (text, level) = (printable(&text, 100), level.as_str().to_ascii_lowercase());
        log::warn!(
            "{name} is {text:?}, but levels are off, error, warn, info, debug and trace; {level} is used"
        );
    }
    std::panic::set_hook(Box::new(|panic| {
        let reason = panic.payload_as_str().unwrap_or("unknown");
        match panic.location() {
            Some(at) => log::error!("internal error at={at} reason={reason:?}"),
            None => log::error!("internal error reason={reason:?}"),
        }
    }));
}

fn stderr() -> &'static BackgroundWriter {
    static STDERR: OnceLock<BackgroundWriter> = OnceLock::new();
    STDERR.get_or_init(|| BackgroundWriter::new("log stderr", Box::new(io::stderr())))
}

/// Parses a level such as `debug`, or a list such as `warn,gosling=debug,hyper=off`.
/// Whether all of it that concerns gosling is a level comes second.
fn level_of(text: &str) -> (LevelFilter, bool) {
    let mut general = None;
    let mut own = None;
    let mut is_understood = true;
    for directive in text.split(',') {
        let (level, place) = match directive.split_once('=') {
            Some(("gosling", level)) => (level, &mut own),
            Some(_) => continue,
            None => (directive, &mut general),
        };
        match level.trim().parse() {
            Ok(level) => *place = Some(level),
            Err(_) => is_understood &= level.trim().is_empty(),
        }
    }
    (own.or(general).unwrap_or(LevelFilter::Info), is_understood)
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let member = metadata.target().split("::").next().unwrap_or_default();
        member == "gosling" || member.starts_with("gosling_")
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = one_line(&record.args().to_string());
        let now = Instant::now();
        let mut repeats = lock(&self.repeats);
        let reports = repeats.due_reports(now, false);
        let is_written = match (record.file_static(), record.line()) {
            (Some(file), Some(line)) if record.level() <= Level::Warn => {
                repeats.admits((file, line), record.level(), &text, now)
            }
            _ => true,
        };
        drop(repeats);
        for (level, text) in reports {
            self.write(level, &text);
        }
        if is_written {
            self.write(record.level(), &text);
        }
    }

    /// Waits a moment for unwritten records.
    fn flush(&self) {
        let end = Instant::now() + FLUSH_TIMEOUT;
        let reports = lock(&self.repeats).due_reports(Instant::now(), true);
        for (level, text) in reports {
            self.write(level, &text);
        }
        for writer in self.file.into_iter().chain([stderr()]) {
            writer.flush(end);
        }
    }
}

impl Logger {
    fn write(&self, level: Level, text: &str) {
        if level <= self.stderr {
            stderr().push(&line(Some(level), text, true));
        }
        if let Some(file) = self.file {
            file.push(&line(Some(level), text, false));
        }
    }
}

/// Makes the lines of a record, or of what is said without being one. The boolean is whether they are for stderr.
pub type Format = fn(Option<Level>, &str, bool) -> String;

static FORMAT: OnceLock<Format> = OnceLock::new();

/// Sets the form of lines. Only the first call has an effect.
pub fn set_format(format: Format) {
    let _ = FORMAT.set(format);
}

fn line(level: Option<Level>, text: &str, is_stderr: bool) -> String {
    match (FORMAT.get(), level) {
        (Some(format), _) => format(level, text, is_stderr),
        (None, Some(level)) => format!("{} {level} {text}\n", clock::now_rfc3339()),
        (None, None) => text.to_owned(),
    }
}

/// Makes a record one line that does not look like a crash, whatever text of an MCP server it contains.
fn one_line(text: &str) -> String {
    FATAL_MARKERS
        .iter()
        .fold(printable(text, MAX_RECORD), |line, alarm| {
            line.replace(alarm, &alarm.replace([' ', '_'], "-"))
        })
}

#[cfg(test)]
mod tests;
