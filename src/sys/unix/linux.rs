//! What Linux alone has: handles on processes, the limit that carries marks, a wait for signals with an end.

use super::checked;
pub(in super::super) use super::executable::unmap_code;
use std::ffi::{CStr, OsStr};
use std::io::Result;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;

/// The limit that carries marks.
const LOCKS: i32 = libc::RLIMIT_LOCKS as i32;

/// A handle on a process, which keeps its id unambiguous. Linux 5.3.
pub(in super::super) struct PidFd(OwnedFd);

impl PidFd {
    pub(in super::super) fn open(pid: i32) -> Option<PidFd> {
        // SAFETY: a system call with plain integers; a descriptor that it returns is ours.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            (fd >= 0).then(|| PidFd(OwnedFd::from_raw_fd(fd as i32)))
        }
    }

    /// Waits until the process has exited or `fd` is readable or at its end; true if the process has exited and
    /// `fd` is not readable.
    pub(in super::super) fn wait_or_readable(&self, fd: Option<i32>) -> bool {
        let fds = [fd.unwrap_or(-1), self.fd()];
        loop {
            match super::wait_any(fds, Duration::MAX) {
                // A signal interrupted it.
                [false, false] => {}
                [is_readable, _] => return !is_readable,
            }
        }
    }

    /// A descriptor that becomes readable when the process has exited.
    pub(in super::super) fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub(super) fn signal(&self, signal: i32) -> Result<()> {
        let (fd, none) = (self.fd(), ptr::null::<libc::siginfo_t>());
        // SAFETY: plain integers and a null siginfo, which is allowed.
        checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, none, 0) })
    }
}

/// Whether this is the only thread of the process; false if the system does not say.
pub(in super::super) fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Sets the soft limit that carries marks, or resets it, if the hard limit allows that. Called in a child between
/// fork and exec.
pub(super) fn set_limit(soft: Option<u64>) {
    if let Ok([_, hard]) = limits(0, LOCKS, None) {
        let soft = soft.unwrap_or(hard);
        if soft <= hard {
            let _ = limits(0, LOCKS, Some([soft, hard]));
        }
    }
}

/// The soft limit of a process that carries marks.
pub(in super::super) fn limit_of(pid: i32) -> Result<u64> {
    limits(pid, LOCKS, None).map(|[soft, _]| soft)
}

/// The soft and the hard limit of a process, before they are set; 0 is this process. They have 64 bits on every
/// processor, but a 32-bit kernel takes large ones for no limit.
pub(crate) fn limits(pid: i32, resource: i32, new: Option<[u64; 2]>) -> Result<[u64; 2]> {
    let new = new.as_ref().map_or(ptr::null(), |new| new.as_ptr());
    let mut old = [0_u64; 2];
    // SAFETY: two limits that the kernel reads, unless there are none, and two that it writes.
    checked(unsafe { libc::syscall(libc::SYS_prlimit64, pid, resource, new, &raw mut old) })?;
    Ok(old)
}

/// The file that this process was started from, as the kernel was told. The working directory is that of the start.
pub(in super::super) fn started_file() -> Option<PathBuf> {
    // SAFETY: the kernel puts a string that ends with NUL on the stack of the first thread, for the life of the process.
    let name = unsafe {
        let name = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        (!name.is_null()).then(|| CStr::from_ptr(name))?
    };
    std::path::absolute(OsStr::from_bytes(name.to_bytes())).ok()
}

/// The memory of the system in bytes, if it tells.
#[allow(
    clippy::useless_conversion,
    reason = "the field has 32 bits on 32-bit processors"
)]
pub fn system_memory() -> Option<u64> {
    // SAFETY: sysinfo is plain data for which zero is valid, and it outlives the call.
    let info = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        checked(libc::sysinfo(&raw mut info)).ok()?;
        info
    };
    u64::from(info.totalram).checked_mul(info.mem_unit.into())
}

/// Sets the name of this thread, of at most 15 bytes.
pub(super) fn set_name(name: &CStr) {
    // SAFETY: the name ends with NUL; the kernel cuts a longer one.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Waits for the next ending signal, for at most `limit`. On systems other than Linux, `None` at once.
pub fn wait_signal_timeout(limit: Duration) -> Option<i32> {
    // The types of the fields differ between targets, and musl's `time_t` is deprecated by name.
    let limit = libc::timespec {
        tv_sec: limit.as_secs().min(i32::MAX.unsigned_abs().into()) as _,
        tv_nsec: limit.subsec_nanos() as _,
    };
    // SAFETY: a valid set and a valid time; no place for more information is given.
    let signal = unsafe { libc::sigtimedwait(&super::ending(), ptr::null_mut(), &raw const limit) };
    (signal > 0).then_some(signal)
}

/// Keeps processes of the same user, child processes included, from reading this process's memory and first
/// environment and from debugging it. Root still can. Also disables core dumps. Linux only; a no-op elsewhere.
pub fn protect_memory() {
    // SAFETY: a system call with plain integers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}

/// Makes the kernel kill this process when the thread that created it ends. False if `parent` has already died.
pub(super) fn dies_with(parent: i32) -> bool {
    // SAFETY: plain integers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != -1 && libc::getppid() == parent }
}

/// Closes this descriptor and all higher ones. False before Linux 5.9, and where a sandbox refuses it.
pub(super) fn close_range(first: i32) -> bool {
    // SAFETY: a system call with plain integers.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 }
}
