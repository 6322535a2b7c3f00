//! Families: children whose descendants can all be ended together.

use crate::cancel::Cancel;
use crate::lock;
use crate::process::{Command, Pipes, Process, REAP};
use crate::windows::job::Job;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Children whose descendants can all be ended together, also those of members that have exited. They end when it is
/// dropped.
#[derive(Default)]
pub struct Family {
    /// The jobs of members, but those in which nothing runs any more.
    jobs: Mutex<Vec<Arc<Job>>>,
}

impl Family {
    /// A family without members.
    ///
    /// # Errors
    /// Never here.
    pub fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Whether a descendant runs.
    pub fn may_live(&self) -> bool {
        lock(&self.jobs).iter().any(|job| job.is_active())
    }

    /// Ends all descendants.
    pub fn end(&self) {
        let jobs = std::mem::take(&mut *lock(&self.jobs));
        for job in jobs {
            job.end(REAP);
        }
    }

    fn add(&self, new: &Arc<Job>) {
        let mut jobs = lock(&self.jobs);
        jobs.retain(|job| job.is_active());
        jobs.push(new.clone());
    }
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
        let (process, pipes) = Self::spawn(command, limit, cancel)?;
        family.add(&process.job);
        Ok((process, pipes))
    }

    /// Leaves the descendants of an exited child to its family, which ends them. Does nothing if the child has not
    /// exited.
    pub fn leave(&self, _: &Family) {
        let mut ending = lock(&self.ending);
        if *ending || !self.wait_exit(Duration::ZERO) {
            return;
        }
        *ending = true;
        let _ = self.by_itself.set(true);
        self.note_status();
    }
}
