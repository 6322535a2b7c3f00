//! Threads: named ones, those of one owner, and work that several share.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// What the work of a thread is for. The threads that it starts with the functions here inherit it.
pub type Origin = Arc<dyn Any + Send + Sync>;

thread_local! {
    static ORIGIN: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

/// What the work of this thread is for, if that was said.
pub fn origin() -> Option<Origin> {
    ORIGIN.with_borrow(Clone::clone)
}

/// Works for this origin.
pub fn with_origin<T>(origin: Option<Origin>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Origin>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ORIGIN.set(self.0.take());
        }
    }
    let _restore = Restore(ORIGIN.replace(origin));
    work()
}

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
    let origin = origin();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || with_origin(origin, work));
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
    let (next, origin) = (AtomicUsize::new(0), origin());
    let part = || {
        let taken = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let taken = taken.take_while(|n| *n < count);
        with_origin(origin.clone(), || taken.for_each(work));
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
mod tests;
