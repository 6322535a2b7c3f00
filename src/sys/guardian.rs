//! The guardian: a second process of the same program that outlives a killed server just long enough to kill
//! the server's descendants.
//!
//! Parent-death signals reach only direct children and are cleared on fork, and a subreaper dies with its
//! process; so another process has to watch. The guardian runs in its own session and holds the read end of a
//! pipe, through which the server reports each process group that it creates. When the pipe ends without `bye`,
//! the server has died: the guardian kills the groups and, on Linux, every process that carries the server's
//! mark, and exits. The guardian carries no mark itself, not even that of an enclosing server, which would kill
//! it together with its server.
//!
//! The server replaces a guardian that was killed, or that does not read its pipe because it was stopped.
//! [`process`](super::process) says what is guaranteed, and where.

use super::child_command::Command;
use super::process_mark::ProcessMark;
use super::{marked_processes, unix};
use std::io::{self, BufRead, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The hidden command that runs a program as a guardian, see [`run`].
pub const COMMAND: &str = "__guardian";
/// How long the spawner thread waits for the guardian to start, so that it detects a failure. It does nothing
/// else in that time.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a dismissed guardian may take to exit.
const DISMISS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a guardian kills processes that fork continuously. Nothing waits for it.
const SWEEP: Duration = Duration::from_secs(30);

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Declares that this program calls [`run`] when it is started with [`COMMAND`] and a mark. Without this call
/// no guardian is started: a program that embeds the library and does not know the command would run itself
/// again.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// The server's handle to its guardian. Dropping it without [`dismiss`](Guardian::dismiss) makes the guardian
/// act.
pub(super) struct Guardian {
    pid: i32,
    stdin: PipeWriter,
}

impl Guardian {
    pub(super) fn start(mark: &str) -> io::Result<Option<Guardian>> {
        if !ENABLED.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut command = Command::new(this_program()?);
        command.args([COMMAND, mark]).current_dir("/");
        let (read, stdin) = io::pipe()?;
        // A stopped guardian does not read; writes must not block the spawner thread.
        unix::set_nonblocking(stdin.as_raw_fd())?;
        // It prints nothing. A pipe without a reader is there where `/dev/null` is not.
        let (_, unread) = io::pipe()?;
        let stdio = [read.into(), unread.try_clone()?.into(), unread.into()];
        let (prepared, mut progress) = unix::Prepared::guardian(&command, stdio)?;
        let pid = prepared.fork()?;
        if let Some(Err(error)) = progress.wait(START_TIMEOUT) {
            unix::wait_exit(pid, START_TIMEOUT);
            unix::reap(pid);
            return Err(error);
        }
        Ok(Some(Guardian { pid, stdin }))
    }

    /// A handle to a stand-in for the guardian.
    #[cfg(test)]
    pub(super) fn of(pid: i32, stdin: PipeWriter) -> Guardian {
        Guardian { pid, stdin }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the guardian runs. Reaps it if it has exited.
    pub(super) fn is_alive(&mut self) -> bool {
        match unix::state_of(self.pid) {
            unix::State::Runs => true,
            _ => {
                unix::reap(self.pid);
                false
            }
        }
    }

    pub(super) fn learn(&mut self, group: i32) {
        self.tell(&format!("+{group}\n"));
    }

    pub(super) fn forget(&mut self, group: i32) {
        self.tell(&format!("-{group}\n"));
    }

    /// Ends the guardian without a search, which could kill a child that is being created now. Called when
    /// there is nothing to guard.
    pub(super) fn dismiss(mut self) {
        self.tell("bye\n");
        let Guardian { pid, stdin } = self;
        drop(stdin);
        if !unix::wait_exit(pid, DISMISS_TIMEOUT) {
            unix::kill_child(pid);
            unix::wait_exit(pid, DISMISS_TIMEOUT);
        }
        unix::reap(pid);
    }

    /// Sends one line. It is so short that the pipe takes all of it or nothing. A guardian that does not read
    /// is killed; the spawner then starts another.
    fn tell(&mut self, text: &str) {
        if self.stdin.write_all(text.as_bytes()).is_err() && self.is_alive() {
            unix::kill_child(self.pid);
        }
    }
}

/// The path of the running program, with `/proc` valid even if its file has been replaced.
fn this_program() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() {
        return Ok(link.into());
    }
    unix::started_file().map_or_else(std::env::current_exe, Ok)
}

/// The main function of the guardian: reads commands from stdin until its end, then kills what is left.
pub fn run(mark: &str) -> ExitCode {
    unix::become_guardian();
    let mut groups: Vec<i32> = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line == "bye" {
            return ExitCode::SUCCESS;
        }
        match (line.get(..1), line.get(1..).map(str::parse::<i32>)) {
            (Some("+"), Some(Ok(group))) => groups.push(group),
            (Some("-"), Some(Ok(group))) => groups.retain(|g| *g != group),
            _ => {}
        }
    }
    if mark.is_empty() {
        return ExitCode::FAILURE;
    }
    let mark = ProcessMark::of_server(mark);
    for group in groups {
        if !marked_processes::is_other_process(group, &mark) {
            unix::signal_group(group, unix::Signal::Kill);
        }
    }
    marked_processes::kill(&mark, SWEEP);
    ExitCode::SUCCESS
}
