//! Cancellation: a token with hooks. A client that disconnects, a stopped session, a deadline and SIGTERM all
//! cancel through the same call.

use super::sync::atomic::{AtomicBool, Ordering};
use super::sync::{Mutex, lock};
use super::threads::caught;
use crossbeam_channel::{Receiver, bounded, never, select};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long a wait lasts before the token begins to be watched, see [`Cancel::child_watched`].
#[doc(hidden)]
pub const WATCH_AFTER: Duration = Duration::from_millis(100);

type Hook = Box<dyn FnOnce() + Send>;
type Watch = Box<dyn FnOnce(WeakCancel) + Send>;

/// A token that cancels work. Clones share the same state.
#[derive(Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    hooks: Mutex<Hooks>,
    /// The earliest one of the token and those that it descends from.
    deadline: Option<Instant>,
    /// Until it begins.
    watch: Mutex<Option<Watch>>,
    parent: Option<Cancel>,
    /// The hook in the parent.
    follows: Mutex<Option<HookGuard>>,
}

#[derive(Default)]
struct Hooks {
    next: u64,
    waiting: BTreeMap<u64, Hook>,
}

/// Refers to a token without keeping it alive.
#[doc(hidden)]
pub struct WeakCancel(Weak<Inner>);

/// Why a wait brought no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMessage {
    /// The time limit passed.
    TimedOut,
    /// The token was cancelled.
    Cancelled,
    /// There is no sender any more.
    Closed,
}

/// Removes its hook when dropped.
#[must_use = "dropping the guard takes the hook back"]
pub struct HookGuard {
    token: Weak<Inner>,
    key: u64,
}

impl Cancel {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled when this one is, but not the reverse.
    pub fn child(&self) -> Self {
        self.derive(None, None)
    }

    /// A child token with something that finds out by itself that the result is no longer needed, for example that an
    /// HTTP client has disconnected, and then cancels the token. `begin` is called at most once: by the first wait on
    /// the token or a descendant that lasts [`WATCH_AFTER`] or ends without what it waits for, so that what is quick
    /// pays nothing. It must not block.
    #[doc(hidden)]
    pub fn child_watched(&self, begin: impl FnOnce(WeakCancel) + Send + 'static) -> Self {
        self.derive(None, Some(Box::new(begin)))
    }

    /// A child token for which waits end at `end` as if it was cancelled then.
    pub fn child_until(&self, end: Instant) -> Self {
        self.derive(Some(end), None)
    }

    fn derive(&self, end: Option<Instant>, watch: Option<Watch>) -> Self {
        let child = Cancel {
            inner: Arc::new(Inner {
                deadline: self.inner.deadline.into_iter().chain(end).min(),
                watch: Mutex::new(watch),
                parent: Some(self.clone()),
                ..Inner::default()
            }),
        };
        let weak = WeakCancel(Arc::downgrade(&child.inner));
        let guard = self.on_cancel(move || weak.cancel());
        *lock(&child.inner.follows) = Some(guard);
        child
    }

    /// Cancels the token. Runs the hooks in this thread, in the order of their registration. A second call does
    /// nothing.
    pub fn cancel(&self) {
        let hooks = {
            let mut hooks = lock(&self.inner.hooks);
            if self.inner.cancelled.swap(true, Ordering::SeqCst) {
                return;
            }
            std::mem::take(&mut hooks.waiting)
        };
        for hook in hooks.into_values() {
            let _ = caught("hook of a token", hook);
        }
    }

    /// Whether [`cancel`](Cancel::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// How long a wait may sleep at a time, of the time that it has left. After that it calls [`check`](Self::check).
    pub fn longest_sleep(&self, left: Duration) -> Duration {
        let left = match self.inner.deadline {
            Some(end) => left.min(end.saturating_duration_since(Instant::now())),
            None => left,
        };
        if self.is_unwatched() {
            left.min(WATCH_AFTER)
        } else {
            left
        }
    }

    fn is_unwatched(&self) -> bool {
        lock(&self.inner.watch).is_some()
            || self.inner.parent.as_ref().is_some_and(Cancel::is_unwatched)
    }

    /// For work and waits that last: begins to watch the token, if that has not begun, cancels it if its deadline has
    /// passed, and returns whether it is cancelled. Runs hooks, so a caller holds no lock that these take.
    pub fn check(&self) -> bool {
        self.begin_watch();
        if self.inner.deadline.is_some_and(|end| end <= Instant::now()) {
            self.cancel();
        }
        self.is_cancelled()
    }

    fn begin_watch(&self) {
        let begin = lock(&self.inner.watch).take();
        if let Some(begin) = begin {
            begin(WeakCancel(Arc::downgrade(&self.inner)));
        }
        if let Some(parent) = &self.inner.parent {
            parent.begin_watch();
        }
    }

    /// Waits for `timeout` or until the token is cancelled; returns whether it is cancelled.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.receive(&never::<()>(), timeout) == Err(NoMessage::Cancelled)
    }

    /// Waits for a message, for `timeout` at most, or until the token is cancelled or its deadline passes.
    ///
    /// # Errors
    /// Why there is no message.
    #[doc(hidden)]
    pub fn receive<T>(&self, inbox: &Receiver<T>, timeout: Duration) -> Result<T, NoMessage> {
        let start = Instant::now();
        let (sender, cancelled) = bounded::<()>(0);
        // The hook owns the sender: the channel closes when the hook has run.
        let _hook = self.on_cancel(move || drop(sender));
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            select! {
                recv(inbox) -> message => return message.map_err(|_| NoMessage::Closed),
                recv(cancelled) -> _ => return Err(NoMessage::Cancelled),
                default(self.longest_sleep(left)) => {}
            }
            if self.check() {
                return Err(NoMessage::Cancelled);
            }
            if start.elapsed() >= timeout {
                return Err(NoMessage::TimedOut);
            }
        }
    }

    /// Runs `hook` once when the token is cancelled; immediately if it already is. The hook must not block.
    /// Dropping the guard removes the hook.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> HookGuard {
        let mut hooks = lock(&self.inner.hooks);
        let key = hooks.next;
        hooks.next += 1;
        if self.is_cancelled() {
            drop(hooks);
            hook();
        } else {
            hooks.waiting.insert(key, Box::new(hook));
        }
        HookGuard {
            token: Arc::downgrade(&self.inner),
            key,
        }
    }
}

impl WeakCancel {
    /// Cancels the token, if it exists.
    pub fn cancel(&self) {
        if let Some(inner) = self.0.upgrade() {
            Cancel { inner }.cancel();
        }
    }

    /// Whether the token exists and is not cancelled.
    pub fn is_needed(&self) -> bool {
        let inner = self.0.upgrade();
        inner.is_some_and(|inner| !inner.cancelled.load(Ordering::SeqCst))
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel(cancelled: {})", self.is_cancelled())
    }
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        if let Some(token) = self.token.upgrade() {
            // Dropped after the lock is released: a hook may own another guard of this token.
            let _hook = lock(&token.hooks).waiting.remove(&self.key);
        }
    }
}

#[cfg(all(test, model))]
mod loom_tests;

#[cfg(test)]
mod tests;
