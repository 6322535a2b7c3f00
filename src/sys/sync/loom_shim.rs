//! Replacements for std's locks and clock in loom tests. The clock advances only when the test says so.

use std::cell::Cell;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

pub use loom::sync::{Mutex, MutexGuard, atomic};

thread_local! {
    /// loom runs all threads of a model in one system thread.
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// As [`super::super::lock`].
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of the model.
pub struct Clock;

impl Clock {
    /// The time of the model, which begins when it is first asked for.
    pub fn now() -> Instant {
        NOW.with(|now| {
            let time = now.get().unwrap_or_else(Instant::now);
            now.set(Some(time));
            time
        })
    }
}

/// Advances the clock. Must be called while the lock of the waiting threads is held; [`Condvar::expire`] then
/// wakes those whose deadline has passed. loom itself has no clock.
pub fn advance(by: Duration) {
    NOW.with(|now| now.set(Some(Clock::now() + by)));
}

/// Runs the model in every order of its threads with at most three preemptions. loom recommends that bound: it
/// finds nearly all bugs, and takes seconds instead of minutes. `LOOM_MAX_PREEMPTIONS=100` tries every order.
pub fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.max_branches = 10_000;
    builder.check(model);
}

/// A condition variable with deadlines on the clock of the model.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: loom::sync::Condvar,
    /// The deadlines of the threads that wait.
    deadlines: std::sync::Mutex<Vec<Instant>>,
}

/// The result of a wait: whether its deadline had passed.
pub struct Timeout(bool);

impl Timeout {
    /// As that of std.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Without waiting threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// As that of std.
    pub fn notify_one(&self) {
        self.inner.notify_one();
    }

    /// As that of std.
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }

    /// Wakes the waiting threads if one of their deadlines has passed.
    pub fn expire(&self) {
        let now = Clock::now();
        let passed = self.deadlines().iter().any(|deadline| *deadline <= now);
        if passed {
            self.inner.notify_all();
        }
    }

    fn deadlines(&self) -> std::sync::MutexGuard<'_, Vec<Instant>> {
        super::super::lock(&self.deadlines)
    }

    /// As that of std.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        pause: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, Timeout)> {
        let deadline = Clock::now() + pause;
        self.deadlines().push(deadline);
        let guard = self.inner.wait(guard);
        let guard = guard.unwrap_or_else(PoisonError::into_inner);
        let mut deadlines = self.deadlines();
        if let Some(at) = deadlines.iter().position(|other| *other == deadline) {
            deadlines.swap_remove(at);
        }
        drop(deadlines);
        Ok((guard, Timeout(Clock::now() >= deadline)))
    }

    /// As that of std.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        pause: Duration,
        mut going_on: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, Timeout)> {
        let deadline = Clock::now() + pause;
        while going_on(&mut guard) {
            let left = deadline.saturating_duration_since(Clock::now());
            if left.is_zero() {
                return Ok((guard, Timeout(true)));
            }
            guard = self
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok((guard, Timeout(false)))
    }
}
