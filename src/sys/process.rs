//! Child processes that never outlive their owner.
//!
//! Every child leads its own process group and session, so that it cannot open the terminal of this process,
//! and carries a mark (`sys/process_mark.rs`) that its descendants inherit. Ending a child takes these steps:
//! close its stdin, wait, send SIGTERM to the group, wait, kill the group, reap the child, and kill every
//! process that carries its mark, so that descendants that left the group (`setsid`) end too. If this process
//! is killed, the kernel kills its direct children (Linux), and the [`guardian`](super::guardian) the rest.
//!
//! One thread creates and reaps all children (`sys/spawner.rs`).
//!
//! If other code in this process reaps children, or SIGCHLD is ignored, the exit status of a child is unknown,
//! and its group is not signalled after its exit: the group's id may have been reused. What it left is found by
//! its mark.
//!
//! # Guarantees
//!
//! **Linux**: no descendant of a child is left once the child has ended or once this process has ended, even by
//! SIGKILL; this includes processes that forked twice, left their group and session, and changed their
//! environment. Processes that fork without end are killed until none is found, for one second here and half a
//! minute by the guardian. The exceptions:
//!
//! - A descendant that cleans its environment and sets the limit that carries the mark is not found once it has left
//!   its group, or once the group's leader was reaped. No program does that by accident; this is not a sandbox.
//! - If the hard limit on file locks is lower than the mark, and on 32-bit systems, the mark is in the
//!   environment only.
//! - A program that is setuid or has file capabilities loses the parent-death signal, and its environment
//!   cannot be read, but its limit can. It is killed like others while its real user is that of this process;
//!   this process may not signal it once it has changed its real user (`sudo`). The environment of a program
//!   that protects its memory, as `gosling agent` does, cannot be read either.
//! - With `/proc` mounted with `hidepid`, nothing changes for programs of this user that may be debugged;
//!   others, such as setuid programs, are found in their group only. If there is no `/proc`, or it belongs to
//!   another pid namespace, only groups are ended, and a guardian may not start; the log says so. The leaders
//!   of a family's last hundred groups are then not reaped before the family ends, so that the ids of the
//!   groups are not reused.
//! - A process that another service starts at a child's request (a service manager, a container engine) is not
//!   the child's descendant.
//! - A killed guardian is replaced at once. If guardian and server are killed at the same moment, the kernel
//!   still kills the direct children; their descendants stay, unless they exit when their pipes close.
//!
//! **macOS** has no parent-death signal and hides the limits of other processes and the environment of hardened
//! programs; the guardian, which waits on its pipe, kills the groups. So descendants that stay in their group
//! end, unless both processes are killed at once; those that call `setsid` or `setpgid` are found by the mark in
//! their environment unless they are hardened, as the programs of the system are. This compiles and was never run.
//!
//! **Windows** has another implementation (`sys/windows/process.rs`): a job object for each child, and no guardian.

pub(super) mod output;

pub use output::ExitWatch;

use super::cancel::Cancel;
pub use super::child_command::{Command, Confinement, Grace, Pipes, SERVER_KEY};
pub use super::process_mark::MARK;
use super::process_mark::{ProcessMark, server_mark};
use super::start_limit::StartLimit;
use super::{lock, marked_processes, spawner, unix};
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// How long a killed process may take to disappear.
const REAP: Duration = Duration::from_secs(1);
/// The timeout of the search for a child's other descendants.
pub(super) const SWEEP: Duration = Duration::from_secs(1);

/// A running child. Dropping it ends it with a short grace.
pub struct Process {
    pid: i32,
    mark: ProcessMark,
    status: OnceLock<ExitStatus>,
    /// Whether it ended before it was sent a signal.
    pub(super) by_itself: OnceLock<bool>,
    /// Whether its end has begun.
    pub(super) ending: Mutex<bool>,
    /// Whether it may have been reaped, so that its id may have been reused.
    released: AtomicBool,
}

impl Process {
    /// Starts `command` with piped stdin, stdout and stderr, in its own session and process group, and waits
    /// until its program runs: at most for `limit`, if there is one, and at most a tenth of a second after
    /// `cancel` fires. A child that was created by then is killed.
    ///
    /// # Errors
    /// When the program cannot start: not found, not executable, a working directory that does not exist, no
    /// more processes. `TimedOut` if it did not run within `limit`, `Interrupted` if it was cancelled.
    pub fn spawn(
        command: Command,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        Self::start(command, next_mark()?, limit, cancel)
    }

    pub(super) fn start(
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
                        // It may start to run its program at this moment.
                        process.end(Grace::default());
                        return Err(error);
                    }
                }
            }
        };
        if let Err(error) = started {
            // It has started nothing, so there are no descendants to search for.
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

    /// The child's process id, which is also its group's id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// A handle that detects the child's exit, for the reader of its output.
    pub fn watch(&self) -> ExitWatch {
        ExitWatch::new(self.pid)
    }

    /// The exit status, if the child ended before it was sent a signal.
    pub fn own_status(&self) -> Option<ExitStatus> {
        match self.by_itself.get() {
            Some(true) => self.status(),
            _ => None,
        }
    }

    /// The exit status, if it is known.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status.get().copied()
    }

    /// Waits until the child has exited; false when the limit passes first. The child is not reaped yet, so its
    /// id is not reused.
    pub fn wait_exit(&self, limit: Duration) -> bool {
        self.released.load(Ordering::SeqCst) || unix::wait_exit(self.pid, limit)
    }

    /// Ends the child and its descendants. Returns when nothing of them is left or no more can be done, at the
    /// latest after the sum of the grace and about two seconds. The caller drops its end of stdin first. A
    /// second call waits for the first.
    pub fn end(&self, grace: Grace) {
        if self.release(grace.stdin, grace.term) {
            marked_processes::kill(&self.mark, SWEEP);
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
        // A child that was just forked does not lead its group yet.
        if !matches!(unix::state_of(self.pid), unix::State::NotOurs) {
            unix::kill_child(self.pid);
        }
        self.wait_exit(REAP);
        self.hand_over(spawner::ended);
        true
    }

    /// Records the exit status, if the child has exited, and passes the child to `to`, which lets it be reaped.
    pub(super) fn hand_over(&self, to: impl FnOnce(i32)) {
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

/// Signals the group of a child that has not been reaped, so that the group's id is still the child's. Does
/// nothing if other code has reaped the child.
pub(super) fn signal_group(group: i32, signal: unix::Signal) {
    if !matches!(unix::state_of(group), unix::State::NotOurs) {
        unix::signal_group(group, signal);
    }
}

/// The mark of a new child, or family, of this process.
pub(super) fn next_mark() -> io::Result<ProcessMark> {
    static CHILDREN: AtomicU64 = AtomicU64::new(1);
    let number = CHILDREN.fetch_add(1, Ordering::Relaxed);
    Ok(ProcessMark::of_server(server_mark()?).of_child(number))
}
