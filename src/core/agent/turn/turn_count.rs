//! How many turns run, and whether more may begin.

use crate::agent::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Counts the turns of a registry. A turn is counted before it looks whether it may begin, so that a drain misses none.
#[derive(Debug, Default)]
pub(in crate::agent) struct TurnCount {
    running: AtomicUsize,
    is_draining: AtomicBool,
    /// What requests for turns call before they are refused.
    wait: OnceLock<fn()>,
}

/// One of them, until it is dropped.
pub(in crate::agent) struct Counted<'a>(&'a TurnCount);

impl TurnCount {
    pub(in crate::agent) fn count(&self) -> Counted<'_> {
        self.running.fetch_add(1, SeqCst);
        Counted(self)
    }

    /// No more turns may begin. Returns how many run.
    pub(in crate::agent) fn drain(&self, wait: fn()) -> usize {
        let _ = self.wait.set(wait);
        self.is_draining.store(true, SeqCst);
        self.running.load(SeqCst)
    }

    pub(in crate::agent) fn is_draining(&self) -> bool {
        self.is_draining.load(SeqCst)
    }

    /// Waits until the refusal of another turn is of use.
    pub(in crate::agent) fn wait(&self) {
        if let Some(wait) = self.wait.get() {
            wait();
        }
    }

    /// Whether another turn may begin.
    ///
    /// # Errors
    /// [`Error::Busy`] after [`drain`](Self::drain).
    pub(in crate::agent) fn check(&self) -> Result<(), Error> {
        if self.is_draining() {
            let reason = "the server is about to stop; send it again in a moment".to_owned();
            return Err(Error::Busy { reason });
        }
        Ok(())
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}
