//! The client's files and terminals, for the builtin servers of a session: `fs/*` and `terminal/*`.

use super::ConnectionState;
use crate::client_requests::Answer;
use crate::file_diffs::{self, FileText};
use crate::mcp::jsonrpc::RawJson;
use crate::open_session::OpenSession;
use crate::sys::cancel::{Cancel, NoMessage};
use crate::sys::lock;
use crate::sys::paths;
use crossbeam_channel::bounded;
use gosling_shared::{ClientWorkspace, TerminalCommand, TerminalResult};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the client may take to read or write a file, or for a step of a terminal.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long the client may take to read a file that is only shown.
const SHOWN_FILE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a command without a time limit may run: no limit but that of the tool call.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The client's workspace for one session.
pub(crate) struct SessionWorkspace {
    pub(crate) connection: Arc<ConnectionState>,
    pub(crate) session: Arc<OpenSession>,
    /// Cancelled with the turn, which a builtin server learns later.
    pub(crate) turn: Cancel,
}

/// The result of `terminal/create`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedTerminal {
    terminal_id: String,
}

/// Why a request to the client has no result.
#[derive(Debug, PartialEq, Eq)]
enum NoResult {
    /// The client answered with an error, or with something else.
    Refused,
    TimedOut,
    Cancelled,
}

impl SessionWorkspace {
    /// The text of a file as the client has it, or else as it is on the disk, to be shown. The path may be one that a
    /// model names.
    pub(crate) fn shown_file(&self, path: &Path, cancel: &Cancel) -> FileText {
        if paths::refusal(path, &self.session.working_dir()).is_some() {
            return FileText::Other;
        }
        match self.read_within(path, SHOWN_FILE_TIMEOUT, cancel) {
            // Some clients have an empty text for a file that does not exist.
            Some(Ok(text)) if text.is_empty() && !path.exists() => FileText::Missing,
            Some(Ok(text)) => FileText::of(text),
            _ => file_diffs::read(path),
        }
    }

    fn read_within(
        &self,
        path: &Path,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Option<Result<String, String>> {
        #[derive(Deserialize)]
        struct File {
            content: String,
        }
        if !self.connection.client().reads_files {
            return None;
        }
        let params = json!({"path": path.to_str()?});
        let file = self.ask("fs/read_text_file", params, timeout, cancel);
        unless_refused(file.map(|File { content }| content))
    }

    /// Sends a request and waits for its result.
    fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        mut params: Value,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<T, NoResult> {
        params["sessionId"] = self.session.id.as_str().into();
        let requests = &self.connection.requests;
        let answer = requests.ask(method, &params, timeout, cancel);
        self.result(answer?, cancel)
    }

    /// The result in an answer. A refusal behind a cancellation is none: nothing is to be done instead.
    fn result<T: DeserializeOwned>(&self, answer: Answer, cancel: &Cancel) -> Result<T, NoResult> {
        let result = answer.ok().as_ref().and_then(read);
        result.ok_or_else(|| {
            if cancel.is_cancelled() || self.turn.is_cancelled() {
                NoResult::Cancelled
            } else {
                NoResult::Refused
            }
        })
    }

    /// Sends a request whose result does not matter.
    fn tell(&self, method: &str, terminal: &str) {
        tell(&self.connection, &self.session.id, method, terminal);
    }

    /// Asks for a terminal that runs the command. If it comes after the wait for it has ended, it is released,
    /// which ends the command.
    fn create_terminal(
        &self,
        mut params: Value,
        cancel: &Cancel,
    ) -> Result<CreatedTerminal, NoResult> {
        params["sessionId"] = self.session.id.as_str().into();
        let (sender, answer) = bounded(1);
        let late = Arc::new(Mutex::new(false));
        let (is_late, connection) = (late.clone(), self.connection.clone());
        let session = self.session.id.clone();
        let release = move |answer: Answer| {
            if let Some(CreatedTerminal { terminal_id }) = answer.ok().as_ref().and_then(read) {
                tell(&connection, &session, "terminal/release", &terminal_id);
            }
        };
        let release_late = release.clone();
        let handler = move |answer| {
            let is_late = lock(&is_late);
            if *is_late {
                release_late(answer);
            } else {
                drop(sender.send(answer));
            }
        };
        let requests = &self.connection.requests;
        let id = requests.send("terminal/create", &params, handler);
        let no_message = match cancel.receive(&answer, TIMEOUT) {
            Ok(answer) => return self.result(answer, cancel),
            Err(no_message) => no_message,
        };
        requests.abandon(id);
        let mut is_late = lock(&late);
        *is_late = true;
        // It may have come since.
        answer.try_iter().for_each(release);
        Err(no_message.into())
    }
}

impl From<NoMessage> for NoResult {
    fn from(no_message: NoMessage) -> Self {
        match no_message {
            NoMessage::TimedOut => NoResult::TimedOut,
            NoMessage::Cancelled => NoResult::Cancelled,
            NoMessage::Closed => NoResult::Refused,
        }
    }
}

fn tell(connection: &ConnectionState, session: &str, method: &str, terminal: &str) {
    let params = json!({"sessionId": session, "terminalId": terminal});
    connection.requests.send_only(method, &params);
}

/// The result for a builtin server, which does itself what the client refuses.
fn unless_refused<T>(result: Result<T, NoResult>) -> Option<Result<T, String>> {
    match result {
        Ok(result) => Some(Ok(result)),
        Err(NoResult::Refused) => None,
        Err(NoResult::TimedOut) => Some(Err("the client did not answer in time".to_owned())),
        Err(NoResult::Cancelled) => Some(Err("the call was cancelled".to_owned())),
    }
}

fn read<T: DeserializeOwned>(result: &RawJson) -> Option<T> {
    crate::json::from_str(result.get()).ok()
}

impl ClientWorkspace for SessionWorkspace {
    fn read_text(&self, path: &Path, cancel: &Cancel) -> Option<Result<String, String>> {
        self.read_within(path, TIMEOUT, cancel)
    }

    fn write_text(&self, path: &Path, text: &str, cancel: &Cancel) -> Option<Result<(), String>> {
        if !self.connection.client().writes_files {
            return None;
        }
        let params = json!({"path": path.to_str()?, "content": text});
        let done = self.ask::<Value>("fs/write_text_file", params, TIMEOUT, cancel);
        unless_refused(done.map(drop))
    }

    fn run(
        &self,
        command: &TerminalCommand<'_>,
        cancel: &Cancel,
    ) -> Option<Result<TerminalResult, String>> {
        if !self.connection.client().terminal {
            return None;
        }
        let created = self.create_terminal(create_params(command)?, cancel);
        let CreatedTerminal { terminal_id } = match created {
            Ok(created) => created,
            Err(NoResult::Refused) => return None,
            // The command may be starting.
            Err(_) => {
                return Some(Err(
                    "The client did not start the command in time.".to_owned()
                ));
            }
        };
        if let Some(call) = self.session.show_terminal(command.text) {
            let update = json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": call,
                "content": [{"type": "terminal", "terminalId": terminal_id}],
            });
            self.connection.send_update(&self.session.id, &update);
        }
        let result = self.finish(&terminal_id, command.time_limit, cancel);
        self.tell("terminal/release", &terminal_id);
        Some(result)
    }
}

impl SessionWorkspace {
    /// Waits for the end of the command, ends it when it is cancelled or at its time limit, and reads its output.
    fn finish(
        &self,
        terminal: &str,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<TerminalResult, String> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Exit {
            exit_code: Option<i64>,
            signal: Option<String>,
        }
        #[derive(Deserialize)]
        struct Output {
            output: String,
            truncated: bool,
        }
        let params = || json!({"terminalId": terminal});
        let limit = limit.unwrap_or(NO_LIMIT);
        let exit = self.ask("terminal/wait_for_exit", params(), limit, cancel);
        let timed_out = match &exit {
            Ok(_) => false,
            Err(NoResult::TimedOut) => true,
            Err(NoResult::Cancelled) => {
                self.tell("terminal/kill", terminal);
                return Err("The command was cancelled.".to_owned());
            }
            Err(NoResult::Refused) => {
                return Err("The client did not say how the command ended.".to_owned());
            }
        };
        if timed_out {
            let _ = self.ask::<Value>("terminal/kill", params(), TIMEOUT, cancel);
        }
        let output = self.ask("terminal/output", params(), TIMEOUT, cancel);
        let Output { output, truncated } =
            output.map_err(|_| "The client did not give the output of the command.".to_owned())?;
        let Exit { exit_code, signal } = exit.unwrap_or_default();
        Ok(TerminalResult {
            output,
            truncated,
            exit_code: exit_code.and_then(exit_code_of),
            signal,
            timed_out,
        })
    }
}

/// The exit code in 32 bits. The protocol's has no sign, so those of Windows that are negative are large there.
fn exit_code_of(code: i64) -> Option<i32> {
    let wrapped = || u32::try_from(code).ok().map(u32::cast_signed);
    i32::try_from(code).ok().or_else(wrapped)
}

/// The parameters of `terminal/create`; `None` if they are not Unicode.
fn create_params(command: &TerminalCommand<'_>) -> Option<Value> {
    let shell = command.shell;
    let args: Option<Vec<&str>> = shell.arguments().iter().map(|arg| arg.to_str()).collect();
    let variables = shell.set_variables().filter_map(|(name, value)| {
        Some(json!({"name": name.to_str()?, "value": value.to_str()?}))
    });
    Some(json!({
        "command": shell.program().to_str()?,
        "args": args?,
        "env": variables.collect::<Value>(),
        "cwd": shell.dir()?.to_str()?,
        "outputByteLimit": command.max_output,
    }))
}
