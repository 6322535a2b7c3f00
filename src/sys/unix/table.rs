//! The table of processes: that of Linux, in `/proc`.

use std::fs;
use std::io;
use std::path::Path;

/// Whether this system has one.
pub(in super::super) const EXISTS: bool = cfg!(target_os = "linux");

/// Whether the process runs; true if that cannot be determined now.
pub(in super::super) fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or_else(
        |error| super::is_resource_exhausted(&error),
        |stat| !has_ended(&stat),
    )
}

/// Whether the text of `/proc/PID/stat` is that of a zombie. The first thread of a process may have ended while
/// others run.
pub(crate) fn has_ended(stat: &str) -> bool {
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return true;
    };
    let mut fields = fields.split_whitespace();
    let state = fields.next();
    let threads = fields.nth(16).and_then(|n| n.parse::<u32>().ok());
    matches!(state, Some("Z" | "X")) && threads.unwrap_or(0) <= 1
}

/// All visible processes but this one, newest first as far as their ids tell.
pub(in super::super) fn others() -> io::Result<Vec<i32>> {
    let own = std::process::id().cast_signed();
    // `/proc` may be that of an enclosing container, whose ids mean other processes.
    if fs::read_link("/proc/self")?.to_str() != Some(&own.to_string()) {
        return Err(io::Error::other("it belongs to another pid namespace"));
    }
    let names = fs::read_dir("/proc")?.flatten().map(|e| e.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    let mut pids: Vec<i32> = pids.filter(|pid| *pid != own).collect();
    // The kernel lists them in ascending order.
    pids.reverse();
    Ok(pids)
}

/// The environment of a process: entries that end in NUL.
pub(in super::super) fn environment(folder: &Path, pid: i32) -> io::Result<Vec<u8>> {
    fs::read(folder.join(pid.to_string()).join("environ"))
}
