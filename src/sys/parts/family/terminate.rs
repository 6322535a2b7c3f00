//! Asks every process that carries a mark to end. Linux and macOS, as [`marked_processes`](crate::marked_processes) is.

use crate::marked_processes::{Met, POLL_INTERVAL, Sweep, has_mark, lives, others, warn_once};
use crate::process_mark::ProcessMark;
use crate::unix::{self, Signal, table};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Sends SIGTERM to every process, other than this one, that carries the mark, and waits until they have ended
/// or the limit passes. False if there was none, so that nothing is left to kill. A process that ended before
/// it was signalled counts, because it may have carried the mark and forked.
pub(super) fn terminate(mark: &ProcessMark, limit: Duration) -> bool {
    table::EXISTS && terminate_listed(mark, limit, others)
}

/// As [`terminate`]; `list` lists the processes.
fn terminate_listed(
    mark: &ProcessMark,
    limit: Duration,
    list: impl Fn() -> io::Result<Vec<i32>>,
) -> bool {
    let deadline = Instant::now() + limit;
    let pids = loop {
        match list() {
            Ok(pids) => break pids,
            Err(e) if unix::is_resource_exhausted(&e) && Instant::now() < deadline => {
                thread::sleep(POLL_INTERVAL)
            }
            Err(e) => {
                warn_once(&e);
                // The processes have had their time, although nothing signalled them.
                return unix::is_resource_exhausted(&e);
            }
        }
    };
    let mut sweep = Sweep::new(mark, Signal::Terminate);
    let (met, silent) = sweep.signal_by_limits(pids);
    let met = met.max(sweep.signal_by_environments(silent, deadline));
    let mut asked = sweep.signalled;
    loop {
        asked.retain(|pid| lives(*pid) && has_mark(*pid, mark));
        let left = deadline.saturating_duration_since(Instant::now());
        if asked.is_empty() || left.is_zero() {
            return met != Met::Nothing;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
