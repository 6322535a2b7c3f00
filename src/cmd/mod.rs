//! The command line, with one file for each command.
//!
//! Exit codes: 0 for success, 1 for a failed command, 2 for an invalid command line, and 128 plus the number of
//! the signal that ended the command.

#[cfg(feature = "acp")]
mod acp;
#[cfg(feature = "screening")]
mod advisories;
mod agent;
#[cfg(feature = "demo")]
mod api_client;
#[cfg(feature = "chat")]
mod call;
#[cfg(feature = "chat")]
mod chat;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "deeplinks")]
mod deeplink;
#[cfg(feature = "demo")]
mod demo;
#[cfg(feature = "chat")]
mod extensions;
mod help;
mod logging;
#[cfg(feature = "builtin")]
mod mcp;
#[cfg(feature = "recipes")]
mod recipe;
#[cfg(all(feature = "chat", feature = "recipes"))]
mod run;
#[cfg(feature = "schedules")]
mod schedule;
mod serve;
mod tls;

use crate::features;
use crate::store::Paths;
use crate::sys;
use crate::sys::process::SERVER_KEY;
use crate::text::strip_invisible;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// A command.
struct Command {
    name: &'static str,
    /// What it does, in half a line.
    summary: &'static str,
    /// What `gosling NAME --help` prints.
    help: &'static str,
    /// Runs it with the rest of the command line and the key of the server.
    run: fn(lexopt::Parser, Option<String>) -> Result<(), Failure>,
}

/// The commands of this build, in the order of the help.
const COMMANDS: &[Command] = &[
    agent::COMMAND,
    #[cfg(feature = "chat")]
    chat::COMMAND,
    #[cfg(feature = "acp")]
    acp::COMMAND,
    #[cfg(feature = "demo")]
    demo::COMMAND,
    #[cfg(feature = "chat")]
    call::COMMAND,
    #[cfg(all(feature = "chat", feature = "recipes"))]
    run::COMMAND,
    #[cfg(feature = "recipes")]
    recipe::COMMAND,
    #[cfg(feature = "schedules")]
    schedule::COMMAND,
    #[cfg(feature = "deeplinks")]
    deeplink::COMMAND,
    #[cfg(feature = "chat")]
    extensions::COMMAND,
    #[cfg(feature = "check")]
    check::COMMAND,
    #[cfg(feature = "screening")]
    advisories::COMMAND,
    #[cfg(feature = "builtin")]
    mcp::COMMAND,
    help::COMMAND,
];

/// The features without which a build does not have a command.
const LEFT_OUT: &[(&str, &[&str])] = &[
    ("acp", &["acp"]),
    ("advisories", &["screening"]),
    ("call", &["chat"]),
    ("chat", &["chat"]),
    ("check", &["check"]),
    ("deeplink", &["deeplinks"]),
    ("demo", &["demo"]),
    ("extensions", &["chat"]),
    ("recipe", &["recipes"]),
    ("run", &["chat", "recipes"]),
    ("schedule", &["schedules"]),
];

/// Follows the error if the command is missing or unknown.
const HINT: &str = "\ntry `gosling --help`";

/// Why a command failed.
enum Failure {
    /// The command line is invalid: exit code 2.
    Usage(String),
    /// The command failed: exit code 1.
    Failed(String),
    /// The command failed and has printed the reason: exit code 1.
    #[cfg_attr(
        not(any(
            feature = "builtin",
            feature = "chat",
            feature = "check",
            feature = "deeplinks",
            feature = "recipes",
            feature = "screening"
        )),
        expect(dead_code, reason = "only commands that are left out print it")
    )]
    Reported,
    /// A signal ended the command: this exit code.
    #[cfg(feature = "chat")]
    Signalled(u8),
    /// A server could not be checked: exit code 2.
    #[cfg(feature = "check")]
    NotChecked(String),
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

/// For `map_err`: adds what was attempted to an error.
fn failed<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Failure {
    move |error| Failure::Failed(format!("{what}: {error}"))
}

/// The paths of the user's files.
fn paths() -> Result<Paths, Failure> {
    Paths::from_env().map_err(failed("no folder for files"))
}

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
    // Removed for every command: child processes could read the key in the environment and call the server
    // with it.
    let server_key = sys::take_variable(SERVER_KEY).filter(|key| !key.is_empty());
    std::panic::set_hook(Box::new(|panic| {
        let reason = panic.payload_as_str().unwrap_or("unknown");
        let _ = writeln!(io::stderr(), "gosling: internal error: {reason}");
    }));
    let (code, message) = match run(lexopt::Parser::from_env(), server_key) {
        Ok(()) => (0, None),
        Err(Failure::Reported) => (1, None),
        #[cfg(feature = "chat")]
        Err(Failure::Signalled(code)) => (code, None),
        Err(Failure::Failed(message)) => (1, Some(message)),
        #[cfg(feature = "check")]
        Err(Failure::NotChecked(message)) => (2, Some(message)),
        Err(Failure::Usage(message)) => (2, Some(message)),
    };
    if let Some(message) = message {
        logging::say(&format!("gosling: {}\n", strip_invisible(&message)));
    }
    log::logger().flush();
    ExitCode::from(code)
}

fn run(mut parser: lexopt::Parser, server_key: Option<String>) -> Result<(), Failure> {
    let command = match parser.next()? {
        None => return Err(Failure::Usage("no command given".to_owned() + HINT)),
        Some(Short('h') | Long("help")) => return print(&help::overview()),
        Some(Short('V') | Long("version")) => {
            return print(concat!("gosling ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        Some(Value(command)) => command,
        Some(other) => {
            let reason = other.unexpected().to_string();
            return Err(Failure::Usage(reason + HINT));
        }
    };
    let name = command.to_str().unwrap_or_default();
    let Some(found) = COMMANDS.iter().find(|it| it.name == name) else {
        let hint = if name == "mcp" {
            let server = rest(&mut parser)?.into_iter().next().unwrap_or_default();
            features::hint_among(features::SERVERS, &server.to_string_lossy())
        } else {
            let mut needed = LEFT_OUT.iter().filter(|(it, _)| *it == name);
            let needed = needed.next().map_or(&[][..], |(_, features)| features);
            let mut hints = needed.iter().map(|feature| features::hint(feature));
            hints.find(|hint| !hint.is_empty()).unwrap_or_default()
        };
        let reason = format!("there is no command {command:?}{hint}");
        return Err(Failure::Usage(reason + HINT));
    };
    let outcome = (found.run)(parser, server_key);
    outcome.map_err(|failure| match failure {
        Failure::Usage(reason) => Failure::Usage(format!("{reason}\ntry `gosling {name} --help`")),
        other => other,
    })
}

/// Prints to stdout. A closed stdout is not an error.
fn print(text: &str) -> Result<(), Failure> {
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// The remaining arguments, none of which is parsed as an option.
fn rest(parser: &mut lexopt::Parser) -> Result<Vec<OsString>, Failure> {
    Ok(parser.raw_args()?.collect())
}

fn text(value: OsString) -> Result<String, Failure> {
    value
        .into_string()
        .map_err(|value| Failure::Usage(format!("{value:?} is not Unicode")))
}
