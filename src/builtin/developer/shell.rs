//! `shell`: runs a command in the user's shell.

use super::child_output::Source;
use super::run_command::{self, CommandResult, End, KEPT_TAIL, MAX_OUTPUT, Signal};
use super::{Developer, login_shell_path, text_editor, user_shell};
use crate::call_context::{session_id, working_dir};
use crate::mcp::server::{Context, Level, Tool, ToolError};
use crate::mcp::types::CallToolResult;
use crate::sys::Family;
use crate::sys::TimeLimit;
use crate::sys::cancel::Cancel;
use crate::sys::process::Command;
use crate::{ClientWorkspace, TerminalCommand};
use gosling_core::builtin::ShellCheck;
use gosling_core::extension::environment::Inherited;
use gosling_core::extension::{offline_variables, sandbox};
use gosling_core::text::printable;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest name of a signal that is shown, in characters.
const MAX_SIGNAL: usize = 40;
/// How many lines of the output the user is shown.
const SHOWN_LINES: usize = 100;
/// How much of the output of a failed check is quoted, in bytes.
const CHECK_OUTPUT: usize = 500;

/// Replaces editors: a command that waits for input in an editor would never end.
const FAILING_EDITOR: &str =
    "sh -c 'echo no editor is available here: pass the text on the command line >&2; exit 1'";

/// The longest command, in bytes: with the terminating NUL, the longest argument that Linux accepts.
pub(super) const MAX_COMMAND: usize = (128 << 10) - 1;

/// What to do when the arguments and the environment of a command are too long together.
const TOO_LONG: &str = ". Write the command to a file with text_editor and run that";

#[derive(Deserialize)]
struct Shell {
    command: String,
    timeout_secs: Option<f64>,
}

/// The structured content of a result.
#[derive(Serialize)]
struct Outcome<'r> {
    exit_code: Option<i32>,
    signal: Option<&'r Signal>,
    truncated: bool,
    duration_ms: u64,
    /// The text again, for a client that shows a model only the structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

pub(super) fn tool(developer: &Arc<Developer>) -> Tool {
    Tool::sharing(developer, include_str!("shell.json"), Developer::shell)
}

impl Shell {
    fn check_command(&self) -> Result<(), ToolError> {
        let refused = |text: &str| Err(ToolError::Refused(text.to_owned()));
        if self.command.trim().is_empty() {
            return refused("`command` is empty; say what to run");
        }
        if self.command.contains('\0') {
            return refused(
                "`command` has a NUL character in it, which shells do not accept; write \\0 for `printf`",
            );
        }
        if let Some(why) = user_shell::refusal(&self.command) {
            return refused(why);
        }
        if self.command.len() > MAX_COMMAND {
            return refused(&format!(
                "`command` is too long to run: it has more than {MAX_COMMAND} bytes; write it to a file \
                 with text_editor and run that"
            ));
        }
        Ok(())
    }

    fn time_limit(&self) -> Result<Option<Duration>, ToolError> {
        let Some(seconds) = self.timeout_secs else {
            return Ok(None);
        };
        let limit = duration(seconds).filter(|limit| !limit.is_zero());
        limit.map(Some).ok_or_else(|| {
            ToolError::Refused("`timeout_secs` is a number of seconds, more than 0".to_owned())
        })
    }
}

/// This many seconds, at most [`TimeLimit::LONGEST`]; `None` if negative or not finite.
fn duration(seconds: f64) -> Option<Duration> {
    let counts = seconds.is_finite() && seconds >= 0.0;
    counts.then(|| Duration::from_secs_f64(seconds.min(TimeLimit::LONGEST.as_secs_f64())))
}

impl Developer {
    fn shell(&self, args: &Shell, context: &Context) -> Result<CallToolResult, ToolError> {
        args.check_command()?;
        let dir = working_dir(context).map_err(ToolError::Refused)?;
        let ignore_rules = self.ignore_rules(&dir);
        let cancel = context.cancel();
        let allowed = ignore_rules
            .and_then(|ignore_rules| ignore_rules.allows_command(&args.command, &dir, cancel));
        allowed.map_err(ToolError::Refused)?;
        let limit = args.time_limit()?;
        let failed = |error: std::io::Error| {
            let more = match error.kind() {
                ErrorKind::ArgumentListTooLong => TOO_LONG,
                _ => "",
            };
            ToolError::Failed(format!("The shell could not be started: {error}{more}."))
        };
        let id = session_id(context);
        let command = shell_command(&args.command, &dir, id, &self.config, self.offline);
        if let Some(result) = self.run_in_terminal(&args.command, &command, limit, context) {
            return result;
        }
        let family = self.family().map_err(failed)?;
        let mut tell = |source: Source, line: &str| {
            let data = json!({"type": "shell_output", "stream": source.name(), "output": line});
            context.log_as("shell_tool", Level::Info, data);
        };
        let ran = run_command::run(&family, command, limit, cancel, &mut tell);
        let (ran, reader) = ran.map_err(failed)?;
        let result = self.result(&ran, context);
        self.track_reader(reader);
        Ok(result)
    }

    /// Runs the command in a terminal of the client; `None` if the client does not offer that.
    fn run_in_terminal(
        &self,
        text: &str,
        shell: &Command,
        time_limit: Option<Duration>,
        context: &Context,
    ) -> Option<Result<CallToolResult, ToolError>> {
        let client = <dyn ClientWorkspace>::of(&*self.data)?;
        let begin = Instant::now();
        let command = TerminalCommand {
            text,
            shell,
            // No character takes more bytes.
            max_output: 4 * MAX_OUTPUT,
            time_limit,
        };
        let ran = match client.run(&command, context.cancel())? {
            Ok(ran) => ran,
            Err(reason) => return Some(Err(ToolError::Failed(reason))),
        };
        let count = ran.output.chars().count();
        let is_long = ran.truncated || count > MAX_OUTPUT;
        let (output, printed) = if is_long {
            (
                end_of(&ran.output, KEPT_TAIL).to_owned(),
                count.max(MAX_OUTPUT + 1),
            )
        } else {
            (ran.output, count)
        };
        let ran = CommandResult {
            end: match ran.timed_out {
                _ if context.cancel().is_cancelled() => End::Cancelled,
                true => End::TimedOut,
                false => End::Exited,
            },
            code: ran.exit_code,
            signal: ran.signal.map(Signal::Name),
            output,
            printed,
            took: begin.elapsed(),
            limit: time_limit,
        };
        Some(Ok(self.result(&ran, context)))
    }

    /// The result of the call.
    fn result(&self, ran: &CommandResult, context: &Context) -> CallToolResult {
        // Goose and gosling name the session of a call, and show models the text.
        let is_elsewhere = session_id(context).is_none();
        answer(ran, is_elsewhere, |output| {
            let saved = self.outputs.save(output);
            let saved = saved.inspect_err(|error| {
                log::warn!("an output cannot be saved in a file reason={error}");
            });
            saved.ok()
        })
    }
}

/// The end of an output that is too long to be shown, of at most this many bytes.
fn end_of(output: &str, most: usize) -> &str {
    let from = output.len().saturating_sub(most);
    &output[output.ceil_char_boundary(from)..]
}

/// A shell that runs this command in `dir`.
fn shell_command(
    text: &str,
    dir: &Path,
    session_id: Option<&str>,
    config: &Path,
    offline: bool,
) -> Command {
    let shell = user_shell::shell();
    let mut command = user_shell::with_command(&shell, text);
    command
        .current_dir(dir)
        .env("PATH", login_shell_path::path(&shell))
        .env("GOOSE_TERMINAL", "1")
        .env("AGENT", "goose")
        .env("TERM", "dumb")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("DEBIAN_FRONTEND", "noninteractive");
    for editor in ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"] {
        command.env(editor, FAILING_EDITOR);
    }
    for pager in ["PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"] {
        command.env(pager, "cat");
    }
    if let Some(id) = session_id {
        command.env("AGENT_SESSION_ID", id);
    }
    if offline {
        command.envs(offline_variables::for_children());
    }
    let bash_env = config.join(".bash_env");
    if bash_env.is_file() {
        command.env("BASH_ENV", bash_env);
    }
    command
}

/// Runs a command in a shell like that of the tool, and ends all processes that it has started.
///
/// # Errors
/// Why it failed, with the end of its output.
pub(crate) fn run_check(check: &ShellCheck<'_>, cancel: &Cancel) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the shell could not be started: {error}");
    let mut command = shell_command(
        check.command,
        check.dir,
        Some(check.session_id),
        check.config,
        check.offline,
    );
    if let Some(walls) = check.walls {
        Inherited::default().apply(&mut command, walls.level == sandbox::Level::Strict);
        walls.confine(&mut command);
    }
    let family = Family::new().map_err(failed)?;
    let limit = Some(check.limit);
    let ran = run_command::run(&family, command, limit, cancel, &mut |_, _| {});
    family.end();
    let (ran, reader) = ran.map_err(failed)?;
    let status = match ran.end {
        End::TimedOut => format!("ended after {} s", check.limit.as_secs_f64()),
        _ => status_line(&ran).trim().replace(['[', ']'], ""),
    };
    let output = end_of(ran.output.trim_end(), CHECK_OUTPUT);
    let output = printable(output, CHECK_OUTPUT);
    reader.end();
    match (status.as_str(), output.as_str()) {
        ("", _) => Ok(()),
        (status, "") => Err(status.to_owned()),
        (status, output) => Err(format!("{status}; its output ends so: {output}")),
    }
}

/// The result of a call. An output of which the user is shown only the end is handed to `keep`, which returns the
/// file that has all of it. With `repeat`, the structured content has the text, too.
fn answer(
    ran: &CommandResult,
    repeat: bool,
    keep: impl FnOnce(&str) -> Option<PathBuf>,
) -> CallToolResult {
    let truncated = ran.printed > MAX_OUTPUT;
    let status = status_line(ran);
    let structured = |text: &str| {
        let outcome = Outcome {
            exit_code: ran.code,
            signal: ran.signal.as_ref(),
            truncated,
            duration_ms: u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX),
            output: repeat.then(|| text.to_owned()),
        };
        to_raw_value(&outcome).ok()
    };
    if truncated {
        let text = format!(
            "The output has {} characters, more than the limit of {MAX_OUTPUT}. Run it \
             again with its output in a file (`> FILE 2>&1`) and read parts of that, or filter it. It \
             ends so:\n{}\n{status}",
            ran.printed,
            ran.output.trim_end()
        );
        return CallToolResult {
            structured_content: structured(&text),
            ..CallToolResult::text(text).failed()
        };
    }
    let whole = append_status(&ran.output, &status);
    let shown = match last_lines(&ran.output, SHOWN_LINES) {
        Some((last, all)) => {
            // A cancelled call has no result.
            let path = (ran.end != End::Cancelled).then(|| keep(&ran.output));
            let place = match path.flatten().as_ref().map(|path| path.display()) {
                Some(path) => format!("while this extension runs, all lines are in {path}"),
                None => "the model gets all lines".to_owned(),
            };
            let shown = format!("[the last {SHOWN_LINES} of {all} lines; {place}]\n{last}");
            append_status(&shown, &status)
        }
        None => whole.clone(),
    };
    CallToolResult {
        structured_content: structured(&whole),
        is_error: Some(ran.end == End::TimedOut),
        ..text_editor::result(&whole, &shown, 0.0)
    }
}

/// How the command ended, as a line in brackets; empty if it succeeded.
fn status_line(ran: &CommandResult) -> String {
    let text = match ran.end {
        End::Exited => match (ran.code, &ran.signal) {
            (Some(0), _) => return String::new(),
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(Signal::Number(signal))) => format!("ended by signal {signal}"),
            (None, Some(Signal::Name(signal))) => {
                format!("ended by signal {}", printable(signal, MAX_SIGNAL))
            }
            (None, None) => "ended in an unknown way".to_owned(),
        },
        End::TimedOut => {
            let seconds = ran.limit.unwrap_or_default().as_secs_f64();
            format!("ended after {seconds} s, as `timeout_secs` says")
        }
        End::Cancelled => "cancelled".to_owned(),
    };
    format!("[{text}]\n")
}

/// Appends the status to the output, on a line of its own.
fn append_status(output: &str, how: &str) -> String {
    let gap = if output.is_empty() || output.ends_with('\n') || how.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{output}{gap}{how}")
}

/// The last `count` lines and the number of all lines; `None` if there are no more than `count`.
fn last_lines(text: &str, count: usize) -> Option<(&str, usize)> {
    let all = text.lines().count();
    let mut breaks = text.trim_end_matches('\n').rmatch_indices('\n');
    let (at, _) = breaks.nth(count - 1)?;
    Some((&text[at + 1..], all))
}

#[cfg(test)]
mod tests;
