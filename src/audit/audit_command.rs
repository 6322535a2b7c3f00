//! `gosling audit`: verifies, shows and follows the audit log.

use crate::command_line::{Command, Failure, failed, paths, print, printed, text};
use crate::log_files::{self, Ending, Lines};
use crate::record::{Arguments, Record};
use crate::store::{self, Error};
use crate::text::printable;
use crate::{FOLDER, verification};
use gosling_shared::{missing, quoted};
use lexopt::prelude::*;
use serde_json::json;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

pub(crate) const COMMAND: Command = Command {
    name: "audit",
    summary: "show and verify the record of what was done",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling audit verify [--json]
       gosling audit show|follow [FILTERS] [--last N] [--json]
example: gosling audit show --kind tool_call --outcome denied

subcommands:
  verify   check that no record was changed, removed or added
  show     print the records
  follow   print the last records, and those to come until a signal ends it

filters, each of which a record must fit:
  --kind KIND          tool_call, approval, setting, session, backup, turn,
                       extension, request or refused
  --session ID         the session
  --extension NAME     the extension, or the file of a setting
  --subject TEXT       a part of the name of the tool, setting or route
  --key NAME           the key that the client has shown
  --front FRONT        http, acp, schedule, or the name of a command
  --outcome OUTCOME    for example denied, is_error or 401
  --since TIME         the time in UTC, for example 2026-11-27T08:00

options:
  --last N    only the last N of them (follow: 10)
  --json      the records as they are in the files
  -h, --help  show this

exit codes: 0 done, 1 the log is not as it was written, or cannot be read, 2 the
command line makes no sense
";

/// How often the files are looked at for new records.
const INTERVAL: Duration = Duration::from_millis(250);
/// The longest text of a record that is printed, in characters.
const MAX_SHOWN: usize = 200;

/// What is to be shown.
#[derive(Default)]
struct Options {
    filters: Vec<(&'static str, String)>,
    since: String,
    last: Option<usize>,
    as_json: bool,
}

/// The filters, by the names of their options.
const FILTERS: [&str; 7] = [
    "kind",
    "session",
    "extension",
    "subject",
    "key",
    "front",
    "outcome",
];

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let subcommand = match parser.next()? {
        None => return Err(missing("subcommand")),
        Some(Short('h') | Long("help")) => return print(HELP),
        Some(Value(word)) => text(word)?,
        Some(other) => return Err(other.unexpected().into()),
    };
    let is_verify = subcommand == "verify";
    if !is_verify && subcommand != "show" && subcommand != "follow" {
        let reason =
            format!("there is no subcommand {subcommand:?}; there are verify, show and follow");
        return Err(Failure::Usage(reason));
    }
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("json") => options.as_json = true,
            Long("last") if !is_verify => {
                let count = text(parser.value()?)?;
                let count = count
                    .parse()
                    .map_err(|_| Failure::Usage(format!("--last: {count:?} is not a number")))?;
                options.last = Some(count);
            }
            Long("since") if !is_verify => options.since = text(parser.value()?)?,
            Long(name) if !is_verify && let Some(known) = filter_named(name) => {
                options.filters.push((known, text(parser.value()?)?));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let folder = paths()?.data.join(FOLDER);
    let unreadable = || failed("the audit log cannot be read");
    match subcommand.as_str() {
        "verify" => verify(&folder, options.as_json),
        "show" => {
            let shown = show(&folder, &options, None).map_err(unreadable())?;
            printed(shown.map(drop))
        }
        _ => printed(Err(follow(&folder, &options).map_err(unreadable())?)),
    }
}

fn filter_named(name: &str) -> Option<&'static str> {
    FILTERS.into_iter().find(|known| *known == name)
}

fn verify(folder: &Path, as_json: bool) -> Result<(), Failure> {
    let found = verification::verify(folder);
    let found = found.map_err(failed("the audit log cannot be read"))?;
    let is_whole = found.faults.is_empty();
    if as_json {
        let faults = found.faults.iter();
        let faults =
            faults.map(|(file, line, why)| json!({"file": file, "line": line, "why": why}));
        let report = json!({
            "ok": is_whole, "files": found.files, "records": found.records, "cut": found.cut,
            "first": found.first, "last": found.last, "seq": found.seq, "hash": found.hash,
            "faults": faults.collect::<Vec<_>>(), "more_faults": found.more_faults,
        });
        print(&format!("{report}\n"))?;
    } else {
        let mut out = String::new();
        for (file, line, why) in &found.faults {
            let _ = writeln!(out, "{}, line {line}: {why}", folder.join(file).display());
        }
        if found.more_faults > 0 {
            let _ = writeln!(out, "and {} more", found.more_faults);
        }
        let _ = writeln!(out, "{} records in {} files", found.records, found.files);
        if found.records > 0 {
            let _ = writeln!(out, "from {} to {}", found.first, found.last);
            let _ = writeln!(
                out,
                "the last one, {}, has the hash {}",
                found.seq, found.hash
            );
        }
        if found.cut > 0 {
            let _ = writeln!(out, "{} lines were cut off when a process ended", found.cut);
        }
        out += if is_whole {
            "the log is as it was written\n"
        } else {
            "THE LOG WAS CHANGED\n"
        };
        print(&out)?;
    }
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Where the reading of the log has come to.
#[derive(Clone, Copy)]
struct Position {
    number: u64,
    at: u64,
}

/// Prints the records from a position on; returns the one behind them, or why they could not be printed.
fn show(
    folder: &Path,
    options: &Options,
    from: Option<Position>,
) -> store::Result<io::Result<Position>> {
    let mut position = from.unwrap_or(Position { number: 0, at: 0 });
    let mut last = VecDeque::new();
    let mut out = io::stdout().lock();
    for number in log_files::numbers(folder)? {
        let at = match number.cmp(&position.number) {
            Ordering::Less => continue,
            Ordering::Equal => position.at,
            Ordering::Greater => 0,
        };
        let path = log_files::path_of(folder, number);
        log_files::check_format(&path)?;
        let Some(mut lines) = Lines::open(&path, at)? else {
            continue;
        };
        while let Some((line, ending)) = lines.next().map_err(Error::io("read", &path))? {
            let shown = match Record::read(&line) {
                _ if ending == Ending::None => break,
                Ok((record, _)) if options.fits(&record) => options.shown(&record, &line),
                Err(why) if options.filters.is_empty() => format!("{}: {why}\n", path.display()),
                _ => continue,
            };
            match options.last.filter(|_| from.is_none()) {
                None => {
                    if let Err(error) = out.write_all(shown.as_bytes()) {
                        return Ok(Err(error));
                    }
                }
                Some(count) => {
                    last.push_back(shown);
                    if last.len() > count {
                        last.pop_front();
                    }
                }
            }
        }
        position = Position {
            number,
            at: lines.at,
        };
    }
    let last: String = last.into_iter().collect();
    let written = out.write_all(last.as_bytes()).and_then(|()| out.flush());
    Ok(written.map(|()| position))
}

/// Prints records until they cannot be printed; returns why.
fn follow(folder: &Path, options: &Options) -> store::Result<io::Error> {
    let begin = Options {
        filters: options.filters.clone(),
        since: options.since.clone(),
        last: options.last.or(Some(10)),
        as_json: options.as_json,
    };
    let mut shown = show(folder, &begin, None)?;
    loop {
        let position = match shown {
            Ok(position) => position,
            Err(error) => return Ok(error),
        };
        thread::sleep(INTERVAL);
        shown = show(folder, options, Some(position))?;
    }
}

impl Options {
    fn fits(&self, record: &Record<'_>) -> bool {
        let is_it = |(name, wanted): &(&str, String)| match *name {
            "kind" => record.kind == *wanted,
            "session" => record.session == *wanted,
            "extension" => record.extension == *wanted,
            "subject" => record.subject.contains(wanted.as_str()),
            "key" => record.key == *wanted,
            "front" => record.front == *wanted,
            _ => record.outcome == *wanted,
        };
        self.filters.iter().all(is_it) && *record.time >= *self.since
    }

    /// The record for a person, or its line with everything invisible escaped.
    fn shown(&self, record: &Record<'_>, line: &[u8]) -> String {
        if self.as_json {
            return printable(&String::from_utf8_lossy(line), usize::MAX) + "\n";
        }
        let (time, kind) = (word(&record.time), word(&record.kind));
        let mut out = format!("{time} {:>5} {kind:<9}", record.seq);
        add(&mut out, " ", &record.front);
        add(&mut out, "/", &record.key);
        add(&mut out, " ", &record.address);
        add(&mut out, " session ", &record.session);
        if let Some(turn) = record.turn {
            add(&mut out, " turn ", &turn.to_string());
        }
        add(&mut out, " request ", &record.request);
        add(&mut out, " ", &record.extension);
        add(&mut out, " ", &record.subject);
        add(&mut out, " ", &record.file);
        if let Some(Arguments { shape, value, .. }) = &record.arguments {
            match value {
                Some(value) => add(&mut out, " = ", value),
                None => {
                    if let Some(shape) = shape.recorded() {
                        let shape = printable(&shape.to_string(), MAX_SHOWN);
                        let _ = write!(out, " {shape}");
                    }
                }
            }
        }
        add(&mut out, " ", &record.decision);
        add(&mut out, " by ", &record.by);
        add(&mut out, ": ", &record.outcome);
        if let Some(of) = record.of {
            add(&mut out, " of ", &of.to_string());
        }
        if let Some(ms) = record.ms {
            let _ = write!(out, " after {ms} ms");
        }
        if let Some(bytes) = record.bytes {
            let _ = write!(out, ", {bytes} bytes");
        }
        if !record.detail.is_empty() {
            let _ = write!(out, " ({})", printable(&record.detail, MAX_SHOWN));
        }
        out.push('\n');
        out
    }
}

/// Appends a word and what comes before it, if there is one.
fn add(out: &mut String, before: &str, text: &str) {
    if !text.is_empty() {
        let _ = write!(out, "{before}{}", word(text));
    }
}

/// A text of a record, in quotes if it could be read as several words.
fn word(text: &str) -> String {
    quoted(&printable(text, MAX_SHOWN))
}
