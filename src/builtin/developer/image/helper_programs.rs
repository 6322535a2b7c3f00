//! Runs the programs that tools need, such as ImageMagick. They are searched for in the `PATH` of the user's
//! shell, get no input, and end with the call or at its time limit.

use crate::developer::child_output::{ChildOutput, Source};
use crate::developer::{Developer, login_shell_path, user_shell};
use crate::mcp::server::{Context, ToolError};
use crate::sys;
use crate::sys::Family;
use crate::sys::cancel::Cancel;
use crate::sys::pipe::PipeReader;
use crate::sys::process::{Command, Grace, Process};
use gosling_core::text::printable;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time limit for all programs of one call together.
const MAX_TIME: Duration = Duration::from_secs(60);
/// The time limit for a program that is asked for its version.
const MAX_PROBE: Duration = Duration::from_secs(10);
/// How much of stdout and of stderr is kept, in bytes.
const MAX_OUTPUT: usize = 2 << 20;
const MAX_ERROR_TEXT: usize = 4 << 10;
/// The longest error text that is passed on, in characters.
const MAX_SHOWN: usize = 500;
/// How often a cancelled call is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How many polls may find output after the program has exited: its descendants may go on writing.
const LAST_READS: usize = 64;
/// How many bytes are read at once.
const READ_BUFFER: usize = 16 << 10;
/// How long a program may run on after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// Starts the programs of one call.
pub(crate) struct Programs<'a> {
    family: Arc<Family>,
    until: Instant,
    cancel: &'a Cancel,
}

/// The result of a program that has run to its end.
pub(crate) struct ProgramOutput {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl ProgramOutput {
    /// The stderr, or the stdout if that is blank, on one line.
    pub(crate) fn error_text(&self) -> String {
        let text = if self.stderr.trim_ascii().is_empty() {
            &self.stdout
        } else {
            &self.stderr
        };
        let text = String::from_utf8_lossy(&text[..text.len().min(MAX_ERROR_TEXT)]);
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            "it gave no reason".to_owned()
        } else {
            printable(&words.join(" "), MAX_SHOWN)
        }
    }
}

impl<'a> Programs<'a> {
    /// Creates it for a call, whose time limit begins now.
    pub(crate) fn new(developer: &Developer, context: &'a Context) -> Result<Self, ToolError> {
        let family = developer
            .family()
            .map_err(|error| ToolError::Failed(format!("No program can be started: {error}.")))?;
        Ok(Programs {
            family,
            until: Instant::now() + MAX_TIME,
            cancel: context.cancel(),
        })
    }

    /// The `PATH` to search. The first call waits for the login shell.
    fn path(&self) -> &'static OsString {
        login_shell_path::path(&user_shell::shell())
    }

    /// The programs of this name, in the order of the `PATH`.
    pub(crate) fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = PathBuf> + 'n {
        let name = format!("{name}{}", env::consts::EXE_SUFFIX);
        env::split_paths(self.path())
            .filter(|folder| folder.is_absolute())
            .map(move |folder| folder.join(&name))
            .filter(|program| sys::is_executable(program))
    }

    /// The ImageMagick program `convert` or `import`. Other programs have these names, too, so each candidate
    /// is asked for its version.
    ///
    /// # Errors
    /// When the call is cancelled.
    pub(crate) fn imagemagick(&self, name: &str) -> Result<Option<Command>, ToolError> {
        for known_as in ["magick", name] {
            for program in self.all(known_as) {
                if self.is_imagemagick(&program)? {
                    let mut command = Command::new(program);
                    // `magick` converts by default.
                    if known_as != name && name != "convert" {
                        command.arg(name);
                    }
                    return Ok(Some(command));
                }
            }
        }
        Ok(None)
    }

    fn is_imagemagick(&self, program: &Path) -> Result<bool, ToolError> {
        let mut command = Command::new(program);
        command.arg("-version");
        let until = self.until.min(Instant::now() + MAX_PROBE);
        let done = self.run_until(command, until);
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let says = |done: ProgramOutput| done.stdout.starts_with(b"Version: ImageMagick");
        Ok(done.is_ok_and(says))
    }

    /// Runs a program to its end, without input.
    ///
    /// # Errors
    /// When it cannot be started, takes too long, or the call is cancelled. A failure of the program itself
    /// is not an error.
    pub(crate) fn run(&self, command: Command) -> Result<ProgramOutput, ToolError> {
        self.run_until(command, self.until)
    }

    fn run_until(&self, mut command: Command, until: Instant) -> Result<ProgramOutput, ToolError> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let name = name(&command);
        let too_long = || {
            ToolError::Failed(format!(
                "{name} took too long and was ended. Try a smaller input, or find out with `shell` why it \
                 takes so long."
            ))
        };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut => too_long(),
            io::ErrorKind::Interrupted => cancelled(),
            _ => ToolError::Failed(format!("{name} could not be run: {error}.")),
        };
        command.env("PATH", self.path());
        let limit = Some(until.saturating_duration_since(Instant::now()));
        let started = Process::spawn_in(&self.family, command, limit, self.cancel);
        let (process, pipes) = started.map_err(failed)?;
        drop(pipes.stdin);
        let process = Arc::new(process);
        let out = PipeReader::new(pipes.stdout);
        let err = PipeReader::new(pipes.stderr);
        let mut output = ChildOutput::new(process.clone(), out, err, READ_BUFFER, LAST_READS);
        let mut stdout = Vec::new();
        let mut stderr = Vec::new();
        let mut keep = |source, bytes: &[u8]| match source {
            Source::Stdout => append_limited(&mut stdout, bytes, MAX_OUTPUT),
            Source::Stderr => append_limited(&mut stderr, bytes, MAX_ERROR_TEXT),
        };
        loop {
            let now = Instant::now();
            let is_cancelled = self.cancel.is_cancelled();
            if is_cancelled || now >= until {
                process.end(Grace {
                    stdin: Duration::ZERO,
                    term: TERM_GRACE,
                });
                return Err(if is_cancelled {
                    cancelled()
                } else {
                    too_long()
                });
            }
            if output.poll(POLL_INTERVAL.min(until - now), &mut keep) {
                break;
            }
        }
        process.leave(&self.family);
        Ok(ProgramOutput {
            success: process.status().is_some_and(|status| status.success()),
            stdout,
            stderr,
        })
    }
}

/// Appends bytes until there are `max`.
fn append_limited(kept: &mut Vec<u8>, bytes: &[u8], max: usize) {
    let room = max - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// The file name of a program, for messages.
pub(crate) fn name(command: &Command) -> String {
    let program = Path::new(command.program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}

fn cancelled() -> ToolError {
    ToolError::Failed("Cancelled.".to_owned())
}

#[cfg(test)]
mod tests;
