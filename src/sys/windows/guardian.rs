//! Windows needs no guardian: the system ends the processes of a job when the process that holds the job ends,
//! however that comes about.

use std::process::ExitCode;

/// The hidden command that runs a program as a guardian on Unix.
pub const COMMAND: &str = "__guardian";

/// Does nothing.
pub fn enable() {}

/// There is nothing to guard.
pub fn run(_: &str) -> ExitCode {
    ExitCode::FAILURE
}
