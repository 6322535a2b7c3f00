//! The release of the kernel, the user with whose rights this process acts, and the time that it took.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::time::Duration;

/// The release of the system's kernel, such as `6.1.0`.
pub(super) fn kernel_release() -> Option<String> {
    // SAFETY: an all-zero `utsname` is valid; `uname` fills it with texts that end with a zero.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        if libc::uname(&raw mut name) != 0 {
            return None;
        }
        name
    };
    // `c_char` is signed or not, as the processor has it.
    let bytes = name.release.map(|byte| byte as u8);
    let release = CStr::from_bytes_until_nul(&bytes).ok()?;
    Some(release.to_string_lossy().into_owned())
}

/// The user with whose rights this process acts; 0 is root. On Windows users have no numbers.
pub fn effective_user() -> Option<u32> {
    // SAFETY: a system call without arguments that cannot fail.
    Some(unsafe { libc::geteuid() })
}

/// The memory of this process in RAM: read elsewhere.
pub(super) fn resident() -> Option<u64> {
    None
}

/// The processor time of this process, of user and system.
pub(super) fn cpu_time() -> Option<Duration> {
    // SAFETY: an all-zero `rusage` is valid; `getrusage` fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) != 0 {
            return None;
        }
        usage
    };
    let time = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let micros = u64::try_from(time.tv_usec).ok()?;
        Some(Duration::from_secs(seconds) + Duration::from_micros(micros))
    };
    Some(time(usage.ru_utime)? + time(usage.ru_stime)?)
}
