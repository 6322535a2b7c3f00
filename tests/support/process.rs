//! Inspects processes through `/proc`. Without `/proc` there is no result.

use super::until;
use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// One process, distinguished by its start time from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proc {
    pub pid: u32,
    born: u64,
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

impl Proc {
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.born == self.born && !stat.dead)
    }

    pub fn name(&self) -> String {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
        name.trim().to_owned()
    }
}

/// All living processes by their parents.
fn families() -> HashMap<u32, Vec<Proc>> {
    let mut children: HashMap<u32, Vec<Proc>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(stat) = stat(pid).filter(|stat| !stat.dead) {
            let born = stat.born;
            children
                .entry(stat.parent)
                .or_default()
                .push(Proc { pid, born });
        }
    }
    children
}

/// The living children of a process.
pub fn children(of: u32) -> Vec<Proc> {
    families().remove(&of).unwrap_or_default()
}

/// All living processes with this word among their arguments, and their children, which may have left their
/// parents.
pub fn with_argument(word: &str) -> Vec<Proc> {
    let mut families = families();
    let named = |process: &Proc| {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == word.as_bytes())
    };
    let mut all: Vec<Proc> = families.values().flatten().copied().collect();
    all.retain(named);
    let children = all.clone().into_iter();
    all.extend(children.flat_map(|p| families.remove(&p.pid).unwrap_or_default()));
    all
}

/// A unique and very long number of seconds for `sleep`, which identifies the process with that argument.
pub fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1000);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("1{:07}{n}", std::process::id())
}

/// Waits until this many processes are found by [`with_argument`].
#[track_caller]
pub fn running(word: &str, count: usize) {
    until(&format!("{count} processes run"), || {
        (with_argument(word).len() == count).then_some(())
    });
}

/// All living descendants of a process.
pub fn descendants(of: u32) -> Vec<Proc> {
    let mut children = families();
    let (mut all, mut parents) = (Vec::new(), vec![of]);
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            all.push(child);
        }
    }
    all
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
