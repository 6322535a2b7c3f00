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
    let outcome = match command.to_str() {
        #[cfg(feature = "acp")]
        Some("acp") => acp::run(parser),
        Some("agent") => agent::run(parser, server_key),
        #[cfg(feature = "chat")]
        Some("chat") => chat::run(parser),
        #[cfg(feature = "check")]
        Some("check") => check::run(parser),
        #[cfg(feature = "deeplinks")]
        Some("deeplink") => deeplink::run(parser),
        #[cfg(feature = "demo")]
        Some("demo") => demo::run(parser),
        #[cfg(feature = "chat")]
        Some("call") => call::run(parser),
        #[cfg(feature = "chat")]
        Some("extensions") => extensions::run(parser),
        #[cfg(all(feature = "chat", feature = "recipes"))]
        Some("run") => run::run(parser),
        #[cfg(feature = "recipes")]
        Some("recipe") => recipe::run(parser),
        #[cfg(feature = "schedules")]
        Some("schedule") => schedule::run(parser),
        #[cfg(feature = "builtin")]
        Some("mcp") => mcp::run(parser),
        #[cfg(feature = "screening")]
        Some("advisories") => advisories::run(parser),
        Some("help") => help::run(parser),
        name => {
            let hint = match name {
                Some(name @ ("acp" | "chat" | "check" | "demo")) => features::hint(name),
                Some("advisories") => features::hint("screening"),
                Some("call" | "extensions") => features::hint("chat"),
                Some("deeplink") => features::hint("deeplinks"),
                Some("recipe") => features::hint("recipes"),
                Some("schedule") => features::hint("schedules"),
                Some("run") => match features::hint("chat") {
                    hint if hint.is_empty() => features::hint("recipes"),
                    hint => hint,
                },
                Some("mcp") => {
                    let server = rest(&mut parser)?.into_iter().next().unwrap_or_default();
                    features::hint_among(features::SERVERS, &server.to_string_lossy())
                }
                _ => String::new(),
            };
            let reason = format!("there is no command {command:?}{hint}");
            return Err(Failure::Usage(reason + HINT));
        }
    };
    outcome.map_err(|failure| match failure {
        Failure::Usage(reason) => {
            let command = command.to_string_lossy();
            Failure::Usage(format!("{reason}\ntry `gosling {command} --help`"))
        }
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
