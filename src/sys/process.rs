//! Child processes that never outlive their owner.
//!
//! Every child leads a process group of its own and carries a mark (`sys/mark.rs`), which
//! its descendants inherit. OutputDrain a child closes its stdin, waits, asks the group with SIGTERM, waits,
//! kills the group, reaps the child, and kills whatever carries its mark, so that a descendant that
//! left the group (`setsid`) goes too. If this process is killed, the kernel kills the direct
//! children (Linux) and the [`guardian`](super::guardian) the rest.
//!
//! Children are made and reaped by one thread (`sys/spawner.rs`). Each leads a session of its own, so that it
//! cannot open the terminal of this process.
//!
//! Where other code in this process reaps children, or SIGCHLD is ignored, how a child ended is not known, and
//! its group is not signalled once it has: its id may mean another by then. What it left is found by its mark.
//!
//! # What can be promised
//!
//! **Linux**: nothing that a child started is left once it has ended, or once this process has,
//! SIGKILL included; also what forked twice, left its group and session, and changed its
//! environment. What forks without end is killed until nothing of it is met, for a second here and
//! half a minute by the guardian. The exceptions:
//!
//! - A descendant that both cleans its environment and sets the limit that carries the mark, in a
//!   session of its own, is not found. None does by chance; this keeps order, it is no sandbox.
//! - Where the hard limit on file locks is lower than the mark, or on 32-bit systems, children carry
//!   it in the environment alone.
//! - A program that is setuid or has file capabilities loses the parent-death signal, and its
//!   environment cannot be read, but the limit can. It is killed like others while its real user
//!   is ours; once it has become another user altogether (`sudo`), we may not. The environment of a
//!   program that keeps others from its memory, as `gosling agent` does, cannot be read either.
//! - Where `/proc` is mounted with `hidepid`, nothing changes for programs of ours that may be
//!   debugged; others, setuid ones for example, are found only in their group. Where there is no
//!   `/proc`, or it is that of another pid namespace, groups are all there is, and a guardian may not
//!   start; the log says so. The leaders of a family's last hundred groups are then not reaped before
//!   the family ends, so that the ids of the groups stay their own.
//! - What somebody else starts at a child's request (a service manager, a container engine) is not
//!   its descendant.
//! - If the guardian is killed, another takes its place at once. If both are killed in the same moment,
//!   the kernel still kills the direct children; what those had started stays, unless it ends with its
//!   pipes.
//!
//! **macOS** has no parent-death signal and does not show the limits of others, nor the
//! environment of hardened programs; the guardian, which waits on its pipe, kills the groups. So
//! descendants that stay in their group go, in every case but that both processes are killed at
//! once, and those that call `setsid` or `setpgid` are missed. It has not been tried.
//!
//! **Windows** would put each child into a job object that kills what is in it when its last handle is
//! closed, which happens by itself when this process ends, so there would be no guardian; a child can
//! leave a job only if it may break away. This is not written yet: gosling does not build there.

mod family;
mod output;
mod start_limit;

pub use family::Family;
pub use output::{ExitWatch, OutputDrain, Ready, wait_output};
pub(super) use start_limit::StartLimit;

use super::cancel::Cancel;
pub use super::command::Command;
use super::process_mark::ProcessMark;
use super::{descendants, lock, spawner, unix};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The environment variable that carries the mark.
pub const MARK: &str = "GOSLING_PROCESS_MARK";
/// The variable with the key of a server. No child inherits it: who has the key may call us.
pub const SERVER_KEY: &str = "GOOSE_SERVER__SECRET_KEY";
/// How long a killed process may take to vanish.
const REAP: Duration = Duration::from_secs(1);
/// How long the search for what else a child has started may take.
const SWEEP: Duration = Duration::from_secs(1);

/// How long a child is given, step by step, before it is killed.
#[derive(Clone, Copy, Debug)]
pub struct Grace {
    /// After its stdin was closed: MCP's way to say goodbye.
    pub stdin: Duration,
    /// After SIGTERM to its group.
    pub term: Duration,
}

impl Grace {
    /// For a server that has worked: Python servers take about a second to leave.
    pub const NORMAL: Grace = Grace {
        stdin: Duration::from_millis(1500),
        term: Duration::from_millis(1000),
    };
    /// For one that has not come to run its program.
    const NONE: Grace = Grace {
        stdin: Duration::ZERO,
        term: Duration::ZERO,
    };
    /// For one that never came up.
    pub const SHORT: Grace = Grace {
        stdin: Duration::from_millis(100),
        term: Duration::from_millis(300),
    };
}

/// A running child and its pipes. Dropping it ends it without much grace.
pub struct Process {
    pid: i32,
    mark: ProcessMark,
    status: OnceLock<ExitStatus>,
    /// It ended without being sent a signal.
    by_itself: OnceLock<bool>,
    /// It is being ended, or has been.
    ending: Mutex<bool>,
    /// It may have been reaped, so that its id may mean another process.
    released: AtomicBool,
}

/// The ends of a child's pipes that are ours.
pub struct Pipes {
    /// What the child reads. Closing it is the first step of ending the child.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it complains about.
    pub stderr: ChildStderr,
}

impl Process {
    /// Starts `command` with piped stdin, stdout and stderr, in a session and process group of its own, and
    /// waits until its program runs: at most so long, where there is a limit, and a tenth of a second after
    /// `cancel` fires. A child that was made by then is killed.
    ///
    /// # Errors
    /// Whatever kept the program from starting: not found, not executable, a working directory that
    /// does not exist, no more processes; of the kind `TimedOut` when it did not come to run in time, and
    /// `Interrupted` when it was cancelled.
    pub fn spawn(
        command: Command,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        Self::start(command, next_mark()?, limit, cancel)
    }

    /// The same for one of a family.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_in(
        family: &Family,
        command: Command,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        Self::start(command, family.member(), limit, cancel)
    }

    fn start(
        mut command: Command,
        mark: ProcessMark,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        let limit = StartLimit::new(limit, cancel);
        let around = std::env::var(MARK).ok();
        if !command.sets(SERVER_KEY) {
            command.env_remove(SERVER_KEY);
        }
        command.env(MARK, mark.variable(around.as_deref()));
        let (stdin, to_stdin) = io::pipe()?;
        let (from_stdout, stdout) = io::pipe()?;
        let (from_stderr, stderr) = io::pipe()?;
        let stdio = [stdin.into(), stdout.into(), stderr.into()];
        let (prepared, mut progress) = unix::Prepared::child(&command, &mark, stdio)?;
        let process = Process {
            pid: spawner::fork(prepared, &limit)?,
            mark,
            status: OnceLock::new(),
            by_itself: OnceLock::new(),
            ending: Mutex::new(false),
            released: AtomicBool::new(false),
        };
        let started = loop {
            match progress.wait(limit.poll_interval()) {
                Some(started) => break started,
                None => {
                    if let Err(error) = limit.check() {
                        // It may come to run this moment.
                        process.end(Grace::NONE);
                        return Err(error);
                    }
                }
            }
        };
        if let Err(error) = started {
            // It has started nothing, so there is nothing else to look for.
            process.release(Duration::ZERO, Duration::ZERO);
            return Err(error);
        }
        let pipes = Pipes {
            stdin: OwnedFd::from(to_stdin).into(),
            stdout: OwnedFd::from(from_stdout).into(),
            stderr: OwnedFd::from(from_stderr).into(),
        };
        Ok((process, pipes))
    }

    /// The child's process id, which is its group's too.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// A way to see it exit for who reads its output.
    pub fn watch(&self) -> ExitWatch {
        ExitWatch::new(self.pid)
    }

    /// How it ended, if it did so before it was sent a signal.
    pub fn own_status(&self) -> Option<ExitStatus> {
        match self.by_itself.get() {
            Some(true) => self.status(),
            _ => None,
        }
    }

    /// How it ended, if it was seen to.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status.get().copied()
    }

    /// Waits until the child has exited by itself; false when it has not within the limit. The
    /// child is not reaped yet, so its id stays its own.
    pub fn wait_exit(&self, limit: Duration) -> bool {
        self.released.load(Ordering::SeqCst) || unix::wait_exit(self.pid, limit)
    }

    /// Lets the child, which has exited, be reaped, and leaves alone what it started: its family will see
    /// to that. Does nothing if it has not exited.
    pub fn leave(&self, family: &Family) {
        let mut ending = lock(&self.ending);
        if *ending || !self.wait_exit(Duration::ZERO) {
            return;
        }
        *ending = true;
        let _ = self.by_itself.set(true);
        if descendants::can_see_processes() {
            self.hand_over(spawner::ended);
        } else {
            self.hand_over(|group| family.keep(group));
        }
    }

    /// Ends the child and everything it started; returns when nothing of it is left or no more can
    /// be done, at the latest after the sum of the grace and about two seconds. The caller drops
    /// its end of stdin first. A second call waits for the first.
    pub fn end(&self, grace: Grace) {
        if self.release(grace.stdin, grace.term) {
            descendants::kill_marked(&self.mark, SWEEP);
        }
    }

    /// Ends the child and its group, and lets the child be reaped. False if that was done before.
    fn release(&self, stdin: Duration, term: Duration) -> bool {
        let mut ending = lock(&self.ending);
        if *ending {
            return false;
        }
        *ending = true;
        let by_itself = self.wait_exit(stdin);
        let _ = self.by_itself.set(by_itself);
        if !by_itself && !term.is_zero() {
            signal_group(self.pid, unix::Signal::Terminate);
            self.wait_exit(term);
        }
        signal_group(self.pid, unix::Signal::Kill);
        // One that has only just been forked does not lead its group yet.
        if !matches!(unix::state_of(self.pid), unix::State::NotOurs) {
            unix::kill_child(self.pid);
        }
        self.wait_exit(REAP);
        self.hand_over(spawner::ended);
        true
    }

    /// Notes how the child ended, as far as it has, and leaves it to another to let it be reaped.
    fn hand_over(&self, to: impl FnOnce(i32)) {
        if let unix::State::Exited(status) = unix::state_of(self.pid) {
            let _ = self.status.set(status);
        }
        self.released.store(true, Ordering::SeqCst);
        to(self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Grace {
            stdin: Duration::ZERO,
            ..Grace::SHORT
        });
    }
}

/// Signals the group of a child, which is at most a zombie, so that the group's id is its own; unless other
/// code has reaped it.
fn signal_group(group: i32, signal: unix::Signal) {
    if !matches!(unix::state_of(group), unix::State::NotOurs) {
        unix::signal_group(group, signal);
    }
}

/// What begins the mark of every child of this process: random, so that no other server's children
/// are ever taken for ours.
pub(super) fn server_mark() -> io::Result<&'static str> {
    static SERVER: OnceLock<String> = OnceLock::new();
    if let Some(mark) = SERVER.get() {
        return Ok(mark);
    }
    let mark = super::random_hex(16)?;
    Ok(SERVER.get_or_init(|| mark))
}

/// The mark of one more child, or family, of this process.
fn next_mark() -> io::Result<ProcessMark> {
    static CHILDREN: AtomicU64 = AtomicU64::new(1);
    let number = CHILDREN.fetch_add(1, Ordering::Relaxed);
    Ok(ProcessMark::of_server(server_mark()?).of_child(number))
}
