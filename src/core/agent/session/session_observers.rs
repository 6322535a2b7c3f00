//! Observers of sessions: what a part keeps for sessions ends with them.

use crate::agent::Registry;
use crate::sys::lock;
use std::sync::{Arc, Mutex};

/// Learns what becomes of the sessions of a registry. Its methods must not block.
pub trait SessionObserver: Send + Sync {
    /// The session was deleted.
    fn deleted(&self, id: &str);
    /// Frees memory that has not been used for a while; whether there was any. The housekeeper asks this at its
    /// intervals.
    fn release_unused(&self) -> bool;
    /// All agents have ended, and there will be no new ones.
    fn closed(&self);
}

/// The observers of a registry's sessions.
#[derive(Clone, Default)]
pub(in crate::agent) struct SessionObservers(Arc<Mutex<Vec<Arc<dyn SessionObserver>>>>);

impl SessionObservers {
    /// The observers, in the order in which they were added.
    pub(in crate::agent) fn all(&self) -> impl Iterator<Item = Arc<dyn SessionObserver>> {
        lock(&self.0).clone().into_iter()
    }
}

impl Registry {
    /// Adds an observer, for as long as the registry is there.
    pub fn observe_sessions(&self, observer: Arc<dyn SessionObserver>) {
        lock(&self.session_observers.0).push(observer);
    }
}
