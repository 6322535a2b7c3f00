//! Finds and kills every process that carries a mark, also those that left their process group. Linux and macOS, which
//! hides the marks of hardened programs.
//!
//! A process may fork during the search, so the search repeats until it finds nothing. It visits the newest
//! processes first, because a process that forks and exits continuously leaves little time. It does not stop
//! processes before it kills them: a killed process forks no more than a stopped one.

use super::proc_environ;
use super::process_mark::{LimitMatch, ProcessMark, limit_in};
pub(super) use super::unix::table::{self, lives, others};
use super::unix::{self, Signal, SignalOutcome};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The pause for killed processes to disappear.
const PAUSE: Duration = Duration::from_millis(5);
/// How many times in a row to search again only because processes ended before they could be signalled: each
/// may have forked.
const IN_VAIN: u32 = 10;
/// The poll interval of the wait for terminated processes.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Kills every process, other than this one, that carries the mark, and searches again until nothing is left or
/// the limit passes. Does nothing where `/proc` cannot be used, and logs that once.
pub(super) fn kill(mark: &ProcessMark, limit: Duration) {
    if table::EXISTS {
        kill_listed(mark, limit, others);
    }
}

/// As [`kill`]; `list` lists the processes for each search.
fn kill_listed(mark: &ProcessMark, limit: Duration, list: impl Fn() -> io::Result<Vec<i32>>) {
    let deadline = Instant::now() + limit;
    let mut sweep = Sweep::new(mark, Signal::Kill);
    let mut in_vain = 0;
    while Instant::now() < deadline {
        let pids = match list() {
            Ok(pids) => pids,
            Err(e) if unix::is_resource_exhausted(&e) => {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            Err(e) => return warn_once(&e),
        };
        let (met, silent) = sweep.signal_by_limits(pids);
        match met {
            Met::New => in_vain = 0,
            Met::Again => thread::sleep(PAUSE),
            Met::TooLate if in_vain < IN_VAIN => in_vain += 1,
            Met::TooLate | Met::Unread | Met::Nothing => {
                match sweep.signal_by_environments(silent, deadline) {
                    Met::New | Met::Again => thread::sleep(PAUSE),
                    Met::Unread => thread::sleep(POLL_INTERVAL),
                    Met::TooLate | Met::Nothing => return,
                }
            }
        }
    }
    log::warn!("descendants of an extension's server do not end, or new ones keep starting");
}

/// Whether the leader of a group runs and does not carry the mark, so that the group's id has been reused.
/// False where that cannot be determined.
pub(super) fn is_other_process(group: i32, mark: &ProcessMark) -> bool {
    cfg!(target_os = "linux") && lives(group) && !has_mark(group, mark)
}

/// Whether a process other than this one carries the mark. Also true if that cannot be determined, because
/// descriptors, threads or time run out. False where `/proc` cannot be used.
pub(super) fn any_left(mark: &ProcessMark, limit: Duration) -> bool {
    if !table::EXISTS {
        return false;
    }
    match others() {
        Ok(pids) => any_among(pids, mark, limit),
        Err(error) => unix::is_resource_exhausted(&error),
    }
}

fn any_among(pids: Vec<i32>, mark: &ProcessMark, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    let mut silent = Vec::new();
    for pid in pids {
        match limit_match(pid, mark) {
            Some(LimitMatch::Marked) if lives(pid) => return true,
            Some(LimitMatch::Nothing) => silent.push(pid),
            _ => {}
        }
    }
    let found = proc_environ::marked(silent, mark, deadline);
    !found.is_complete || found.pids.into_iter().any(lives)
}

/// The result of a search, in ascending order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Met {
    Nothing,
    /// A process that had ended already.
    TooLate,
    /// A process whose environment could not be read in time, and which may carry the mark.
    Unread,
    /// A process that was signalled before and still exists.
    Again,
    /// A process that was signalled now.
    New,
}

pub(super) struct Sweep<'a> {
    mark: &'a ProcessMark,
    signal: Signal,
    /// The processes found so far.
    known: HashSet<i32>,
    /// The processes that were sent the signal.
    pub(super) signalled: Vec<i32>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(mark: &'a ProcessMark, signal: Signal) -> Sweep<'a> {
        Sweep {
            mark,
            signal,
            known: HashSet::new(),
            signalled: Vec::new(),
        }
    }

    /// Signals processes by their limits. Also returns the processes whose limits carry no mark.
    pub(super) fn signal_by_limits(&mut self, pids: Vec<i32>) -> (Met, Vec<i32>) {
        let mark = self.mark;
        let mut most = Met::Nothing;
        let mut silent = Vec::new();
        for pid in pids {
            let marked = || limit_match(pid, mark) == Some(LimitMatch::Marked);
            most = most.max(match limit_match(pid, mark) {
                Some(LimitMatch::Marked) => self.signal(pid, marked),
                Some(LimitMatch::Other) => Met::Nothing,
                Some(LimitMatch::Nothing) => {
                    silent.push(pid);
                    Met::Nothing
                }
                None => self.note(pid, SignalOutcome::Gone),
            });
        }
        (most, silent)
    }

    /// Signals processes by their environments, which takes much longer.
    pub(super) fn signal_by_environments(&mut self, pids: Vec<i32>, deadline: Instant) -> Met {
        let mark = self.mark;
        let found = proc_environ::marked(pids, mark, deadline);
        let mut most = if found.is_complete {
            Met::Nothing
        } else {
            Met::Unread
        };
        for pid in found.pids {
            most = most.max(self.signal(pid, || has_marked_environment(pid, mark)));
        }
        most
    }

    fn signal(&mut self, pid: i32, marked: impl Fn() -> bool) -> Met {
        let hit = unix::signal_if(pid, self.signal, || marked() && lives(pid));
        self.note(pid, hit)
    }

    fn note(&mut self, pid: i32, hit: SignalOutcome) -> Met {
        let new = self.known.insert(pid);
        if hit == SignalOutcome::Signalled && new {
            self.signalled.push(pid);
        }
        match (hit, new) {
            (SignalOutcome::Signalled, true) => Met::New,
            (SignalOutcome::Signalled, false) => Met::Again,
            (SignalOutcome::Gone, true) => Met::TooLate,
            (SignalOutcome::Gone, false) | (SignalOutcome::Refused, _) => Met::Nothing,
        }
    }
}

/// Whether the environment of a process contains the mark. A zombie has no environment.
fn has_marked_environment(pid: i32, mark: &ProcessMark) -> bool {
    let deadline = Instant::now() + proc_environ::TIMEOUT;
    let found = proc_environ::marked(vec![pid], mark, deadline);
    !found.pids.is_empty()
}

pub(super) fn has_mark(pid: i32, mark: &ProcessMark) -> bool {
    limit_match(pid, mark) == Some(LimitMatch::Marked) || has_marked_environment(pid, mark)
}

/// What the limit of a process says; `None` if the process is gone.
fn limit_match(pid: i32, mark: &ProcessMark) -> Option<LimitMatch> {
    let limit = match unix::limit_of(pid) {
        Ok(limit) => Some(limit),
        Err(e) if unix::is_no_such_process(&e) => return None,
        Err(_) if unix::is_out_of_reach(pid) => return Some(LimitMatch::Other),
        // For example a setuid program, whose limits are readable in a file.
        Err(_) => fs::read_to_string(format!("/proc/{pid}/limits"))
            .ok()
            .and_then(|limits| limit_in(&limits)),
    };
    Some(limit.map_or(LimitMatch::Nothing, |limit| mark.classify_limit(limit)))
}

pub(super) fn warn_once(error: &io::Error) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !unix::is_resource_exhausted(error) && !WARNED.swap(true, Ordering::Relaxed) {
        log::warn!(
            "/proc cannot be used: of the descendants of an extension's server, only its process group \
             is ended reason={error}"
        );
    }
}

#[cfg(all(test, target_os = "linux"))]
pub(super) mod tests;
