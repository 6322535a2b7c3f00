//! What a Linux kernel tells, and what it lacks.
#![allow(unsafe_code)]

use crate::unix;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::ptr;

/// Bits of the limit that carries marks which a 32-bit kernel does not have.
const LARGE: u64 = 1 << 40;

pub(in super::super) fn machine() -> Option<String> {
    // SAFETY: an all-zero `utsname` is valid; `uname` fills it with texts that end with a zero.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        if libc::uname(&raw mut name) != 0 {
            return None;
        }
        name
    };
    // `c_char` is signed or not, as the processor has it.
    let bytes = name.machine.map(|byte| byte as u8);
    let machine = CStr::from_bytes_until_nul(&bytes).ok()?;
    Some(machine.to_string_lossy().into_owned())
}

/// What this kernel lacks, oldest first.
pub(in super::super) fn missing() -> Vec<&'static str> {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: calls that name no process, no descriptor and no file, and fail for that, or read one number.
    let [pidfd, close_range, openat2, landlock, seccomp] = unsafe {
        let none = ptr::null::<u8>();
        [
            exists(libc::syscall(libc::SYS_pidfd_open, -1, 0)),
            exists(libc::syscall(libc::SYS_close_range, 1, 0, 0)),
            exists(libc::syscall(libc::SYS_openat2, -1, none, none, 0)),
            libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, 1) > 0,
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_GET_ACTION_AVAIL,
                0,
                &raw const action,
            ) == 0,
        ]
    };
    let all = [
        (has_proc(), "proc"),
        (limits_have_64_bits(), "limits_of_64_bits"),
        (seccomp, "seccomp"),
        (pidfd, "pidfd_open"),
        (openat2, "openat2"),
        (close_range, "close_range"),
        (landlock, "landlock"),
    ];
    let missing = all.into_iter().filter(|(exists, _)| !exists);
    missing.map(|(_, name)| name).collect()
}

/// Whether there is a call that has just ended with this.
fn exists(result: libc::c_long) -> bool {
    result != -1 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Whether `/proc` shows the processes that this one sees.
fn has_proc() -> bool {
    let own = std::process::id().to_string();
    fs::read_link("/proc/self").is_ok_and(|link| link.to_str() == Some(&own))
}

/// Whether a limit can have a mark in its upper bits: tried with the own one. True where it may not be changed, which
/// says nothing about the kernel.
fn limits_have_64_bits() -> bool {
    let resource = libc::RLIMIT_LOCKS as i32;
    let Ok([soft, hard]) = unix::limits(0, resource, None) else {
        return true;
    };
    if hard < LARGE || unix::limits(0, resource, Some([LARGE, hard])).is_err() {
        return true;
    }
    let set = unix::limits(0, resource, Some([soft, hard]));
    set.is_ok_and(|[set, _]| set == LARGE)
}
