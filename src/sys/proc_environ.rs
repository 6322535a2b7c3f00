//! Searches for marks in the environments of other processes, with a deadline. The kernel reads an environment
//! from the memory of its process, and blocks while the process holds its memory lock, for example because it
//! is stuck on a file system that does not respond.

use super::lock;
use super::process_mark::ProcessMark;
use crossbeam_channel::{Receiver, TryRecvError, unbounded};
use std::collections::HashMap;
use std::fs;
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
        let reader = (!is_late).then(|| Reader::start(folder, &pids, mark));
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

/// A thread that reads environments, identified by a number.
struct Reader;

impl Reader {
    /// Starts the thread; `None` if the system cannot. The thread ends when it has read all, or, if its
    /// receiver was dropped, after the read at which it is stuck.
    fn start(
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
}

fn is_marked(folder: &Path, pid: i32, mark: &ProcessMark) -> bool {
    let file = folder.join(pid.to_string()).join("environ");
    fs::read(file).is_ok_and(|text| mark.is_in(&text))
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::process::MARK;
    use super::*;
    use std::process::Command;

    /// Far more than anything here takes.
    const LIMIT: Duration = Duration::from_secs(60);

    fn make_fifo(folder: &Path, pid: i32) {
        let folder = folder.join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        let made = Command::new("mkfifo").arg(folder.join("environ")).status();
        assert!(made.unwrap().success());
    }

    fn search(folder: &'static Path, pids: &[i32], mark: &ProcessMark) -> Vec<i32> {
        marked_in(folder, pids.to_vec(), mark, Instant::now() + LIMIT).pids
    }

    #[test]
    fn many_processes_that_are_stuck_together_take_no_longer_than_the_deadline() {
        const SEARCH: Duration = Duration::from_secs(1);
        let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap()).of_child(1);
        let folder = std::env::temp_dir().join(format!("gosling-environs-{}", std::process::id()));
        let mut pids: Vec<i32> = (100..120).map(|n| i32::MAX - n).collect();
        pids.iter().for_each(|pid| make_fifo(&folder, *pid));
        let last = i32::MAX - 120;
        let text = format!("{MARK}={}\0", mark.variable(None));
        fs::create_dir(folder.join(last.to_string())).unwrap();
        fs::write(folder.join(last.to_string()).join("environ"), text).unwrap();
        pids.push(last);
        let folder: &'static Path = Box::leak(folder.into_boxed_path());
        let begin = Instant::now();
        // A later search finds what the first had no time for.
        loop {
            let search = Instant::now();
            let found = marked_in(folder, pids.clone(), &mark, search + SEARCH);
            let took = search.elapsed();
            assert!(took < SEARCH * 5, "the search took {took:?}");
            if found.pids == [last] {
                break;
            }
            assert!(!found.is_complete && begin.elapsed() < LIMIT);
        }
        // Ends the threads that read them.
        for pid in &pids[..20] {
            let fifo = folder.join(pid.to_string()).join("environ");
            let both = fs::File::options().read(true).write(true).open(fifo);
            drop(both.unwrap());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_search_whose_deadline_has_passed_is_not_complete() {
        let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap());
        let folder = Path::new("/does/not/exist");
        let found = marked_in(folder, vec![i32::MAX - 200], &mark, Instant::now());
        assert!(!found.is_complete);
        assert!(marked_in(folder, Vec::new(), &mark, Instant::now()).is_complete);
        let found = marked_in(folder, vec![i32::MAX - 200], &mark, Instant::now() + LIMIT);
        assert!(found.is_complete && found.pids.is_empty());
    }

    #[test]
    fn a_process_whose_environment_cannot_be_read_holds_up_no_search() {
        let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap()).of_child(1);
        let folder = std::env::temp_dir().join(format!("gosling-environ-{}", std::process::id()));
        // No process has such an id.
        let [first, stuck, last] = [i32::MAX - 2, i32::MAX - 1, i32::MAX];
        // Reading it blocks until there is a writer.
        make_fifo(&folder, stuck);
        for pid in [first, last] {
            let folder = folder.join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            let text = format!("A=1\0{MARK}={}\0", mark.variable(None));
            fs::write(folder.join("environ"), text).unwrap();
        }
        let folder: &'static Path = Box::leak(folder.into_boxed_path());
        let all = vec![first, stuck, last];
        assert_eq!(search(folder, &all, &mark), [first, last]);
        let is_stuck = || {
            let stuck_ones = lock(&STUCK);
            stuck_ones
                .as_ref()
                .is_some_and(|all| all.contains_key(&stuck))
        };
        // The next search does not wait for it.
        assert!(is_stuck());
        assert_eq!(search(folder, &all, &mark), [first, last]);
        // It becomes readable, and is read like the others.
        let fifo = folder.join(stuck.to_string()).join("environ");
        let text = format!("{MARK}={}\0", mark.variable(None));
        fs::write(&fifo, &text).unwrap();
        let begin = Instant::now();
        while is_stuck() {
            assert!(begin.elapsed() < LIMIT);
            std::thread::yield_now();
        }
        fs::remove_file(&fifo).unwrap();
        fs::write(&fifo, &text).unwrap();
        assert_eq!(search(folder, &all, &mark), all);
        fs::remove_dir_all(folder).unwrap();
    }
}
