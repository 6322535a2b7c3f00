//! A session as one connection knows it: its running turn, and the tool calls that are shown to the client.

use super::file_diffs::FileBefore;
use super::terminal_output::TerminalOutput;
use super::updates::Status;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// A session that the client has opened or prompted.
pub(super) struct OpenSession {
    pub(super) id: String,
    pub(super) working_dir: PathBuf,
    turn: Mutex<Option<Cancel>>,
    calls: Mutex<HashMap<String, ShownCall>>,
    /// What the user is told with the next turn.
    notices: Mutex<Vec<String>>,
}

/// A tool call that the client shows.
pub(super) struct ShownCall {
    pub(super) status: Status,
    pub(super) name: String,
    /// The edited file before the call.
    pub(super) before: Option<FileBefore>,
    /// The checklist that the call writes.
    pub(super) checklist: Option<String>,
    pub(super) output: TerminalOutput,
    /// The request to the client for a permission, while it is pending.
    pub(super) question: Option<i64>,
}

/// The running turn of a session; dropping it ends the turn.
pub(super) struct RunningTurn {
    session: Arc<OpenSession>,
}

impl OpenSession {
    pub(super) fn new(id: &str, working_dir: PathBuf) -> Self {
        OpenSession {
            id: id.to_owned(),
            working_dir,
            turn: Mutex::default(),
            calls: Mutex::default(),
            notices: Mutex::default(),
        }
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

    /// The calls of the running turn by their ids.
    pub(super) fn calls(&self) -> MutexGuard<'_, HashMap<String, ShownCall>> {
        lock(&self.calls)
    }

    /// Keeps a text for the next turn.
    pub(super) fn tell_later(&self, text: String) {
        lock(&self.notices).push(text);
    }

    /// The texts that were kept.
    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notices))
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.session.calls().clear();
        *lock(&self.session.turn) = None;
    }
}
