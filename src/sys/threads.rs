//! Threads: named ones, those of one owner, and work that several share; and calls of code that may panic.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Display;
use std::io;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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

/// Calls code that is not gosling's own, or that calls such code. If it panics, the log says so of `what`, and the
/// caller goes on with the message.
///
/// # Errors
/// The panic's message.
pub fn caught<T>(what: impl Display, work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a panic without a message").to_owned();
        log::error!("panic caught in=\"{what}\" reason={text:?}");
        text
    })
}

/// How long the end of something waits for its threads: they may be in code of an embedding program.
const JOIN_LIMIT: Duration = Duration::from_secs(5);

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

    /// Joins all, which waits for those that run, but not for ever, or only those that have ended; never the calling
    /// thread. Returns how many others are left.
    pub fn join(self, all: bool) -> usize {
        self.join_within(if all { JOIN_LIMIT } else { Duration::ZERO })
    }

    /// As [`join`](Self::join), of those that end within `limit`. Logs which ones do not, unless it is 0.
    pub fn join_within(self, limit: Duration) -> usize {
        let (this, begin, mut left) = (thread::current().id(), Instant::now(), 0);
        for thread in self.0.into_iter().filter(|it| it.thread().id() != this) {
            let mut pause = Duration::from_micros(20);
            while !thread.is_finished() && begin.elapsed() < limit {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            if thread.is_finished() {
                // The panic hook has reported a panic of the thread.
                let _ = thread.join();
                continue;
            }
            left += 1;
            if !limit.is_zero() {
                log::warn!("thread left running name={:?}", thread.thread().name());
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
