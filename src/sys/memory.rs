//! The memory and the descriptors that this process may have.

use super::os::{descriptor_limit, own_memory_limits, system_memory};
use std::fs;
use std::path::Path;

/// The memory in bytes that this process may have at most: the least of what the system has, and what its control groups
/// and its own limits (`ulimit -v`, `-d`) allow. `u64::MAX` if nothing tells.
pub fn memory_limit() -> u64 {
    let of_process = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = limits_of_groups(Path::new("/sys/fs/cgroup"), &of_process);
    let own = own_memory_limits().into_iter();
    let all = own.chain(of_groups).chain(system_memory());
    all.min().unwrap_or(u64::MAX)
}

/// So many bytes, but on small hosts no more than a sixteenth of the memory: a message is held as text and as values,
/// and passed on.
pub fn share_of_memory(bytes: usize) -> usize {
    let share = usize::try_from(memory_limit() / 16);
    share.map_or(bytes, |share| bytes.min(share))
}

/// So many, but no more than half of the descriptors that this process may have open (`ulimit -n`): the others are for
/// files, MCP servers and models.
pub fn share_of_descriptors(count: usize) -> usize {
    let share = usize::try_from(descriptor_limit() / 2);
    share.map_or(count, |share| count.min(share).max(1))
}

/// The limits in bytes of the control group with the path in the text of `/proc/self/cgroup`, and of those above it.
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
