//! A session as one connection knows it: its running turn, and the tool calls that are shown to the client.

use super::file_diffs::FileBefore;
use super::terminal_output::TerminalOutput;
use super::updates::Status;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A session that the client has opened or prompted.
pub(super) struct OpenSession {
    pub(super) id: String,
    working_dir: Mutex<PathBuf>,
    turn: Mutex<Option<Cancel>>,
    /// Signalled when the turn ends.
    turn_ended: Condvar,
    calls: Mutex<HashMap<String, ShownCall>>,
    untold_failures: Mutex<Option<UntoldFailures>>,
}

/// What the user is not told yet about the start of a session's extensions.
#[derive(Default)]
pub(super) struct UntoldFailures {
    /// The client's MCP servers that cannot be used.
    pub(super) unusable: Vec<String>,
    /// Whether the user knows which extensions are still starting.
    pub(super) told_starting: bool,
}

/// A tool call that the client shows.
#[derive(Default)]
pub(super) struct ShownCall {
    pub(super) status: Status,
    pub(super) name: String,
    /// The command that the call runs.
    pub(super) command: Option<String>,
    /// Whether a terminal of the client shows the command.
    pub(super) has_terminal: bool,
    /// The edited file before the call.
    pub(super) before: Option<FileBefore>,
    /// The checklist that the call writes.
    pub(super) checklist: Option<String>,
    pub(super) output: TerminalOutput,
    /// The user interface of the tool, for Goose's clients.
    pub(super) app: Option<Value>,
    /// The request to the client for a permission, while it is pending.
    pub(super) question: Option<i64>,
}

/// The running turn of a session; dropping it ends the turn.
pub(super) struct RunningTurn {
    session: Arc<OpenSession>,
}

impl ShownCall {
    /// A pending call of `extension__tool`.
    pub(super) fn new(name: &str) -> Self {
        ShownCall {
            name: name.to_owned(),
            ..ShownCall::default()
        }
    }
}

impl OpenSession {
    pub(super) fn new(id: &str, working_dir: PathBuf) -> Self {
        OpenSession {
            id: id.to_owned(),
            working_dir: Mutex::new(working_dir),
            turn: Mutex::default(),
            turn_ended: Condvar::new(),
            calls: Mutex::default(),
            untold_failures: Mutex::default(),
        }
    }

    /// The working directory, in which the client shows files.
    pub(super) fn working_dir(&self) -> PathBuf {
        lock(&self.working_dir).clone()
    }

    /// Changes the working directory; a running turn goes on.
    pub(super) fn set_working_dir(&self, dir: PathBuf) {
        *lock(&self.working_dir) = dir;
    }

    /// Begins a turn that `cancel` ends; `None` if one is running.
    pub(super) fn begin_turn(self: &Arc<Self>, cancel: &Cancel) -> Option<RunningTurn> {
        let mut turn = lock(&self.turn);
        if turn.is_some() {
            return None;
        }
        *turn = Some(cancel.clone());
        Some(RunningTurn {
            session: self.clone(),
        })
    }

    /// Cancels the running turn. Does nothing without one.
    pub(super) fn cancel_turn(&self) {
        let turn = lock(&self.turn).clone();
        if let Some(cancel) = turn {
            cancel.cancel();
        }
    }

    /// Cancels the running turn and waits for its end, for `timeout` at most.
    pub(super) fn end_turn(&self, timeout: Duration) {
        self.cancel_turn();
        let turn = lock(&self.turn);
        let ended = self
            .turn_ended
            .wait_timeout_while(turn, timeout, |turn| turn.is_some());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }

    /// The status of a call of the running turn.
    pub(super) fn status_of(&self, call: &str) -> Option<Status> {
        self.calls().get(call).map(|shown| shown.status)
    }

    /// The calls of the running turn by their ids.
    pub(super) fn calls(&self) -> MutexGuard<'_, HashMap<String, ShownCall>> {
        lock(&self.calls)
    }

    /// The id of the running call of this command that no terminal shows yet. It counts as shown from then on.
    pub(super) fn show_terminal(&self, command: &str) -> Option<String> {
        let mut calls = self.calls();
        let mut running = calls.iter_mut().filter(|(_, call)| {
            call.status == Status::InProgress
                && !call.has_terminal
                && call.command.as_deref() == Some(command)
        });
        let (id, call) = running.next()?;
        call.has_terminal = true;
        Some(id.clone())
    }

    /// Records that the user is to be told which extensions did not start.
    pub(super) fn has_failures_to_tell(&self, failures: UntoldFailures) {
        *lock(&self.untold_failures) = Some(failures);
    }

    /// Takes the task to tell the user, for the first caller.
    pub(super) fn take_untold_failures(&self) -> Option<UntoldFailures> {
        lock(&self.untold_failures).take()
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.session.calls().clear();
        *lock(&self.session.turn) = None;
        self.session.turn_ended.notify_all();
    }
}
