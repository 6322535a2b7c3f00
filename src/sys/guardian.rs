//! The guardian: a second process of the same program that outlives a killed server just long
//! enough to end what the server had started.
//!
//! Parent-death signals reach only direct children and are cleared on fork, and a subreaper dies
//! with its process; so another process has to watch. It holds the read end of a pipe, in a session
//! of its own, and learns each process group as it is made. When the pipe ends without a farewell
//! the server is dead: the guardian kills the groups and, on Linux, every process that carries the
//! server's mark, and ends. It carries no mark itself, not even that of another server around this
//! one, which would end it together with its server.
//!
//! A guardian that was killed is replaced, and so is one that does not listen, because somebody
//! stopped it. [`process`](super::process) says what can be promised, and where.

use super::command::Command;
use super::process_mark::ProcessMark;
use super::{descendants, unix};
use std::fs::OpenOptions;
use std::io::{self, BufRead, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The hidden command by which a program becomes a guardian, see [`run`].
pub const COMMAND: &str = "__guardian";
/// How long its start is waited for, so as to see that it fails: the spawner can do nothing else meanwhile.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one may take to leave when it is let go.
const DISMISS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a guardian fights what forks all the time. Nobody waits for it.
const SWEEP: Duration = Duration::from_secs(30);

static ENABLED: AtomicBool = AtomicBool::new(false);

/// LimitMatch that this program becomes a guardian, by [`run`], when it is started with [`COMMAND`] and a
/// mark. Without it no guardian is started: a program that embeds the library and does not know the
/// command would run itself a second time.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// The server's hold on its guardian. Dropping it without [`dismiss`](Guardian::dismiss) is the
/// alarm.
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
        // One that is stopped, and does not listen, must not hold up the spawner.
        unix::set_nonblocking(stdin.as_raw_fd())?;
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        let stdio = [read.into(), null.try_clone()?.into(), null.into()];
        let (prepared, mut progress) = unix::Prepared::guardian(&command, stdio)?;
        let pid = prepared.fork()?;
        if let Some(Err(error)) = progress.wait(START_TIMEOUT) {
            unix::wait_exit(pid, START_TIMEOUT);
            unix::reap(pid);
            return Err(error);
        }
        Ok(Some(Guardian { pid, stdin }))
    }

    /// What a test takes for a guardian.
    #[cfg(test)]
    pub(super) fn of(pid: i32, stdin: PipeWriter) -> Guardian {
        Guardian { pid, stdin }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// One that is not is reaped here.
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

    /// Nothing is left to guard: lets it go without a sweep, which could hit a child that is being
    /// made this moment.
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

    /// A guardian that does not listen is dead or as good as dead; whoever watches it gets a new one.
    /// So short a text goes into the pipe whole or not at all.
    fn tell(&mut self, text: &str) {
        if self.stdin.write_all(text.as_bytes()).is_err() && self.is_alive() {
            unix::kill_child(self.pid);
        }
    }
}

/// The running program, even if its file has been replaced meanwhile.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    }
}

/// The guardian's whole life: reads what it is told on stdin until the end.
pub fn run(mark: &str) -> ExitCode {
    unix::become_guardian();
    let mut groups: Vec<i32> = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line == "bye" {
            return ExitCode::SUCCESS;
        }
        match (line.get(..1), line.get(1..).map(str::parse::<i32>)) {
            (Some("+"), Some(Ok(group))) if group > 1 => groups.push(group),
            (Some("-"), Some(Ok(group))) => groups.retain(|g| *g != group),
            _ => {}
        }
    }
    if mark.is_empty() {
        return ExitCode::FAILURE;
    }
    let mark = ProcessMark::of_server(mark);
    for group in groups {
        if !descendants::is_other_process(group, &mark) {
            unix::signal_group(group, unix::Signal::Kill);
        }
    }
    descendants::kill_marked(&mark, SWEEP);
    ExitCode::SUCCESS
}
