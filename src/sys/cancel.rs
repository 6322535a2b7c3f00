//! Cancellation: a token with hooks. A client that disconnects, a stopped session, a deadline and SIGTERM all
//! cancel through the same call.

use super::sync::atomic::{AtomicBool, Ordering};
use super::sync::{Mutex, lock};
use crossbeam_channel::{Receiver, bounded, never, select};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The interval at which a wait calls the probe of its token.
pub const PROBE_INTERVAL: Duration = Duration::from_millis(100);

type Hook = Box<dyn FnOnce() + Send>;

/// A token that cancels work. Clones share the same state.
#[derive(Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    hooks: Mutex<Hooks>,
    probe: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    parent: Option<Cancel>,
    /// The hook in the parent.
    follows: Mutex<Option<HookGuard>>,
}

#[derive(Default)]
struct Hooks {
    next: u64,
    waiting: BTreeMap<u64, Hook>,
}

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

    /// A token that is cancelled when this one is, but not the reverse. Its [`probe`](Cancel::probe) calls that of
    /// this one, too.
    pub fn child(&self) -> Self {
        self.derive(None)
    }

    /// A child token with a probe: a function that detects by itself that the result is no longer needed, for
    /// example that an HTTP client has disconnected. Waits on the token call it, see [`probe`](Cancel::probe).
    pub fn child_with_probe(&self, gone: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.derive(Some(Box::new(gone)))
    }

    /// A child token that is cancelled at `end`, too; a wait on it ends at most [`PROBE_INTERVAL`] later.
    pub fn child_until(&self, end: Instant) -> Self {
        self.child_with_probe(move || Instant::now() > end)
    }

    fn derive(&self, probe: Option<Box<dyn Fn() -> bool + Send + Sync>>) -> Self {
        let child = Cancel {
            inner: Arc::new(Inner {
                probe,
                parent: Some(self.clone()),
                ..Inner::default()
            }),
        };
        let weak = Arc::downgrade(&child.inner);
        let guard = self.on_cancel(move || {
            if let Some(inner) = weak.upgrade() {
                Cancel { inner }.cancel();
            }
        });
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
            hook();
        }
    }

    /// Whether [`cancel`](Cancel::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// Whether the token or one that it descends from has a probe, so that a wait must poll.
    pub fn has_probe(&self) -> bool {
        self.inner.probe.is_some() || self.inner.parent.as_ref().is_some_and(Cancel::has_probe)
    }

    /// Calls the probes of the token and of those that it descends from, cancels each whose probe returns true, and
    /// returns whether the token is cancelled.
    pub fn probe(&self) -> bool {
        if self.inner.probe.as_ref().is_some_and(|gone| gone()) {
            self.cancel();
        }
        if let Some(parent) = &self.inner.parent {
            parent.probe();
        }
        self.is_cancelled()
    }

    /// Waits for `timeout` or until the token is cancelled; returns whether it is cancelled. Calls the probe,
    /// if there is one, at once and every [`PROBE_INTERVAL`].
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.probe() || self.receive(&never::<()>(), timeout) == Err(NoMessage::Cancelled)
    }

    /// Waits for a message, for `timeout` at most, or until the token is cancelled. Calls the probe, if there is one,
    /// every [`PROBE_INTERVAL`].
    ///
    /// # Errors
    /// Why there is no message.
    pub fn receive<T>(&self, inbox: &Receiver<T>, timeout: Duration) -> Result<T, NoMessage> {
        let start = Instant::now();
        let (sender, cancelled) = bounded::<()>(0);
        // The hook owns the sender: the channel closes when the hook has run.
        let _hook = self.on_cancel(move || drop(sender));
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let wait = if self.has_probe() {
                left.min(PROBE_INTERVAL)
            } else {
                left
            };
            select! {
                recv(inbox) -> message => return message.map_err(|_| NoMessage::Closed),
                recv(cancelled) -> _ => return Err(NoMessage::Cancelled),
                default(wait) => {}
            }
            if self.probe() {
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
