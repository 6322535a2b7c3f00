//! Child processes that never outlive their owner.
//!
//! Every child runs in a job object of its own, from before its first instruction on, and so do its descendants.
//! Ending a child takes these steps: close its stdin, wait, and end all processes of the job. When the last handle of a
//! job is closed, at the latest when this process ends however that comes about, the system ends its processes. So no
//! guardian is needed, and nothing is left.
//!
//! The exceptions: a process that another service starts at a child's request is not the child's descendant, nor is
//! one for which the child names another parent, as it may with processes of the same user; and what runs with higher
//! rights than this process may not be ended by it. If this process is killed after a child was created and before the
//! child is in its job, the child stays, suspended: only with a nightly Rust does std create a process in a job.
//!
//! A child has no console window, and gets no Ctrl-C of this process's console. Windows has no request to end that
//! every program understands, as SIGTERM is on Unix: [`Grace::term`] has no effect.

pub use super::child_command::{Command, Confinement, Grace, Pipes, SERVER_KEY};

use super::cancel::Cancel;
use super::lock;
use super::pipe::{PipeReader, wait_ready};
use super::start_limit::StartLimit;
use super::windows::job::Job;
use super::windows::wait::wait_any;
use super::windows::{path_text, programs};
use crossbeam_channel::{RecvTimeoutError, bounded};
use std::ffi::OsString;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The variable that carries the mark of a process on Unix. It is not used here.
pub const MARK: &str = "GOSLING_PROCESS_MARK";
/// How long killed processes may take to disappear.
pub(super) const REAP: Duration = Duration::from_secs(1);
/// `CREATE_SUSPENDED` and `CREATE_NO_WINDOW`.
const FLAGS: u32 = 0x4 | 0x0800_0000;
/// `ERROR_BAD_EXE_FORMAT`.
const BAD_PROGRAM: i32 = 193;

/// A running child. Dropping it ends it with a short grace.
pub struct Process {
    child: Mutex<Child>,
    pid: i32,
    /// The child's process, which is set when it has exited.
    exit: Arc<OwnedHandle>,
    pub(super) job: Arc<Job>,
    status: OnceLock<ExitStatus>,
    /// Whether it ended before it was killed.
    pub(super) by_itself: OnceLock<bool>,
    /// Whether its end has begun.
    pub(super) ending: Mutex<bool>,
}

impl Process {
    /// Starts `command` with piped stdin, stdout and stderr, in its own job, and waits until its program runs: at most
    /// for `limit`, if there is one, and at most a tenth of a second after `cancel` fires. A child that is created
    /// later is killed.
    ///
    /// # Errors
    /// When the program cannot start: not found, not executable, a working directory that does not exist, no
    /// more processes. `InvalidInput` if its arguments cannot be passed safely to a batch file, or it has a
    /// confinement. `TimedOut` if it did not run within `limit`, `Interrupted` if it was cancelled.
    pub fn spawn(
        command: Command,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        let limit = StartLimit::new(limit, cancel);
        let (reply, answer) = bounded(1);
        // The system does not return before it has read the program's file.
        super::spawn("start".to_owned(), Some(super::SMALL_STACK), move || {
            // If the caller has gone, this drops the child, and so ends it.
            drop(reply.send(start(&command)));
        })?;
        loop {
            match answer.recv_timeout(limit.poll_interval()) {
                Ok(started) => return started,
                Err(RecvTimeoutError::Timeout) => limit.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other(
                        "the thread that starts a process has failed",
                    ));
                }
            }
        }
    }

    /// The child's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// A handle that detects the child's exit, for the reader of its output.
    pub fn watch(&self) -> ExitWatch {
        ExitWatch(self.exit.clone())
    }

    /// The exit status, if the child ended before it was killed.
    pub fn own_status(&self) -> Option<ExitStatus> {
        match self.by_itself.get() {
            Some(true) => self.status(),
            _ => None,
        }
    }

    /// The exit status, if it is known. That of a child that was killed means nothing, and is not.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status.get().copied()
    }

    /// Waits until the child has exited; false when the limit passes first.
    pub fn wait_exit(&self, limit: Duration) -> bool {
        wait_any(&[self.exit.as_handle()], limit)
    }

    /// Ends the child and its descendants. Returns when nothing of them is left or no more can be done, at the
    /// latest after the grace for stdin and about two seconds. The caller drops its end of stdin first. A second call
    /// waits for the first.
    pub fn end(&self, grace: Grace) {
        let mut ending = lock(&self.ending);
        if *ending {
            return;
        }
        *ending = true;
        let by_itself = self.wait_exit(grace.stdin);
        let _ = self.by_itself.set(by_itself);
        self.job.end(REAP);
        if by_itself {
            self.note_status();
        } else {
            self.wait_exit(REAP);
        }
    }

    /// Kills the child, and none of its descendants.
    #[cfg(all(test, feature = "parts"))]
    pub(super) fn kill_alone(&self) {
        lock(&self.child).kill().unwrap();
    }

    pub(super) fn note_status(&self) {
        if let Ok(Some(status)) = lock(&self.child).try_wait() {
            let _ = self.status.set(status);
        }
    }
}

fn start(command: &Command) -> io::Result<(Process, Pipes)> {
    if command.confinement().is_some() {
        let text = "the walls of its sandbox cannot be built: Windows has none of them";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    if let Some(dir) = command.dir()
        && !dir.is_dir()
    {
        let text = format!("the working directory {dir:?} cannot be used: it is not a folder");
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let program = programs::find(command)?;
    let dir = command.dir().map(child_dir);
    check_dir(&program, dir.as_deref())?;
    let mut prepared = std::process::Command::new(&program);
    add_arguments(&mut prepared, &program, command.arguments());
    prepared.creation_flags(FLAGS);
    if let Some(dir) = dir {
        prepared.current_dir(dir);
    }
    if !command.sets(SERVER_KEY) {
        prepared.env_remove(SERVER_KEY);
    }
    for (name, value) in &command.variables {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    prepared.stdin(Stdio::piped());
    prepared.stdout(Stdio::piped()).stderr(Stdio::piped());
    let job = Job::new()?;
    let mut child = prepared
        .spawn()
        .map_err(|error| explained(error, &program))?;
    if let Err(error) = job.start(child.as_handle()) {
        let _ = child.kill();
        return Err(error);
    }
    let piped = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let exit = child.as_handle().try_clone_to_owned()?;
    let process = Process {
        pid: child.id().cast_signed(),
        child: Mutex::new(child),
        exit: Arc::new(exit),
        job: Arc::new(job),
        status: OnceLock::new(),
        by_itself: OnceLock::new(),
        ending: Mutex::new(false),
    };
    match piped {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((
            process,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        )),
        _ => Err(io::Error::other("it has no pipes")),
    }
}

/// The working directory as a child may have it: many programs know no path with the marks of a verbatim one.
fn child_dir(dir: &Path) -> PathBuf {
    match dir.to_str() {
        Some(dir) => PathBuf::from(&*path_text::without_marks(dir)),
        None => dir.to_owned(),
    }
}

/// Checks that the program runs in this working directory: cmd goes to the folder of Windows instead of one that is not
/// on a drive, and works there.
fn check_dir(program: &Path, dir: Option<&Path>) -> io::Result<()> {
    if !is_cmd(program) && !programs::is_batch_file(program) {
        return Ok(());
    }
    let dir = match dir {
        Some(dir) => std::path::absolute(dir)?,
        None => std::env::current_dir()?,
    };
    if path_text::is_on_drive(&dir.to_string_lossy()) {
        return Ok(());
    }
    let text = format!(
        "cmd, which also runs batch files, cannot work in {dir:?}, which is not on a drive: give the share the letter \
         of a drive, or use another shell"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

fn is_cmd(program: &Path) -> bool {
    let name = program.file_name();
    name.is_some_and(|name| name.eq_ignore_ascii_case("cmd.exe"))
}

/// Adds the arguments, each quoted as programs of C read them. cmd does not: what follows `/s /c` is one command, which
/// is passed as it is, between the quotes that `/s` takes away.
fn add_arguments(to: &mut std::process::Command, program: &Path, arguments: &[OsString]) {
    match arguments {
        [options @ .., s, c, text] if is_cmd(program) && s == "/s" && c == "/c" => {
            let mut quoted = OsString::from("\"");
            quoted.push(text);
            quoted.push("\"");
            to.args(options).args([s, c]).raw_arg(quoted);
        }
        _ => {
            to.args(arguments);
        }
    }
}

/// What the system or std say in other words, or not at all.
fn explained(error: io::Error, program: &Path) -> io::Error {
    let text = if error.raw_os_error() == Some(BAD_PROGRAM) {
        "it is not a program of this system: name the interpreter that runs it".to_owned()
    } else if error.kind() == io::ErrorKind::InvalidInput && programs::is_batch_file(program) {
        format!("its arguments cannot be passed safely to a batch file: {error}")
    } else {
        return error;
    };
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Grace::default());
    }
}

/// Detects the exit of a child.
pub struct ExitWatch(Arc<OwnedHandle>);

impl ExitWatch {
    /// Waits until the child has exited or `output` is readable or at its end; true if the child has exited and
    /// nothing is readable.
    pub fn wait(&self, output: Option<&PipeReader>) -> bool {
        let output: Vec<_> = output.into_iter().collect();
        wait_ready(&output, Some(self.handle()), Duration::MAX);
        !output.iter().any(|pipe| pipe.is_ready()) && wait_any(&[self.handle()], Duration::ZERO)
    }

    pub(super) fn handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}
