//! What the commands of all parts share: their type, their failures, logging, and listening for HTTP.

pub mod logging;
pub mod serve;
pub mod tls;

use crate::store::Paths;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};

/// A command.
pub struct Command {
    /// What follows `gosling` on the command line.
    pub name: &'static str,
    /// What it does, in half a line.
    pub summary: &'static str,
    /// What `gosling NAME --help` prints.
    pub help: &'static str,
    /// Runs it with the rest of the command line and the key of the server.
    pub run: fn(lexopt::Parser, Option<String>) -> Result<(), Failure>,
}

/// Why a command failed, or did not begin.
pub enum Failure {
    /// The help of the command is wanted: exit code 0.
    Help,
    /// The command line is invalid: exit code 2.
    Usage(String),
    /// The command failed: exit code 1.
    Failed(String),
    /// The command failed and has printed the reason: exit code 1.
    Reported,
    /// A signal ended the command: this exit code.
    Signalled(u8),
    /// A server could not be checked: exit code 2.
    NotChecked(String),
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

/// For `map_err`: adds what was attempted to an error.
pub fn failed<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Failure {
    move |error| Failure::Failed(format!("{what}: {error}"))
}

/// The paths of the user's files.
pub fn paths() -> Result<Paths, Failure> {
    Paths::from_env().map_err(failed("no folder for files"))
}

/// Prints to stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    printed(written.and_then(|()| stdout.flush()))
}

/// What comes of writing to stdout. That its reader has gone is not an error.
pub fn printed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(failed("stdout cannot be written")),
    }
}

/// The remaining arguments, none of which is parsed as an option.
pub fn rest(parser: &mut lexopt::Parser) -> Result<Vec<OsString>, Failure> {
    Ok(parser.raw_args()?.collect())
}

/// An argument as text.
///
/// # Errors
/// When it is not Unicode.
pub fn text(value: OsString) -> Result<String, Failure> {
    let text = value.into_string();
    text.map_err(|value| Failure::Usage(format!("{value:?} is not Unicode")))
}
