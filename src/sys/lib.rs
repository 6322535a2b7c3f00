//! The operating system layer: processes, signals, clocks, random ids. The only member with `cfg(os)` and with
//! `unsafe`.
#![deny(unsafe_code)]

pub mod alarm;
pub mod cancel;
mod child_command;
pub mod clock;
pub mod fs;
pub mod guardian;
mod marked_processes;
pub mod net;
pub mod pipe;
mod proc_environ;
pub mod process;
mod process_mark;
pub mod signal;
mod spawner;
mod stamp;
pub mod sync;
pub mod threads;
mod time_limit;
mod unix;

pub use threads::{SMALL_STACK, spawn};
pub use time_limit::TimeLimit;
pub use unix::{
    HiddenInput, limit_arenas as limit_allocator_arenas, make_undumpable as protect_memory,
};

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also a poisoned one: no code here leaves an inconsistent state behind when it panics.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `bytes` random bytes from the system, in lower-case hexadecimal.
///
/// # Errors
/// When the system has no random bytes.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    getrandom::getrandom(&mut buffer).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A random byte for the jitter of a wait, 128 if the system has no random bytes.
pub fn random_byte() -> u8 {
    let mut byte = [128];
    let _ = getrandom::getrandom(&mut byte);
    byte[0]
}

/// Removes a variable from the environment and overwrites the memory in which other processes see it. Returns
/// its value if it is Unicode. For secrets; must be called while the process has one thread.
pub fn take_variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    unix::erase_variable(name);
    value.into_string().ok()
}

/// Returns memory to the system: what the allocator keeps of freed memory, and the pages of the executable's
/// code and constants, which the system maps again where they are used. For times when the server is idle.
pub fn trim_memory() {
    unix::trim_arenas();
    unix::unmap_code();
}

/// The version of the operating system: on Unix, of its kernel.
pub fn os_version() -> String {
    unix::kernel_release().unwrap_or_else(|| "unknown".to_owned())
}

/// What this process uses. What the system does not tell is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Threads.
    pub threads: Option<u64>,
    /// Memory in RAM, in bytes.
    pub resident: Option<u64>,
    /// Processor time.
    pub cpu: Option<std::time::Duration>,
    /// Open file descriptors.
    pub files: Option<u64>,
}

/// What this process uses now. Reads `/proc` on Linux.
pub fn usage() -> Usage {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let files = std::fs::read_dir("/proc/self/fd").ok();
    Usage {
        threads: field(&status, "Threads:"),
        resident: field(&status, "VmRSS:").map(|kib| kib << 10),
        cpu: unix::cpu_time(),
        // One of them is that of the folder itself.
        files: files.map(|files| files.count().saturating_sub(1) as u64),
    }
}

/// A number in the text of `/proc/PID/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line?.split_whitespace().next()?.parse().ok()
}

/// The memory in RAM of the processes of a group, in bytes; `None` if none of them can be seen. Reads `/proc` on
/// Linux.
pub fn resident_of_group(group: i32) -> Option<u64> {
    let mut sum = None;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // The program's name, which may contain anything, is in parentheses. The group is the third field after it.
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            continue;
        };
        if fields.split(' ').nth(2) != Some(group.to_string().as_str()) {
            continue;
        }
        let status = std::fs::read_to_string(process.path().join("status")).unwrap_or_default();
        sum = Some(sum.unwrap_or(0) + (field(&status, "VmRSS:").unwrap_or(0) << 10));
    }
    sum
}

/// Whether the path is a file with any execute permission; the system decides whether this process may run it.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
