//! The command line, with one file for each command.
//!
//! Exit codes: 0 for success, 1 for a failed command, 2 for an invalid command line or policy, and 128 plus the number of
//! the signal that ended the command.

mod agent;
mod help;

use crate::features;
use crate::parts::PARTS;
use crate::sys;
use crate::sys::process::SERVER_KEY;
use crate::text::strip_invisible;
use gosling_core::command_line::{Command, Failure, logging, print, rest};
use gosling_core::{activity, part};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The commands that every build has.
const COMMANDS: [&Command; 2] = [&agent::COMMAND, &help::COMMAND];

/// The names of all commands in the order of the help, and the features that a build needs to have them.
const NAMES: &[(&str, &[&str])] = &[
    ("agent", &[]),
    ("chat", &["chat"]),
    ("acp", &["acp"]),
    ("demo", &["demo"]),
    ("call", &["chat"]),
    ("run", &["chat", "recipes"]),
    ("recipe", &["recipes"]),
    ("schedule", &["schedules"]),
    ("deeplink", &["deeplinks"]),
    ("extensions", &["chat"]),
    ("models", &["openai"]),
    ("check", &["check"]),
    ("advisories", &["screening"]),
    ("audit", &["audit"]),
    ("keys", &["keys"]),
    ("policy", &["policy"]),
    ("info", &["info"]),
    ("backup", &["backup"]),
    ("restore", &["backup"]),
    ("service", &["service"]),
    ("version", &["release"]),
    ("verify-release", &["release"]),
    ("mcp", &[]),
    ("help", &[]),
];

/// The command of this name, if this build has it.
fn command(name: &str) -> Option<&'static Command> {
    let of_parts = PARTS.iter().flat_map(|part| part.commands);
    let mut all = COMMANDS.into_iter().chain(of_parts);
    all.find(|command| command.name == name)
}

/// The commands of this build, in the order of the help.
fn commands() -> impl Iterator<Item = &'static Command> {
    NAMES.iter().filter_map(|(name, _)| command(name))
}

/// Follows the error if the command is missing or unknown.
const HINT: &str = "\ntry `gosling --help`";

/// Runs the command of this process.
pub fn main() -> ExitCode {
    sys::limit_allocator_arenas();
    sys::signal::reset_inherited();
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == sys::guardian::COMMAND)
    {
        let mark = arguments.next().unwrap_or_default();
        return sys::guardian::run(&mark.to_string_lossy());
    }
    sys::guardian::enable();
    if let Err(error) = sys::own_all_children() {
        logging::say(&format!(
            "gosling: what others leave is not reaped: {error}\n"
        ));
    }
    part::set(PARTS);
    // Removed for every command: child processes could read the key in the environment and call the server
    // with it.
    let server_key = sys::take_variable(SERVER_KEY).filter(|key| !key.is_empty());
    std::panic::set_hook(Box::new(|panic| {
        let reason = panic.payload_as_str().unwrap_or("unknown");
        let _ = writeln!(io::stderr(), "gosling: internal error: {reason}");
    }));
    let (code, message) = match run(lexopt::Parser::from_env(), server_key) {
        Ok(()) | Err(Failure::Help) => (0, None),
        Err(Failure::Reported) => (1, None),
        Err(Failure::Signalled(code)) => (code, None),
        Err(Failure::Failed(message)) => (1, Some(message)),
        Err(Failure::NotChecked(message) | Failure::Usage(message)) => (2, Some(message)),
    };
    if let Some(message) = message {
        logging::say(&format!("gosling: {}\n", strip_invisible(&message)));
    }
    log::logger().flush();
    ExitCode::from(code)
}

/// Opens the policy: the file of the option `--policy`, which every command has, else that of the system. Returns the
/// other arguments.
fn with_policy(command: &str, arguments: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let (mut file, mut others) = (None, Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let given = match argument.as_encoded_bytes().strip_prefix(b"--policy") {
            Some(b"") => arguments.next(),
            Some([b'=', ..]) => argument.to_str().map(|it| it["--policy=".len()..].into()),
            _ => {
                // What follows may be the command line of a server.
                let is_end = argument == "--" || matches!(command, "check" | "demo");
                others.push(argument);
                if is_end {
                    others.extend(arguments);
                    break;
                }
                continue;
            }
        };
        let given = given.filter(|given| !given.is_empty() && file.is_none());
        let wrong = || Failure::Usage("--policy needs the path of a file, once".to_owned());
        file = Some(PathBuf::from(given.ok_or_else(wrong)?));
    }
    part::open_policy(file.as_deref()).map_err(Failure::NotChecked)?;
    Ok(others)
}

fn run(mut parser: lexopt::Parser, server_key: Option<String>) -> Result<(), Failure> {
    let word = match parser.next()? {
        None => return Err(Failure::Usage("no command given".to_owned() + HINT)),
        Some(Short('h') | Long("help")) => return print(&help::overview()),
        Some(Short('V') | Long("version")) => {
            return print(concat!("gosling ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        Some(Value(command)) => command,
        Some(other) => return Err(Failure::Usage(other.unexpected().to_string() + HINT)),
    };
    let name = word.to_str().unwrap_or_default();
    let Some(found) = command(name) else {
        let hint = if name == "mcp" {
            let server = rest(&mut parser)?.into_iter().next().unwrap_or_default();
            features::hint_among(features::SERVERS, &server.to_string_lossy())
        } else {
            let named = NAMES.iter().filter(|(it, _)| *it == name);
            let mut hints = named.flat_map(|(_, all)| all.iter().map(|it| features::hint(it)));
            hints.find(|hint| !hint.is_empty()).unwrap_or_default()
        };
        let reason = format!("there is no command {word:?}{hint}");
        return Err(Failure::Usage(reason + HINT));
    };
    activity::set_front(found.name);
    let arguments = rest(&mut parser)?;
    let parser = lexopt::Parser::from_args(match name {
        "help" | "info" | "policy" | "verify-release" | "version" => arguments,
        _ => with_policy(name, arguments)?,
    });
    match (found.run)(parser, server_key) {
        Err(Failure::Help) => print(found.help),
        Err(Failure::Usage(reason)) => {
            let reason = format!("{reason}\ntry `gosling {name} --help`");
            Err(Failure::Usage(reason))
        }
        outcome => outcome,
    }
}
