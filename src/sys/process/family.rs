//! Groups of children that share a mark.

use super::super::process_mark::ProcessMark;
use super::super::{descendants, lock, spawner, unix};
use super::{SWEEP, next_mark, signal_group};
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long what is left of a family may take to end once it was asked.
const TERM: Duration = Duration::from_secs(1);
/// The same for groups, of which it cannot be seen whether they have ended.
const GROUPS_TERM: Duration = Duration::from_millis(300);
/// How many members of a family are kept to be found by their groups.
const MOST_GROUPS: usize = 100;

/// Processes that share a mark, so that all that is left of them can be ended together, whoever of them
/// has exited.
pub struct Family {
    mark: ProcessMark,
    members: AtomicU64,
    /// Members that have exited and were not reaped, so that the ids of their groups stay their own: where
    /// marks cannot be looked for, what they left is only found in their groups.
    groups: Mutex<VecDeque<i32>>,
}

impl Family {
    /// One without members.
    ///
    /// # Errors
    /// When the system has no random bytes to give.
    pub fn new() -> io::Result<Self> {
        Ok(Family {
            mark: next_mark()?,
            members: AtomicU64::new(1),
            groups: Mutex::default(),
        })
    }

    pub(super) fn member(&self) -> ProcessMark {
        let number = self.members.fetch_add(1, Ordering::Relaxed);
        self.mark.of_member(number)
    }

    /// Ends whatever is left: asks all of it with SIGTERM, gives it a second together, and kills what
    /// is there then. Where nothing is left it takes no time, unless that cannot be seen.
    pub fn end(&self) {
        if descendants::terminate_marked(&self.mark, TERM) {
            descendants::kill_marked(&self.mark, SWEEP);
        }
        let groups = std::mem::take(&mut *lock(&self.groups));
        if groups.is_empty() {
            return;
        }
        for signal in [unix::Signal::Terminate, unix::Signal::Kill] {
            for group in &groups {
                signal_group(*group, signal);
            }
            if matches!(signal, unix::Signal::Terminate) {
                thread::sleep(GROUPS_TERM);
            }
        }
        groups.into_iter().for_each(spawner::ended);
    }

    /// Takes a member that has exited. Of many the oldest is reaped.
    pub(super) fn keep(&self, group: i32) {
        let mut groups = lock(&self.groups);
        groups.push_back(group);
        let oldest = (groups.len() > MOST_GROUPS).then(|| groups.pop_front());
        drop(groups);
        if let Some(oldest) = oldest.flatten() {
            spawner::ended(oldest);
        }
    }
}
