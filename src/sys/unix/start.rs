//! fork and exec, implemented here instead of with std so that the thread that forks does not wait for exec,
//! which may block on a slow file system.

use super::super::child_command::{Command, Confinement};
use super::super::process_mark::ProcessMark;
use super::system::{close_range, dies_with, set_limit};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// The size in bytes of a child's report of a failed step: the step and the error number.
const REPORT: usize = 5;
/// The descriptor that the child reports through, the first one after stdio.
const REPORT_FD: i32 = 3;
/// If the kernel cannot close all descriptors with one call, descriptors below this number are closed one by
/// one.
const FD_LIMIT: i32 = 1 << 16;
const SET_UP: u8 = 0;
const WORKING_DIR: u8 = 1;
const EXEC: u8 = 2;
const CONFINE: u8 = 3;
/// The index of the script's path among the arguments of the shell that runs it.
const SCRIPT: usize = 1;
/// The errors of exec after which the next folder of `PATH` is tried.
const MISSING: [i32; 5] = [
    libc::ENOENT,
    libc::ENOTDIR,
    libc::ESTALE,
    libc::ENODEV,
    libc::ETIMEDOUT,
];
/// The `PATH` of commands that have none.
const DEFAULT_PATH: &str = "/usr/bin:/bin";
/// The highest number of a signal.
const LAST_SIGNAL: i32 = 64;

/// Everything that a child needs, prepared before the fork: after it there are only system calls.
pub(crate) struct Prepared {
    /// The candidate paths of the program, in the order in which they are tried.
    files: Vec<CString>,
    arguments: Vec<CString>,
    /// The arguments for running a script without an interpreter line, as shells do. The child sets the
    /// script's path.
    as_script: Vec<CString>,
    environment: Vec<CString>,
    dir: Option<CString>,
    role: Role,
    confinement: Option<Arc<dyn Confinement>>,
    /// The descriptors that become stdin, stdout and stderr.
    stdio: [OwnedFd; 3],
    /// Closed by exec.
    report: PipeWriter,
}

/// The relation of a child to this process.
#[derive(Clone, Copy)]
enum Role {
    /// An ordinary child: it carries this limit, if any, and dies with the thread that created it.
    Child(Option<u64>),
    /// The guardian: it outlives this process, and carries no mark. If an enclosing server ends this one, its
    /// guardian still has work to do.
    Guardian,
}

/// Reports whether a forked child has run its program.
pub(crate) struct Progress {
    report: PipeReader,
    /// The working directory, for error messages.
    dir: String,
}

impl Progress {
    /// Waits up to `limit` for the result; `None` if it is not known yet.
    ///
    /// # Errors
    /// Why the child could not run its program. It has ended, or is about to.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<io::Result<()>> {
        if !super::wait_readable(self.report.as_raw_fd(), limit) {
            return None;
        }
        let mut report = [0; REPORT];
        if self.report.read_exact(&mut report).is_err() {
            return Some(Ok(()));
        }
        let [step, number @ ..] = report;
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes(number));
        Some(Err(match step {
            WORKING_DIR => {
                let text = format!("the working directory {} cannot be used: {error}", self.dir);
                io::Error::new(error.kind(), text)
            }
            CONFINE => {
                let text = format!("the walls of its sandbox cannot be built: {error}");
                io::Error::new(error.kind(), text)
            }
            _ => error,
        }))
    }
}

impl Prepared {
    /// A child that leads its own session, without access to this process's terminal, carries the mark, and is
    /// killed when the thread that created it ends (Linux).
    ///
    /// # Errors
    /// When a text contains a NUL byte, or no descriptors are left.
    pub(crate) fn child(
        command: &Command,
        mark: &ProcessMark,
        stdio: [OwnedFd; 3],
    ) -> io::Result<(Prepared, Progress)> {
        let environment = command.environment();
        Self::new(command, environment, Role::Child(mark.limit()), stdio)
    }

    /// A guardian, with an empty environment.
    ///
    /// # Errors
    /// As [`child`](Self::child).
    pub(crate) fn guardian(
        command: &Command,
        stdio: [OwnedFd; 3],
    ) -> io::Result<(Prepared, Progress)> {
        Self::new(command, BTreeMap::new(), Role::Guardian, stdio)
    }

    fn new(
        command: &Command,
        environment: BTreeMap<OsString, OsString>,
        role: Role,
        stdio: [OwnedFd; 3],
    ) -> io::Result<(Prepared, Progress)> {
        let (told, report) = io::pipe()?;
        let path = environment.get(OsStr::new("PATH"));
        let files = candidates(command.program(), path)?;
        let own = command.arguments().iter().map(|arg| c_string(arg));
        let own = own.collect::<io::Result<Vec<_>>>()?;
        let mut arguments = vec![c_string(command.program())?];
        arguments.extend(own.iter().cloned());
        let mut as_script = vec![c"/bin/sh".to_owned(), CString::default()];
        as_script.extend(own);
        // Reuses the memory of each variable, so that the environment is not held twice.
        let environment = environment.into_iter().map(|(mut entry, value)| {
            entry.push("=");
            entry.push(value);
            Ok(CString::new(entry.into_vec())?)
        });
        let dir = command.dir().map(Path::as_os_str);
        let progress = Progress {
            report: told,
            dir: format!("{:?}", dir.unwrap_or_default()),
        };
        let prepared = Prepared {
            files,
            arguments,
            as_script,
            environment: environment.collect::<io::Result<_>>()?,
            dir: dir.map(c_string).transpose()?,
            role,
            confinement: command.confinement(),
            stdio,
            report,
        };
        Ok((prepared, progress))
    }

    /// Creates the child and returns its id, which is also the id of its group and session.
    ///
    /// # Errors
    /// When the system has no more processes or memory.
    pub(crate) fn fork(self) -> io::Result<i32> {
        let arguments = pointers(&self.arguments);
        let mut as_script = pointers(&self.as_script);
        let environment = pointers(&self.environment);
        let parent = std::process::id().cast_signed();
        // SAFETY: the child calls nothing but system calls that are async-signal-safe, with strings and
        // lists that end in NUL and were made before. Signals are held back until it has no handlers.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let pid = libc::fork();
            if pid == 0 {
                let mut report = above_stdio(self.report.as_raw_fd());
                // Before the descriptors are closed, of which it may need one.
                let is_confined = self.confinement.as_ref().is_none_or(|it| it.confine());
                let (step, number) = if !is_confined {
                    (CONFINE, errno())
                } else if self.set_up(parent, &mut report) {
                    self.run(&arguments, &mut as_script, &environment)
                } else {
                    (SET_UP, errno())
                };
                let [a, b, c, d] = number.to_ne_bytes();
                let text = [step, a, b, c, d];
                libc::write(report, text.as_ptr().cast(), REPORT);
                libc::_exit(127);
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            match pid {
                -1 => Err(error),
                pid => Ok(pid),
            }
        }
    }

    /// In the child: detaches it from the parent and closes all inherited descriptors. Exec would close them
    /// too, but the child may block before, and the pipes of other children would stay open. May move `report`.
    /// False if a step failed.
    ///
    /// # Safety
    /// Only in a process that has just been forked.
    unsafe fn set_up(&self, parent: i32, report: &mut i32) -> bool {
        // SAFETY: system calls with plain integers and data on the stack.
        unsafe {
            match self.role {
                Role::Child(limit) => {
                    if let Some(limit) = limit {
                        set_limit(Some(limit));
                    }
                    if !dies_with(parent) {
                        return false;
                    }
                }
                Role::Guardian => set_limit(None),
            }
            // Reset all dispositions and the signal mask. The program and its children would inherit signals
            // that are ignored or blocked here, could then not be ended by SIGTERM, or not wait for their own
            // children.
            for signal in 1..=LAST_SIGNAL {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::setsid() == -1 {
                return false;
            }
            let stdio = [0, 1, 2].map(|n: usize| above_stdio(self.stdio[n].as_raw_fd()));
            for (target, fd) in (0..).zip(stdio) {
                if fd == -1 || libc::dup2(fd, target) == -1 {
                    return false;
                }
            }
            if libc::dup2(*report, REPORT_FD) == -1 {
                return false;
            }
            *report = REPORT_FD;
            libc::fcntl(REPORT_FD, libc::F_SETFD, libc::FD_CLOEXEC);
            close_from(REPORT_FD + 1);
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            true
        }
    }

    /// In the child: executes the program. Returns the step that failed and its error number.
    ///
    /// # Safety
    /// Only in a process that has just been forked. The lists must end in NUL.
    unsafe fn run(
        &self,
        arguments: &[*const libc::c_char],
        as_script: &mut [*const libc::c_char],
        environment: &[*const libc::c_char],
    ) -> (u8, i32) {
        // SAFETY: system calls with strings that end in NUL, and with lists of them that do.
        unsafe {
            if let Some(dir) = &self.dir
                && libc::chdir(dir.as_ptr()) == -1
            {
                return (WORKING_DIR, errno());
            }
            let environment = environment.as_ptr();
            // The algorithm of execvp, which is not async-signal-safe.
            let mut number = libc::ENOENT;
            for file in &self.files {
                libc::execve(file.as_ptr(), arguments.as_ptr(), environment);
                let mut error = errno();
                if error == libc::ENOEXEC {
                    as_script[SCRIPT] = file.as_ptr();
                    libc::execve(c"/bin/sh".as_ptr(), as_script.as_ptr(), environment);
                    error = errno();
                }
                if error == libc::EACCES {
                    number = error;
                } else if self.files.len() == 1 || !MISSING.contains(&error) {
                    return (EXEC, error);
                }
            }
            (EXEC, number)
        }
    }
}

/// The same file as `fd`, under a number that the copies to stdin, stdout and stderr do not overwrite; -1 on
/// failure.
fn above_stdio(fd: i32) -> i32 {
    match fd {
        // SAFETY: plain integers.
        0..=2 => unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) },
        fd => fd,
    }
}

/// Closes this descriptor and all higher ones.
fn close_from(first: i32) {
    if close_range(first) {
        return;
    }
    for fd in first..FD_LIMIT {
        // SAFETY: a plain integer.
        unsafe { libc::close(fd) };
    }
}

/// The candidate paths of the program. A name without a slash is looked up in the folders of `path`, but not in
/// relative ones, which would depend on the working directory.
fn candidates(program: &OsStr, path: Option<&OsString>) -> io::Result<Vec<CString>> {
    if program.is_empty() {
        return Ok(Vec::new());
    }
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| c_string(folder.join(program).as_os_str()))
        .collect()
}

/// The error number of the last system call.
fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    let strings = strings.iter().map(|string| string.as_ptr());
    strings.chain([ptr::null()]).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
