//! Searches for marks in the environments of other processes, with a deadline. The kernel reads an environment
//! from the memory of its process, and blocks while the process holds its memory lock, for example because it
//! is stuck on a file system that does not respond.

use super::lock;
use super::process_mark::ProcessMark;
use super::unix::table::environment;
use crossbeam_channel::{Receiver, TryRecvError, unbounded};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The timeout for reading one environment.
pub(super) const TIMEOUT: Duration = Duration::from_millis(500);
/// The same when little time is left for many processes.
const SHORTEST: Duration = Duration::from_millis(20);
/// One process may take this fraction of the time left, so that one search passes many stuck processes.
const SHARE: usize = 8;

/// The processes at which a reader thread is stuck, with the number of the thread. Searches skip them, so that
/// at most one thread is stuck at each.
static STUCK: Mutex<Option<HashMap<i32, u64>>> = Mutex::new(None);

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The processes whose environment contains the mark.
    pub(super) pids: Vec<i32>,
    /// Whether every other process was read or known to be stuck. If not, another search may find more.
    pub(super) is_complete: bool,
}

/// Returns those of `pids` whose environment contains the mark. A zombie has no environment. A process that
/// cannot be read in time is skipped as long as it is stuck; the others are read until the deadline.
pub(super) fn marked(pids: Vec<i32>, mark: &ProcessMark, deadline: Instant) -> Found {
    marked_in(Path::new("/proc"), pids, mark, deadline)
}

fn marked_in(
    folder: &'static Path,
    mut pids: Vec<i32>,
    mark: &ProcessMark,
    deadline: Instant,
) -> Found {
    let mut found = Found {
        pids: Vec::new(),
        is_complete: true,
    };
    loop {
        if let Some(stuck) = &*lock(&STUCK) {
            pids.retain(|pid| !stuck.contains_key(pid));
        }
        if pids.is_empty() {
            return found;
        }
        let is_late = Instant::now() >= deadline;
        let reader = (!is_late).then(|| start_reader(folder, &pids, mark));
        let Some((reader, answers)) = reader.flatten() else {
            found.is_complete = false;
            return found;
        };
        let count = pids.len();
        let mut asked = std::mem::take(&mut pids).into_iter();
        for (n, pid) in asked.by_ref().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = left / SHARE.min(count - n) as u32;
            let timeout = timeout.clamp(SHORTEST, TIMEOUT);
            match answer(pid, reader, &answers, timeout) {
                Some(true) => found.pids.push(pid),
                Some(false) => {}
                None => {
                    found.is_complete = false;
                    break;
                }
            }
        }
        pids = asked.collect();
    }
}

/// The reader's result for this process; `None` if the reader is stuck.
fn answer(pid: i32, reader: u64, answers: &Receiver<bool>, timeout: Duration) -> Option<bool> {
    if let Ok(answer) = answers.recv_timeout(timeout) {
        return Some(answer);
    }
    lock(&STUCK).get_or_insert_default().insert(pid, reader);
    // The reader may have continued just now. If not, it removes the entry itself when it does.
    match answers.try_recv() {
        Err(TryRecvError::Empty) => {
            log::warn!("the environment of a process cannot be read in time pid={pid}");
            None
        }
        answer => {
            lock(&STUCK).get_or_insert_default().remove(&pid);
            Some(answer.unwrap_or(false))
        }
    }
}

/// Starts a thread that reads environments; returns its number and its results, `None` if the system cannot. The thread ends when it has read all, or, if its
/// receiver was dropped, after the read at which it is stuck.
fn start_reader(
    folder: &'static Path,
    pids: &[i32],
    mark: &ProcessMark,
) -> Option<(u64, Receiver<bool>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (answers, receiver) = unbounded();
    let pids = pids.to_vec();
    let mark = mark.clone();
    let name = "environments".to_owned();
    let work = move || {
        let mut read = pids.into_iter().map(|pid| is_marked(folder, pid, &mark));
        while read.next().is_some_and(|is| answers.send(is).is_ok()) {}
        // From here on, the searching thread finds the channel closed and does not add an entry.
        drop((read, answers));
        if let Some(stuck) = &mut *lock(&STUCK) {
            stuck.retain(|_, reader| *reader != number);
        }
    };
    super::spawn(name, Some(super::SMALL_STACK), work).ok()?;
    Some((number, receiver))
}

fn is_marked(folder: &Path, pid: i32, mark: &ProcessMark) -> bool {
    environment(folder, pid).is_ok_and(|text| mark.is_in(&text))
}

#[cfg(test)]
mod tests;
