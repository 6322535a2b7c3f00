//! The processes of the system. Where it has no table of them (macOS, here), there is no result.

use super::{system, until};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

pub use super::system::{Census, GUARDIAN, census, inventory, memory, signal};

/// One process, distinguished by its start time from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proc {
    pub pid: u32,
    pub born: u64,
}

impl Proc {
    pub fn is_alive(&self) -> bool {
        system::birth(self.pid) == Some(self.born)
    }

    pub fn name(&self) -> String {
        system::name(self.pid)
    }
}

/// All living processes by their parents.
fn families() -> HashMap<u32, Vec<Proc>> {
    let mut children: HashMap<u32, Vec<Proc>> = HashMap::new();
    for (parent, process) in system::processes() {
        children.entry(parent).or_default().push(process);
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
    let mut all: Vec<Proc> = families.values().flatten().copied().collect();
    all.retain(|process| system::has_argument(process.pid, word));
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
