//! Threads: named ones, those of one owner, and work that several share.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// The stack size of threads that only move bytes. Only touched pages count as memory.
pub const SMALL_STACK: usize = 256 * 1024;

/// Starts a named thread, with a stack of `stack` bytes or of the default size. The closure is boxed so that
/// std's code for starting a thread is compiled once and not for each kind of work.
///
/// # Errors
/// When the system cannot start a thread.
pub fn spawn(
    name: String,
    stack: Option<usize>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    // std panics for a name that contains NUL.
    let name = name.replace('\0', "");
    let thread = thread::Builder::new().name(name);
    match stack {
        Some(bytes) => thread.stack_size(bytes).spawn(work),
        None => thread.spawn(work),
    }
}

/// The threads of one owner, which joins them at its end.
#[derive(Debug, Default)]
pub struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Adds a thread, and forgets those that have ended.
    pub fn add(&mut self, thread: JoinHandle<()>) {
        self.0.retain(|earlier| !earlier.is_finished());
        self.0.push(thread);
    }

    /// Whether the calling thread is one of them.
    pub fn has_this(&self) -> bool {
        let this = thread::current().id();
        self.0.iter().any(|thread| thread.thread().id() == this)
    }

    /// Joins all, which waits for those that run, or only those that have ended; never the calling thread. Returns
    /// how many others are left.
    pub fn join(self, all: bool) -> usize {
        let this = thread::current().id();
        let mut left = 0;
        for thread in self.0 {
            if thread.thread().id() == this {
                continue;
            }
            if all || thread.is_finished() {
                // The panic hook has reported a panic of the thread.
                let _ = thread.join();
            } else {
                left += 1;
            }
        }
        left
    }
}

/// Calls `work` with each number below `count`, in at most `most` threads, of which this is one. Where a thread
/// cannot be started, the others do its work.
pub fn share(count: usize, most: usize, name: &str, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let part = || {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= count {
                return;
            }
            work(n);
        }
    };
    thread::scope(|scope| {
        for n in 1..count.min(most) {
            let thread = thread::Builder::new().name(format!("{name} {n}"));
            let _ = thread.spawn_scoped(scope, part);
        }
        part();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::{Arc, Barrier, Mutex};

    #[test]
    fn each_number_is_worked_on_once_and_by_no_more_threads_than_allowed() {
        for (count, most) in [(0, 4), (1, 4), (50, 1), (50, 4)] {
            let done = Mutex::new((vec![0; count], HashSet::new()));
            share(count, most, "share", &|n| {
                let mut done = done.lock().unwrap();
                done.0[n] += 1;
                done.1.insert(thread::current().id());
            });
            let (each, threads) = done.into_inner().unwrap();
            assert!(each.iter().all(|times| *times == 1), "{each:?}");
            assert!(threads.len() <= most);
        }
        // All of them at the same time.
        let together = Barrier::new(4);
        share(4, 4, "share", &|_| {
            together.wait();
        });
    }

    #[test]
    fn all_are_joined_or_those_that_have_ended() {
        let end = Arc::new(Barrier::new(2));
        let started = |threads: &mut Threads| {
            let end = end.clone();
            let waits = move || {
                end.wait();
            };
            threads.add(spawn("with \0".to_owned(), Some(SMALL_STACK), waits).unwrap());
        };
        let mut threads = Threads::default();
        started(&mut threads);
        assert_eq!(threads.join(false), 1);
        end.wait();
        let mut threads = Threads::default();
        started(&mut threads);
        end.wait();
        assert_eq!(threads.join(true), 0);
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let threads = Arc::new(Mutex::new(Threads::default()));
        let own = threads.clone();
        let ready = Arc::new(Barrier::new(2));
        let is_ready = ready.clone();
        let (sender, joined) = crossbeam_channel::bounded(1);
        let thread = spawn("itself".to_owned(), None, move || {
            is_ready.wait();
            let threads = std::mem::take(&mut *own.lock().unwrap());
            let has_this = threads.has_this();
            sender.send((has_this, threads.join(true))).unwrap();
        });
        threads.lock().unwrap().add(thread.unwrap());
        assert!(!threads.lock().unwrap().has_this());
        ready.wait();
        assert_eq!(joined.recv(), Ok((true, 0)));
    }
}
