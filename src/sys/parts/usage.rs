//! What this process and others use, and on what system.

#[cfg_attr(windows, path = "../windows/resources.rs")]
mod resources;

pub use resources::effective_user;

/// The version of the operating system: on Unix, of its kernel.
pub fn os_version() -> String {
    resources::kernel_release().unwrap_or_else(|| "unknown".to_owned())
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
        resident: resources::resident().or_else(|| field(&status, "VmRSS:").map(|kib| kib << 10)),
        cpu: resources::cpu_time(),
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
