//! `gosling keys`: adds, lists, rotates and revokes keys of clients.

use crate::activity::{Activity, Entry as Record};
use crate::agent::Stores;
use crate::command_line::{Command, Failure, failed, logging, paths, print, text};
use crate::key_file::{Entry, Key, KeyFile, check_name, check_own_sessions, read_end};
use crate::key_text::{draw, hash};
use crate::roles::Role;
use crate::store;
use crate::sys::clock::{Utc, now_rfc3339, unix_seconds};
use crate::text::printable;
use gosling_shared::{missing, print_all};
use lexopt::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

pub(crate) const COMMAND: Command = Command {
    name: "keys",
    summary: "add, list, rotate and revoke keys of clients",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling keys add NAME --role ROLE [--expires WHEN] [--sessions own|all]
       gosling keys list [--json]
       gosling keys rotate NAME [--expires WHEN]
       gosling keys revoke NAME
example: gosling keys add grafana --role metrics --expires 90d

Each key has a name and says what its client may do. The key itself is printed
once, when it is made; gosling keeps its hash, in config/keys.yaml. A running
server knows at once.

subcommands:
  add      make a key
  list     print the names, the roles and when the keys end
  rotate   make another key of the same name; the old one is invalid then
  revoke   remove a key, and end its connections

options:
  --role ROLE       what the client may do, each including those before:
                    metrics, read, chat, configure or admin
  --expires WHEN    when the key ends: 12h, 30d, 4w, or a time like 2027-01-31
                    or 2027-01-31T12:00:00Z
  --sessions WHICH  own: only the sessions that the client has begun, for read
                    and chat; all, the default
  --json            print the list as JSON
  -h, --help        show this

exit codes: 0 done, 1 the file cannot be read or written, or there is no such
key, 2 the command line makes no sense
";

/// The options of all subcommands.
#[derive(Default)]
struct Options {
    name: Option<String>,
    role: Option<Role>,
    expires: Option<Utc>,
    own_sessions: bool,
    as_json: bool,
}

/// What becomes of a key.
enum Change {
    Added,
    Rotated,
    Revoked,
}

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let subcommand = match parser.next()? {
        None => return Err(missing("subcommand")),
        Some(Short('h') | Long("help")) => return print(HELP),
        Some(Value(word)) => text(word)?,
        Some(other) => return Err(other.unexpected().into()),
    };
    let known = ["add", "list", "rotate", "revoke"];
    if !known.contains(&subcommand.as_str()) {
        let reason = format!(
            "there is no subcommand {subcommand:?}; there are add, list, rotate and revoke"
        );
        return Err(Failure::Usage(reason));
    }
    let options = Options::read(parser, &subcommand)?;
    let paths = paths()?;
    let file = KeyFile::of(&paths);
    if subcommand == "list" {
        return list(&file, options.as_json);
    }
    let name = options.name.as_deref().ok_or_else(|| missing("name"))?;
    let activity = Stores::new(&paths).activity;
    match &*subcommand {
        "add" => add(&file, &activity, name, &options),
        "rotate" => rotate(&file, &activity, name, options.expires),
        _ => revoke(&file, &activity, name),
    }
}

impl Options {
    fn read(mut parser: lexopt::Parser, subcommand: &str) -> Result<Options, Failure> {
        let mut options = Options::default();
        let usage = |option: &str, why: String| Failure::Usage(format!("--{option}: {why}"));
        while let Some(argument) = parser.next()? {
            match argument {
                Short('h') | Long("help") => return Err(Failure::Help),
                Long("json") if subcommand == "list" => options.as_json = true,
                Long("role") if subcommand == "add" => {
                    let name = text(parser.value()?)?;
                    let role = Role::named(&name);
                    options.role = Some(role.ok_or_else(|| {
                        let why = format!(
                            "{name:?} is not one of metrics, read, chat, configure and admin"
                        );
                        usage("role", why)
                    })?);
                }
                Long("expires") if ["add", "rotate"].contains(&subcommand) => {
                    let end = read_end(&text(parser.value()?)?, unix_seconds());
                    options.expires = Some(end.map_err(|why| usage("expires", why))?);
                }
                Long("sessions") if subcommand == "add" => {
                    options.own_sessions = match &*text(parser.value()?)? {
                        "own" => true,
                        "all" => false,
                        other => {
                            let why = format!("{other:?} is neither own nor all");
                            return Err(usage("sessions", why));
                        }
                    };
                }
                Value(name) if subcommand != "list" && options.name.is_none() => {
                    options.name = Some(text(name)?);
                }
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }
}

fn add(file: &KeyFile, activity: &Activity, name: &str, options: &Options) -> Result<(), Failure> {
    let refused = |why: String| Failure::Usage(format!("key {name:?}: {why}"));
    check_name(name).map_err(refused)?;
    let role = options.role.ok_or_else(|| missing("--role"))?;
    if options.own_sessions {
        check_own_sessions(role).map_err(refused)?;
    }
    let secret = draw().map_err(failed("no random key"))?;
    let key = Key {
        name: name.to_owned(),
        role,
        hash: hash(&secret),
        created: now_rfc3339(),
        expires: options.expires,
        own_sessions: options.own_sessions,
    };
    let mut print = PrintOnce::new(&secret);
    let added = recorded(activity, name, &Change::Added, &shown(&key), || {
        file.add(&key, |key| print.print(key))
    });
    print.end(added)
}

fn rotate(
    file: &KeyFile,
    activity: &Activity,
    name: &str,
    expires: Option<Utc>,
) -> Result<(), Failure> {
    let secret = draw().map_err(failed("no random key"))?;
    let until = expires.map_or_else(String::new, |end| format!("until {end}"));
    let mut print = PrintOnce::new(&secret);
    let rotated = recorded(activity, name, &Change::Rotated, &until, || {
        file.rotate(name, hash(&secret), expires, |key| print.print(key))
    });
    print.end(rotated)
}

fn revoke(file: &KeyFile, activity: &Activity, name: &str) -> Result<(), Failure> {
    recorded(activity, name, &Change::Revoked, "", || file.remove(name))
}

/// Changes the file after the change was recorded.
fn recorded<T>(
    activity: &Activity,
    name: &str,
    change: &Change,
    detail: &str,
    work: impl FnOnce() -> store::Result<T>,
) -> Result<T, Failure> {
    let mut record = Record {
        extension: "keys.yaml",
        subject: name,
        outcome: match change {
            Change::Added => "added",
            Change::Rotated => "rotated",
            Change::Revoked => "revoked",
        },
        detail,
        ..Record::new("setting", "")
    };
    activity
        .record(&record)
        .map_err(failed("nothing was changed"))?;
    work().map_err(|error| {
        record.outcome = "failed";
        activity.note(record);
        failed("nothing was changed")(error)
    })
}

/// What a key may do and until when.
fn shown(key: &Key) -> String {
    let mut out = key.role.to_string();
    if key.own_sessions {
        out += ", own sessions";
    }
    if let Some(end) = key.expires {
        let _ = write!(out, ", until {end}");
    }
    out
}

/// Prints the text of a key before the key takes effect, so that none has one that was never shown.
struct PrintOnce<'a> {
    secret: &'a str,
    is_printed: bool,
}

impl<'a> PrintOnce<'a> {
    fn new(secret: &'a str) -> Self {
        PrintOnce {
            secret,
            is_printed: false,
        }
    }

    /// Prints it alone to stdout, for scripts, and to stderr what it is.
    fn print(&mut self, key: &Key) -> store::Result<()> {
        if self.is_printed {
            return Ok(());
        }
        let (name, shown) = (&key.name, shown(key));
        logging::say(&format!(
            "the key {name} ({shown}); it is not shown again:\n"
        ));
        let printed = print_all(&format!("{}\n", self.secret));
        printed.map_err(store::Error::io("write to", Path::new("stdout")))?;
        self.is_printed = true;
        Ok(())
    }

    /// What comes of the change.
    fn end(&self, changed: Result<(), Failure>) -> Result<(), Failure> {
        match changed {
            Err(Failure::Failed(why)) if self.is_printed => {
                let why = format!("{why}; the key that was printed is not valid");
                Err(Failure::Failed(why))
            }
            changed => changed,
        }
    }
}

fn list(file: &KeyFile, as_json: bool) -> Result<(), Failure> {
    let entries = file.entries().map_err(failed("no list of keys"))?;
    if as_json {
        let all: Value = entries.iter().map(to_json).collect();
        return print(&format!("{all:#}\n"));
    }
    let mut rows = vec![["name", "role", "sessions", "created", "expires"].map(str::to_owned)];
    let mut invalid = String::new();
    for entry in entries.iter() {
        match entry {
            Ok(key) => rows.push([
                key.name.clone(),
                key.role.to_string(),
                if key.own_sessions { "own" } else { "all" }.to_owned(),
                key.created.clone(),
                match key.expires {
                    None => "never".to_owned(),
                    Some(end) if key.is_expired() => format!("{end} (expired)"),
                    Some(end) => end.to_string(),
                },
            ]),
            Err((name, reason)) => {
                let name = printable(name, 64);
                let _ = writeln!(invalid, "{name:?} is not valid: {reason}");
            }
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut out = String::new();
    for row in &rows {
        for (text, width) in row.iter().zip(widths) {
            let _ = write!(out, "{text:width$}  ");
        }
        let _ = writeln!(out, "{}", row[4]);
    }
    print(&(out + &invalid))
}

fn to_json(entry: &Entry) -> Value {
    match entry {
        Ok(key) => json!({
            "name": key.name, "role": key.role, "created": key.created,
            "sessions": if key.own_sessions { "own" } else { "all" },
            "expires": key.expires.map(|end| end.to_string()), "is_expired": key.is_expired(),
        }),
        Err((name, reason)) => json!({"name": printable(name, 64), "invalid": reason}),
    }
}
