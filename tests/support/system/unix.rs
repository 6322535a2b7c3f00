//! Unix: signals, descriptors, users, and processes by `/proc`.

use super::super::process::{Proc, descendants};
use super::super::server::Server;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A folder that every machine has.
pub const ROOT: &str = "/";
/// The variable that names the home folder.
pub const HOME: &str = "HOME";
/// How std calls the end of a process by itself.
pub(super) const EXIT_STATUS: &str = "exit status";

/// Gives a program default signal dispositions, also where the tests run in the background.
pub fn prepare(command: &mut Command) {
    // SAFETY: `signal` may be called there, and takes the usual disposition.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        });
    }
}

/// How the process of a server starts, where that is not as usual.
#[derive(Clone, Default)]
pub struct StartOptions {
    ignored: Vec<i32>,
    /// The user that it runs as.
    user: Option<u32>,
    /// A descriptor that is closed at its start.
    closed: Option<i32>,
    /// What it gets as descriptors from 3 on.
    passed: Vec<Arc<OwnedFd>>,
    /// Its stdin; without, `/dev/null`.
    stdin: Option<Arc<OwnedFd>>,
    /// Whether it and its children may not read other processes' memory, even where the tests run as root.
    without_ptrace: bool,
    /// What its process does to itself before it runs gosling.
    confine: Option<fn() -> io::Result<()>>,
}

impl StartOptions {
    /// Whether it can say its address on stderr.
    pub fn reports(&self) -> bool {
        self.closed.is_none()
    }

    pub fn apply(&self, command: &mut Command) {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let (ignored, closed) = (self.ignored.clone(), self.closed);
        let passed = self.passed.clone();
        // SAFETY: these may be called there; what cannot be ignored is not.
        unsafe {
            command.pre_exec(move || {
                for signal in &ignored {
                    libc::signal(*signal, libc::SIG_IGN);
                }
                if let Some(fd) = closed {
                    libc::close(fd);
                }
                // First out of the way of each other.
                let mut moved = [-1; 8];
                for (passed, moved) in passed.iter().zip(&mut moved) {
                    *moved = libc::fcntl(passed.as_raw_fd(), libc::F_DUPFD, 100);
                }
                for (at, moved) in (3..).zip(moved).take(passed.len()) {
                    libc::dup2(moved, at);
                    libc::close(moved);
                }
                Ok(())
            });
        }
        #[cfg(target_os = "linux")]
        if self.without_ptrace {
            // CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON, each of which is sufficient.
            const INSPECT: [libc::c_ulong; 3] = [19, 21, 38];
            // SAFETY: a system call with plain integers. Who may not do this has no such privilege.
            unsafe {
                command.pre_exec(|| {
                    for privilege in INSPECT {
                        libc::prctl(libc::PR_CAPBSET_DROP, privilege, 0, 0, 0);
                    }
                    Ok(())
                });
            }
        }
        if let Some(confine) = self.confine {
            // SAFETY: it makes system calls alone.
            unsafe { command.pre_exec(confine) };
        }
        command.stdin(self.stdin.as_ref().map_or(Stdio::null(), |stdin| {
            stdin.try_clone().expect("a descriptor").into()
        }));
    }
}

impl Server {
    /// Ignores these signals at the start, as a parent process may arrange.
    pub fn ignoring(mut self, signals: &[i32]) -> Self {
        self.start.ignored.extend(signals);
        self
    }

    /// Runs it as this user, to whom its files already belong.
    pub fn user(mut self, user: u32) -> Self {
        self.start.user = Some(user);
        self
    }

    /// Closes this descriptor at the start, as `2>&-` does.
    pub fn without_descriptor(mut self, fd: i32) -> Self {
        self.start.closed = Some(fd);
        self
    }

    /// Passes this at the next descriptor from 3 on, as a service manager does.
    pub fn passing(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.start.passed.push(Arc::new(descriptor.into()));
        self
    }

    /// Gives it this stdin.
    pub fn with_stdin(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.start.stdin = Some(Arc::new(descriptor.into()));
        self
    }

    /// Removes the privilege to inspect other processes from it and its children, as for an ordinary user.
    #[cfg(target_os = "linux")]
    pub fn without_ptrace(mut self) -> Self {
        self.start.without_ptrace = true;
        self
    }

    /// Has its process do this to itself before it runs gosling. It makes system calls alone.
    pub fn confined(mut self, confine: fn() -> io::Result<()>) -> Self {
        self.start.confine = Some(confine);
        self
    }
}

struct Stat {
    /// A process whose first thread is a zombie is alive while other threads hold the pipes.
    dead: bool,
    parent: u32,
    born: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat {
        dead: fields[0] == "Z" && fields[17].parse::<u32>().ok()? <= 1,
        parent: fields[1].parse().ok()?,
        born: fields[19].parse().ok()?,
    })
}

/// When a living process started.
pub fn birth(pid: u32) -> Option<u64> {
    stat(pid).filter(|stat| !stat.dead).map(|stat| stat.born)
}

pub fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// All living processes, each with its parent.
pub fn processes() -> Vec<(u32, Proc)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let living = pids.filter_map(|pid| {
        let stat = stat(pid).filter(|stat| !stat.dead)?;
        let born = stat.born;
        Some((stat.parent, Proc { pid, born }))
    });
    living.collect()
}

/// Whether this word is among a process's arguments.
pub fn has_argument(pid: u32, word: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|argument| argument == word.as_bytes())
}

/// The process name of a server's guardian.
pub const GUARDIAN: &str = "goslingguardian";

/// The resources of a server, without its guardian, which stays for a while, and the pipe to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Census {
    pub threads: usize,
    pub fds: usize,
    pub descendants: usize,
}

pub fn census(of: u32) -> Census {
    let count = |what: &str| {
        let path = format!("/proc/{of}/{what}");
        // Only root can list the descriptors of a server; from Linux 6.2 on, everyone can read their number.
        let told = fs::metadata(&path).expect("the process lives").len();
        fs::read_dir(path).map_or(told as usize, |entries| entries.count())
    };
    let processes = descendants(of);
    let guardians = processes.iter().filter(|p| p.name() == GUARDIAN).count();
    Census {
        threads: count("task"),
        fds: count("fd").saturating_sub(guardians),
        descendants: processes.len() - guardians,
    }
}

/// The names of a process's threads and what its descriptors are, for the message of a test that fails.
pub fn inventory(of: u32) -> String {
    let entries = |what: &str| {
        let entries = fs::read_dir(format!("/proc/{of}/{what}"));
        let paths = entries.into_iter().flatten().flatten();
        paths.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let threads = entries("task").into_iter();
    let threads: String = threads
        .filter_map(|path| fs::read_to_string(path.join("comm")).ok())
        .collect();
    let fds = entries("fd").into_iter();
    let fds: String = fds
        .filter_map(|path| fs::read_link(path).ok())
        .map(|target| format!("{}\n", target.display()))
        .collect();
    format!("threads:\n{threads}descriptors:\n{fds}")
}

/// A size from `/proc/PID/status`, for example `VmRSS` or `VmHWM`, in bytes. The kernel adds
/// its counts up roughly: even `VmHWM` may fall by a few pages.
pub fn memory(of: u32, field: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{of}/status")).expect("the process lives");
    let line = status.lines().find(|line| line.starts_with(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kilobytes.expect("a size") << 10
}

/// Sends a signal, for example `TERM`.
pub fn signal(pid: u32, name: &str) {
    let command = format!("kill -{name} {pid}");
    let _ = Command::new("sh")
        .args(["-c", &command])
        .stderr(Stdio::null())
        .status();
}

/// Waits for the end of the test process, then kills the processes whose environment names one of its folders. A
/// server's guardian is left to do its work.
const CLEAN_UP: &str = r#"
trap '' INT TERM HUP
read -r _
for environment in $(grep -als -- "$1-" /proc/[0-9]*/environ); do
    process=${environment%/environ}
    read -r name < "$process/comm"
    [ "$name" = goslingguardian ] || kill -KILL "${process#/proc/}"
done
rm -rf -- "$1"-*
"#;

/// At the end of this process, however it comes about, ends the servers that it has started, and removes its folders,
/// whose names begin with `prefix`.
pub fn clean_up_at_end(prefix: &Path) {
    let mut clean_up = Command::new("sh");
    clean_up.args(["-c", CLEAN_UP, "sh"]).arg(prefix);
    let quiet = clean_up.stdout(Stdio::null()).stderr(Stdio::null());
    // Out of the reach of signals to the group of the test process.
    let clean_up = quiet.stdin(Stdio::piped()).process_group(0).spawn();
    // Its pipe ends with this process.
    std::mem::forget(clean_up.expect("sh starts"));
}

/// Sets the permissions of a file.
pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The permissions of a file.
pub fn mode(path: impl AsRef<Path>) -> Option<u32> {
    Some(fs::metadata(path).unwrap().permissions().mode() & 0o777)
}

/// Writes an executable script.
pub fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    set_mode(path, 0o755);
}

pub fn symlink(to: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

/// The path without links.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() == 0 }
}
