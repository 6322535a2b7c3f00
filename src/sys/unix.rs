//! The system calls behind [`process`](super::process), [`guardian`](super::guardian) and
//! [`signal`](super::signal) on Unix. Most `unsafe` here is a system call with plain integers, or with data
//! that the caller owns and for which zero is valid. Three parts need more care: `start` forks and execs,
//! where the child makes only system calls with data that was prepared before the fork; `erase_variable`
//! overwrites a secret in the environment, if there is one thread; and `executable` unmaps code and
//! constants, which the system then maps again.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod executable;
pub(super) mod files;
#[cfg(any(test, target_os = "macos"))]
mod process_arguments;
mod start;
#[cfg_attr(
    all(target_os = "linux", target_pointer_width = "32"),
    path = "unix/state_32.rs"
)]
mod state;
#[cfg_attr(target_os = "linux", path = "unix/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "unix/not_linux.rs")]
mod system;
#[cfg_attr(target_os = "macos", path = "unix/table_macos.rs")]
pub(super) mod table;

pub(super) use start::Prepared;
use std::ffi::CString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};
pub(crate) use system::limits;
pub(super) use system::{PidFd, is_only_thread, limit_of, started_file, unmap_code};
pub use system::{protect_memory, system_memory, wait_signal_timeout};

/// The policy of commands that are given no other.
pub const SYSTEM_POLICY: &str = "/etc/gosling/policy.yaml";

/// The signals that are sent to groups and processes.
#[derive(Clone, Copy)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

impl Signal {
    fn number(self) -> i32 {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        }
    }

    /// Sends it with `send`. A stopped process is continued, so that it can end by itself.
    fn send_with(self, send: impl Fn(i32) -> io::Result<()>) -> io::Result<()> {
        send(self.number())?;
        match self {
            Signal::Terminate => send(libc::SIGCONT),
            Signal::Kill => Ok(()),
        }
    }
}

/// Whether an error says that there is no such process.
pub(super) fn is_no_such_process(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// Whether an error says that descriptors or memory are used up, which may pass.
pub(super) fn is_resource_exhausted(error: &io::Error) -> bool {
    let exhausted = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    let code = error.raw_os_error();
    code.is_some_and(|code| exhausted.contains(&code))
}

/// Makes this process ignore ending signals, so that only the end of its pipe ends it, and gives it another
/// name than the server's, so that `killall -9 gosling` does not kill it.
pub(super) fn become_guardian() {
    for signal in ENDING.into_iter().chain([libc::SIGPIPE]) {
        // SAFETY: SIG_IGN is a valid disposition for each of these signals.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    system::set_name(c"goslingguardian");
}

/// Kills a child that has not been reaped.
pub(super) fn kill_child(pid: i32) {
    let _ = kill(pid, Signal::Kill.number());
}

/// Signals a whole group. Ignores that it is gone.
pub(super) fn signal_group(group: i32, signal: Signal) {
    if group > 1 {
        let _ = signal.send_with(|number| kill(-group, number));
    }
}

/// Waits until one of these descriptors is readable or at its end; returns which are. Negative descriptors are
/// ignored.
pub(super) fn wait_any<const N: usize>(fds: [i32; N], limit: Duration) -> [bool; N] {
    wait_each(fds.map(|fd| (fd, libc::POLLIN)), limit)
}

/// Waits until one of the descriptors is ready for its events or was closed by the other side; says which are.
pub(super) fn wait_each<const N: usize>(
    wanted: [(i32, libc::c_short); N],
    limit: Duration,
) -> [bool; N] {
    let mut polls = wanted.map(|(fd, events)| libc::pollfd {
        fd,
        events,
        revents: 0,
    });
    let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: N valid pollfds that outlive the call.
    unsafe { libc::poll(polls.as_mut_ptr(), N as libc::nfds_t, millis) };
    polls.map(|poll| poll.fd >= 0 && poll.revents != 0)
}

/// Waits until a child has exited or is no longer a child of this process; does not reap it. False when the
/// limit passes first.
pub(super) fn wait_exit(pid: i32, limit: Duration) -> bool {
    let begin = Instant::now();
    let runs = || matches!(state_of(pid), State::Runs);
    if !runs() {
        return true;
    }
    if let Some(handle) = PidFd::open(pid) {
        return wait_readable(handle.fd(), limit) && !runs();
    }
    let mut pause = Duration::from_millis(1);
    while begin.elapsed() < limit {
        thread::sleep(pause);
        if !runs() {
            return true;
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    false
}

/// The state of a child of this process.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Runs,
    /// It waits to be reaped: its id is not reused.
    Exited(ExitStatus),
    /// It has been reaped, by other code in this process, or by the system because SIGCHLD is ignored. Its id
    /// may have been reused for another process or group.
    NotOurs,
}

/// The state of a child; does not reap it.
pub(super) fn state_of(pid: i32) -> State {
    // SAFETY: siginfo_t is plain data for which zero is valid, and it outlives the call.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        let id = libc::id_t::from(pid.cast_unsigned());
        match libc::waitid(libc::P_PID, id, &raw mut info, options) {
            0 if info.si_pid() == pid => State::Exited(status_in(info.si_code, info.si_status())),
            0 => State::Runs,
            _ => State::NotOurs,
        }
    }
}

/// Waits until any child has exited, which may be one that was never started here; does not reap it. `None` if there is
/// no child.
pub(super) fn wait_any_exit() -> Option<i32> {
    loop {
        // SAFETY: siginfo_t is plain data for which zero is valid, and it outlives the call.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOWAIT;
            let result = libc::waitid(libc::P_ALL, 0, &raw mut info, options);
            match checked(result) {
                Ok(()) => return Some(info.si_pid()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

/// The status in the encoding of `wait`.
fn status_in(code: i32, status: i32) -> ExitStatus {
    ExitStatus::from_raw(match code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    })
}

/// Declares that all children of this process are started by this layer. As the first process of a container it then
/// also reaps those that others leave to it, in a thread; it would take the children of a program's own code from that.
///
/// # Errors
/// No thread can be had.
pub fn own_all_children() -> io::Result<()> {
    if std::process::id() == 1 {
        super::spawner::start_reaper()?;
    }
    Ok(())
}

/// Reaps a child that has exited; its id may then be reused.
pub(super) fn reap(pid: i32) {
    // SAFETY: plain integers, and no interest in the status.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// The result of signalling a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalOutcome {
    Signalled,
    /// It had ended, or was not the intended process.
    Gone,
    /// This process may not signal it.
    Refused,
}

/// Signals the process if `still_meant` says that it is the intended one. A handle on the process keeps its id
/// from being reused between the check and the signal.
pub(super) fn signal_if(pid: i32, signal: Signal, still_meant: impl Fn() -> bool) -> SignalOutcome {
    let handle = match PidFd::open(pid) {
        None if is_no_such_process(&io::Error::last_os_error()) => return SignalOutcome::Gone,
        handle => handle,
    };
    if !still_meant() {
        return SignalOutcome::Gone;
    }
    let sent = signal.send_with(|number| match &handle {
        Some(handle) => handle.signal(number),
        None => kill(pid, number),
    });
    match sent {
        Ok(()) => SignalOutcome::Signalled,
        Err(e) if is_no_such_process(&e) => SignalOutcome::Gone,
        Err(_) => SignalOutcome::Refused,
    }
}

/// Whether this process may not signal the other one, because it belongs to another user.
pub(super) fn is_out_of_reach(pid: i32) -> bool {
    kill(pid, 0).is_err_and(|e| e.raw_os_error() == Some(libc::EPERM))
}

fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain integers.
    checked(unsafe { libc::kill(pid, signal) })
}

/// Whether a system call has succeeded that returned this.
fn checked(result: impl Into<i64>) -> io::Result<()> {
    match result.into() {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number of SIGHUP.
pub const HANG_UP: i32 = libc::SIGHUP;
/// The signals that end a server.
const ENDING: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// Those of them that this process does not ignore: under `nohup` it must go on without its terminal, and a
/// script's background processes must not receive the terminal's interrupt.
fn ending() -> libc::sigset_t {
    // SAFETY: sigset_t is plain data that sigemptyset initializes.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in ENDING {
            if signal == libc::SIGTERM || !is_ignored(signal) {
                libc::sigaddset(&raw mut set, signal);
            }
        }
        set
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain data for which zero is valid, and it outlives the call, which changes
    // nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(signal, std::ptr::null(), &raw mut action);
        asked == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Resets dispositions that the parent process may have changed. With SIGCHLD ignored, the system reaps
/// children before this process learns how they ended. With SIGXFSZ at its default, a file that reaches the
/// size limit (`ulimit -f`) ends the process instead of causing an error. Called before threads are started.
pub fn reset_inherited_signals() {
    // SAFETY: both are valid dispositions for these signals; called before threads are made.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Blocks the ending signals in this thread and in the threads that it starts later, so that only a wait for them
/// receives them. Called before threads are started. Children of [`process`](super::process) do not inherit
/// this.
pub fn block_signals() {
    // SAFETY: a valid set, and no interest in the old one.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ending(), std::ptr::null_mut()) };
}

/// Waits for the next ending signal and returns its number.
pub fn wait_signal() -> i32 {
    let mut signal = 0;
    // SAFETY: a valid set and a place for the answer, both outlive the call.
    while unsafe { libc::sigwait(&ending(), &raw mut signal) } != 0 {}
    signal
}

/// Keeps the allocator from using an arena for each thread: many threads that each allocate little would hold
/// pages that none of them uses. Called first in `main`.
pub fn limit_allocator_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: plain integers; called before threads are made.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2)
    };
}

/// The limits that this process has itself on its memory, in bytes.
pub(super) fn own_memory_limits() -> [u64; 2] {
    [libc::RLIMIT_AS as i32, libc::RLIMIT_DATA as i32].map(own_limit)
}

/// How many descriptors this process may have open.
pub(super) fn descriptor_limit() -> u64 {
    own_limit(libc::RLIMIT_NOFILE as i32)
}

fn own_limit(limit: i32) -> u64 {
    limits(0, limit, None).map_or(u64::MAX, |[soft, _]| soft)
}

/// Overwrites the value of a variable in place, where the kernel shows it to other processes, and removes the
/// variable. Called where [`is_only_thread`] has just said so.
pub(super) fn erase_variable(name: &str) {
    let Ok(c_name) = CString::new(name) else {
        return;
    };
    // SAFETY: no other thread reads or changes the environment; the value is a NUL-terminated string that is
    // ours to write to, up to its NUL.
    unsafe {
        let mut byte = libc::getenv(c_name.as_ptr());
        while !byte.is_null() && *byte != 0 {
            byte.write_volatile(0);
            byte = byte.add(1);
        }
        std::env::remove_var(name);
    }
}

/// Returns the free pages that the allocator keeps to the system. After many allocations they lie between used
/// ones, where the allocator does not find them by itself.
pub(super) fn trim_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a plain integer; may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// See [`pipe::PipeWriter`](super::pipe::PipeWriter).
pub(super) fn set_nonblocking(fd: i32) -> io::Result<()> {
    // SAFETY: plain integers on a descriptor that the caller owns.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        checked(flags)?;
        checked(libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK))
    }
}

/// Waits until a pipe is writable or its reader is gone. False when the limit passes first.
pub(super) fn wait_writable(fd: i32, limit: Duration) -> bool {
    wait_each([(fd, libc::POLLOUT)], limit)[0]
}

/// Waits until a pipe is readable or its writer is gone. False when the limit passes first.
pub(super) fn wait_readable(fd: i32, limit: Duration) -> bool {
    wait_any([fd], limit)[0]
}
