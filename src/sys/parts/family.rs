//! Families: children that share a mark, so that all their descendants can be ended together.

mod terminate;

use crate::cancel::Cancel;
use crate::process::{Command, Pipes, Process, SWEEP, next_mark, signal_group};
use crate::process_mark::ProcessMark;
use crate::{lock, marked_processes, spawner, unix};
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

    fn member(&self) -> ProcessMark {
        let number = self.members.fetch_add(1, Ordering::Relaxed);
        mark_of_member(&self.mark, number)
    }

    /// Whether a descendant may be running. Searches all processes.
    pub fn may_live(&self) -> bool {
        !can_see_processes() || marked_processes::any_left(&self.mark, SWEEP)
    }

    /// Ends all descendants: sends SIGTERM to all, waits up to a second, and kills those that are left. Returns
    /// at once if there is none, unless that cannot be determined.
    pub fn end(&self) {
        if terminate::terminate(&self.mark, TERM) {
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
    fn keep(&self, group: i32) {
        let mut groups = lock(&self.groups);
        groups.push_back(group);
        let oldest = (groups.len() > MOST_GROUPS).then(|| groups.pop_front());
        drop(groups);
        if let Some(oldest) = oldest.flatten() {
            spawner::ended(oldest);
        }
    }
}

/// The mark of the member `number` of the family with the mark `family`.
fn mark_of_member(family: &ProcessMark, number: u64) -> ProcessMark {
    let mut mark = family.clone();
    mark.text += &format!("{number}.");
    mark.member = true;
    mark
}

/// Whether the processes of this system are visible, so that marks can be searched for.
fn can_see_processes() -> bool {
    cfg!(target_os = "linux")
        && marked_processes::others()
            .map_or_else(|error| unix::is_resource_exhausted(&error), |_| true)
}

impl Process {
    /// As [`spawn`](Self::spawn), for a member of a family.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_in(
        family: &Family,
        command: Command,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(Process, Pipes)> {
        Self::start(command, family.member(), limit, cancel)
    }

    /// Lets an exited child be reaped without ending its descendants, which its family ends. Does nothing if
    /// the child has not exited.
    pub fn leave(&self, family: &Family) {
        let mut ending = lock(&self.ending);
        if *ending || !self.wait_exit(Duration::ZERO) {
            return;
        }
        *ending = true;
        let _ = self.by_itself.set(true);
        if can_see_processes() {
            self.hand_over(spawner::ended);
        } else {
            self.hand_over(|group| family.keep(group));
        }
    }
}

#[cfg(test)]
mod tests;
