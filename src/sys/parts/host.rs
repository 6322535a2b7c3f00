//! The system that this process runs on: what it is, how much memory it gives, and what it lacks.

use std::fs;
use std::path::Path;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as kernel;

/// A system of which none of this is known.
#[cfg(not(target_os = "linux"))]
mod kernel {
    pub(super) fn machine() -> Option<String> {
        None
    }

    pub(super) fn limits_of_memory() -> Vec<u64> {
        Vec::new()
    }

    pub(super) fn missing() -> Vec<&'static str> {
        Vec::new()
    }
}

/// The system that this process runs on. What it does not tell is absent.
#[derive(Clone, Debug)]
pub struct Host {
    /// The processor, as the kernel names it. A 32-bit program may run on a 64-bit kernel.
    pub machine: Option<String>,
    /// The memory of the system in bytes.
    pub memory: Option<u64>,
    /// What this process may have of it at most, in bytes: the least of its own limits (`ulimit -d`, `-v`) and those of
    /// its control groups. `None` without a limit.
    pub memory_limit: Option<u64>,
    /// What gosling does without, because this kernel, or who limits this process, does not give it. Linux only.
    pub missing: Vec<&'static str>,
}

/// Asks the system. For a process with one thread.
pub fn host() -> Host {
    let of_groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = limits_of_groups(Path::new("/sys/fs/cgroup"), &of_groups);
    let mut limits = kernel::limits_of_memory().into_iter().chain(of_groups);
    let first = limits.next();
    Host {
        machine: kernel::machine(),
        memory: memory_in(&fs::read_to_string("/proc/meminfo").unwrap_or_default()),
        memory_limit: first.map(|first| limits.fold(first, u64::min)),
        missing: kernel::missing(),
    }
}

/// The memory of a system in bytes, in the text of `/proc/meminfo`.
fn memory_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: u64 = line?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The memory limits of control groups in bytes: those of the second version with the path in the text of
/// `/proc/self/cgroup`, and of the groups above it.
fn limits_of_groups(root: &Path, of_process: &str) -> Vec<u64> {
    let path = of_process.lines().find_map(|line| line.strip_prefix("0::"));
    let path = Path::new(path.unwrap_or("/").trim_start_matches('/'));
    let limit = |group: &Path| {
        let text = fs::read_to_string(root.join(group).join("memory.max"));
        text.ok()?.trim().parse().ok()
    };
    path.ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests;
