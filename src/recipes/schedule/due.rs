//! Which schedules are due.

use super::cron::Cron;
use super::local_time::{Zone, next_run};
use super::schedule_file::Job;
use std::collections::BTreeMap;

/// How many seconds after its moment a run may start.
pub(super) const LATEST_START: i64 = 60;

/// Adds to `waiting` the schedules that were due after `seen` and until `now`, with their last moment, and
/// removes those that no longer exist or are paused. Returns the next moment after `now` at which one is due.
pub(super) fn due_since(
    jobs: &[Job],
    zone: &Zone,
    seen: i64,
    now: i64,
    waiting: &mut BTreeMap<String, i64>,
) -> Option<i64> {
    // If the clock was set back, `seen` is in the future; what was run before is known from `handled_until`.
    let from = seen.min(now).max(now - LATEST_START - 1);
    waiting.retain(|id, _| jobs.iter().any(|job| job.id() == id && !job.is_paused()));
    let mut first = None;
    for job in jobs.iter().filter(|job| !job.is_paused()) {
        let Ok(cron) = Cron::parse(job.cron()) else {
            continue;
        };
        let handled = job.handled_until().filter(|handled| *handled <= now);
        let mut after = handled.unwrap_or(from).max(from);
        let next = loop {
            match next_run(&cron, zone, after) {
                Some(due) if due <= now => {
                    waiting.insert(job.id().to_owned(), due);
                    after = due;
                }
                next => break next,
            }
        };
        first = [first, next].into_iter().flatten().min();
    }
    for job in missed(jobs, zone, seen, from) {
        log::warn!(
            "schedule missed id={:?} reason=\"the machine slept or its clock was set\"",
            job.id()
        );
    }
    first
}

/// The schedules that were due after `seen` and until `from`, and that no process has run.
fn missed<'j>(jobs: &'j [Job], zone: &Zone, seen: i64, from: i64) -> impl Iterator<Item = &'j Job> {
    let is_missed = move |job: &&Job| {
        let cron = Cron::parse(job.cron()).ok();
        let handled = job.handled_until().unwrap_or(seen).max(seen);
        cron.and_then(|cron| next_run(&cron, zone, handled))
            .is_some_and(|due| due <= from)
    };
    // Without a gap, no search of the calendar.
    let jobs = if seen < from { jobs } else { &[] };
    jobs.iter().filter(|job| !job.is_paused()).filter(is_missed)
}

#[cfg(test)]
mod tests;
