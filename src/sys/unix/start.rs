//! fork and exec. Both are done here, and not by std, so that the thread that forks does not wait for exec,
//! which takes as long as the file system likes.

use super::super::command::Command;
use super::super::is_executable;
use super::super::mark::Mark;
use super::set_limit;
use std::collections::BTreeMap;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

/// What the child says of a step that failed: which one, and the error's number.
const REPORT: usize = 5;
const SET_UP: u8 = 0;
const WORKING_DIR: u8 = 1;
const EXEC: u8 = 2;
/// The highest number of a signal.
const LAST_SIGNAL: i32 = 64;

/// All that a child needs, made before the fork: behind it there are only system calls.
pub(in crate::sys) struct Prepared {
    program: CString,
    arguments: Vec<CString>,
    /// For a script that does not name its interpreter, as shells run it.
    as_script: Vec<CString>,
    environment: Vec<CString>,
    dir: Option<CString>,
    role: Role,
    /// What becomes its stdin, stdout and stderr.
    stdio: [OwnedFd; 3],
    /// Closed by exec.
    report: PipeWriter,
}

/// What a child is to this process.
#[derive(Clone, Copy)]
enum Role {
    /// It carries this limit, if any, and dies with the thread that makes it.
    Child(Option<u64>),
    /// It outlives this process, and carries no mark that was put on it: the guardian of a server that is
    /// another server's child has work to do when that one ends its child.
    Guardian,
}

/// Tells whether a child that was forked has come to run its program.
pub(in crate::sys) struct Progress {
    report: PipeReader,
    /// For errors.
    dir: String,
}

impl Progress {
    /// None while it is not known, which takes no longer than the limit.
    ///
    /// # Errors
    /// Why it has not, and never will. It has ended, or is about to.
    pub(in crate::sys) fn wait(&mut self, limit: Duration) -> Option<io::Result<()>> {
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
                let text = format!("the working directory {} is of no use: {error}", self.dir);
                io::Error::new(error.kind(), text)
            }
            _ => error,
        }))
    }
}

impl Prepared {
    /// A child that leads a session of its own, out of reach of this process's terminal, carries the mark,
    /// and is killed when the thread that makes it ends (Linux).
    ///
    /// # Errors
    /// When there is no such program, something has a NUL byte in it, or there are no more descriptors.
    pub(in crate::sys) fn child(
        command: &Command,
        mark: &Mark,
        stdio: [OwnedFd; 3],
    ) -> io::Result<(Prepared, Progress)> {
        let environment = command.environment();
        Self::new(command, environment, Role::Child(mark.limit()), stdio)
    }

    /// A guardian, which is given no variables.
    ///
    /// # Errors
    /// As [`child`](Self::child).
    pub(in crate::sys) fn guardian(
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
        let program = c_string(&find(command.program(), path)?)?;
        let own = command.arguments().iter().map(|arg| c_string(arg));
        let own = own.collect::<io::Result<Vec<_>>>()?;
        let mut arguments = vec![c_string(command.program())?];
        arguments.extend(own.iter().cloned());
        let mut as_script = vec![c"/bin/sh".to_owned(), program.clone()];
        as_script.extend(own);
        let environment = environment.iter().map(|(name, value)| {
            let mut entry = name.clone();
            entry.push("=");
            entry.push(value);
            c_string(&entry)
        });
        let dir = command.dir().map(Path::as_os_str);
        let progress = Progress {
            report: told,
            dir: format!("{:?}", dir.unwrap_or_default()),
        };
        let prepared = Prepared {
            program,
            arguments,
            as_script,
            environment: environment.collect::<io::Result<_>>()?,
            dir: dir.map(c_string).transpose()?,
            role,
            stdio,
            report,
        };
        Ok((prepared, progress))
    }

    /// Makes the child and gives its id, which is that of its group and session, too.
    ///
    /// # Errors
    /// When there are no more processes, or there is no memory for one.
    pub(in crate::sys) fn fork(self) -> io::Result<i32> {
        let (arguments, as_script) = (pointers(&self.arguments), pointers(&self.as_script));
        let environment = pointers(&self.environment);
        let parent = std::process::id().cast_signed();
        // SAFETY: the child calls nothing but system calls that are async-signal-safe, with strings and
        // lists that end in NUL and were made before. Signals are held back until it has no handlers.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let pid = libc::fork();
            if pid == 0 {
                let report = above_stdio(self.report.as_raw_fd());
                let step = self.run(parent, &arguments, &as_script, &environment);
                let number = io::Error::last_os_error().raw_os_error().unwrap_or(0);
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

    /// In the child: becomes the program. Gives the step that failed.
    ///
    /// # Safety
    /// For a process that has just been forked. The lists end in NUL.
    unsafe fn run(
        &self,
        parent: i32,
        arguments: &[*const libc::c_char],
        as_script: &[*const libc::c_char],
        environment: &[*const libc::c_char],
    ) -> u8 {
        // SAFETY: system calls with plain integers, data on the stack and strings that end in NUL.
        unsafe {
            match self.role {
                Role::Child(limit) => {
                    if let Some(limit) = limit {
                        set_limit(Some(limit));
                    }
                    if !dies_with(parent) {
                        return SET_UP;
                    }
                }
                Role::Guardian => set_limit(None),
            }
            // The program hears every signal: what is ignored here because a launcher wanted it so, or
            // held back in the thread that forks, would be so in it and in all that it starts, and some
            // of that could not be ended by SIGTERM, or not wait for its own children.
            for signal in 1..=LAST_SIGNAL {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::setsid() == -1 {
                return SET_UP;
            }
            let stdio = [0, 1, 2].map(|n: usize| above_stdio(self.stdio[n].as_raw_fd()));
            for (target, fd) in (0..).zip(stdio) {
                if fd == -1 || libc::dup2(fd, target) == -1 {
                    return SET_UP;
                }
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            if let Some(dir) = &self.dir
                && libc::chdir(dir.as_ptr()) == -1
            {
                return WORKING_DIR;
            }
            let environment = environment.as_ptr();
            libc::execve(self.program.as_ptr(), arguments.as_ptr(), environment);
            if io::Error::last_os_error().raw_os_error() == Some(libc::ENOEXEC) {
                libc::execve(c"/bin/sh".as_ptr(), as_script.as_ptr(), environment);
            }
            EXEC
        }
    }
}

/// The kernel will kill this process when the thread that has made it ends. False when `parent` has died
/// before.
fn dies_with(parent: i32) -> bool {
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    #[cfg(target_os = "linux")]
    // SAFETY: plain integers.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 || libc::getppid() != parent {
            return false;
        }
    }
    true
}

/// The same file, closed by exec, where no copy to stdin, stdout or stderr overwrites it; -1 if it cannot
/// be had.
fn above_stdio(fd: i32) -> i32 {
    match fd {
        // SAFETY: plain integers.
        0..=2 => unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) },
        fd => fd,
    }
}

/// The file of a program: a name without a slash is looked up.
fn find(program: &OsStr, path: Option<&OsString>) -> io::Result<OsString> {
    if program.as_bytes().contains(&b'/') {
        return Ok(program.to_owned());
    }
    let folders = path.map(|path| env::split_paths(path).collect());
    let folders: Vec<_> = folders.unwrap_or_else(|| vec!["/usr/bin".into(), "/bin".into()]);
    let mut files = folders.iter().map(|folder| folder.join(program));
    let file = files.find(|file| !program.is_empty() && is_executable(file));
    file.map(Into::into)
        .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    let strings = strings.iter().map(|string| string.as_ptr());
    strings.chain([ptr::null()]).collect()
}
