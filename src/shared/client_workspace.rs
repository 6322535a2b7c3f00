//! Files and commands by way of a session's client: an editor knows unsaved changes, and shows commands in its
//! terminals.

use gosling_core::builtin::{SessionData, Workspace};
use gosling_sys::cancel::Cancel;
use gosling_sys::process::Command;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What the client of a running turn offers to builtin servers of its session. Each method returns `None`
/// if the client does not offer it, or refuses: the server does it itself then. An error means that it is not known
/// whether the client has done it or still will, so that the server must not do it as well.
pub trait ClientWorkspace: Send + Sync {
    /// The text of a file as the user sees it.
    ///
    /// # Errors
    /// The client did not answer in time, or the call was cancelled.
    fn read_text(&self, path: &Path, cancel: &Cancel) -> Option<Result<String, String>>;

    /// Replaces the text of a file, or creates it.
    ///
    /// # Errors
    /// As [`read_text`](Self::read_text).
    fn write_text(&self, path: &Path, text: &str, cancel: &Cancel) -> Option<Result<(), String>>;

    /// Runs a command and waits for its end.
    ///
    /// # Errors
    /// The command was started, and its result is lost.
    fn run(
        &self,
        command: &TerminalCommand<'_>,
        cancel: &Cancel,
    ) -> Option<Result<TerminalResult, String>>;
}

/// A command for a terminal of the client.
#[derive(Clone, Copy, Debug)]
pub struct TerminalCommand<'c> {
    /// The command as the model wrote it.
    pub text: &'c str,
    /// The shell that runs it, with its variables and working directory.
    pub shell: &'c Command,
    /// How much of the end of the output is kept, in bytes.
    pub max_output: usize,
    /// When it is ended.
    pub time_limit: Option<Duration>,
}

/// The result of a command in a terminal of the client.
#[derive(Clone, Debug, Default)]
pub struct TerminalResult {
    /// The output, or its end.
    pub output: String,
    /// Whether the output was longer.
    pub truncated: bool,
    /// The exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The name of the signal that ended it.
    pub signal: Option<String>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
}

/// What a turn takes as the workspace of its client.
struct Offered(Arc<dyn ClientWorkspace>);

impl dyn ClientWorkspace {
    /// The workspace for [`TurnInput`](gosling_core::agent::TurnInput).
    pub fn offered(self: Arc<Self>) -> Workspace {
        Arc::new(Offered(self))
    }

    /// The workspace that the client of a session's running turn offers.
    pub fn of(data: &dyn SessionData) -> Option<Arc<Self>> {
        let offered = data.client()?.downcast::<Offered>().ok()?;
        Some(offered.0.clone())
    }
}
