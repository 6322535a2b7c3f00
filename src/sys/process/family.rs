//! Families: children that share a mark, so that all their descendants can be ended together.

use super::super::process_mark::ProcessMark;
use super::super::{lock, marked_processes, spawner, unix};
use super::{SWEEP, next_mark, signal_group};
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long the descendants of a family may take to end after SIGTERM.
const TERM: Duration = Duration::from_secs(1);
/// The same for groups, whose end cannot be observed.
const GROUPS_TERM: Duration = Duration::from_millis(300);
/// Maximum number of exited members that are kept unreaped so that their groups can be ended.
const MOST_GROUPS: usize = 100;

/// Children that share a mark, so that all their descendants can be ended together, also those of members that
/// have exited.
pub struct Family {
    mark: ProcessMark,
    members: AtomicU64,
    /// Exited members that were not reaped, so that the ids of their groups are not reused. Used where marks
    /// cannot be searched for, so that only the groups can be ended.
    groups: Mutex<VecDeque<i32>>,
}

impl Family {
    /// A family without members.
    ///
    /// # Errors
    /// When the system has no random bytes.
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

    /// Whether a descendant may be running. Searches all processes.
    pub fn may_live(&self) -> bool {
        !marked_processes::can_see_processes() || marked_processes::any_left(&self.mark, SWEEP)
    }

    /// Ends all descendants: sends SIGTERM to all, waits up to a second, and kills those that are left. Returns
    /// at once if there is none, unless that cannot be determined.
    pub fn end(&self) {
        if marked_processes::terminate(&self.mark, TERM) {
            marked_processes::kill(&self.mark, SWEEP);
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

    /// Keeps an exited member unreaped. If there are too many, lets the oldest be reaped.
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
