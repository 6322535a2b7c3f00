//! Observers of session names: a front that shows sessions learns at once that one has been named.

use crate::agent::Registry;
use crate::sys::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// Takes the id of a session and its new name.
type Observer = dyn Fn(&str, &str) + Send + Sync;

/// The observers of all sessions' names.
#[derive(Clone, Default)]
pub(in crate::agent) struct NameObservers(Arc<Mutex<Observers>>);

#[derive(Default)]
struct Observers {
    next: u64,
    all: BTreeMap<u64, Arc<Observer>>,
}

/// Removes its observer when dropped.
#[must_use = "dropping the guard removes the observer"]
pub struct NameObserver {
    observers: Weak<Mutex<Observers>>,
    key: u64,
}

impl NameObservers {
    fn add(&self, observer: Arc<Observer>) -> NameObserver {
        let mut observers = lock(&self.0);
        let key = observers.next;
        observers.next += 1;
        observers.all.insert(key, observer);
        NameObserver {
            observers: Arc::downgrade(&self.0),
            key,
        }
    }

    /// Calls every observer, without the lock.
    pub(in crate::agent) fn named(&self, id: &str, name: &str) {
        let all: Vec<_> = lock(&self.0).all.values().cloned().collect();
        for observer in all {
            observer(id, name);
        }
    }
}

impl Drop for NameObserver {
    fn drop(&mut self) {
        if let Some(observers) = self.observers.upgrade() {
            // Dropped after the lock is released: an observer may own anything.
            let _observer = lock(&observers).all.remove(&self.key);
        }
    }
}

impl Registry {
    /// Calls `observer` with a session's id and name whenever a session of this process gets a name, until the
    /// guard is dropped. The observer must not block.
    pub fn observe_names(
        &self,
        observer: impl Fn(&str, &str) + Send + Sync + 'static,
    ) -> NameObserver {
        self.name_observers.add(Arc::new(observer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_gets_names_until_its_guard_is_dropped() {
        let observers = NameObservers::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let collected = seen.clone();
        let guard = observers.add(Arc::new(move |id: &str, name: &str| {
            lock(&collected).push(format!("{id}: {name}"));
        }));
        observers.named("1", "a");
        drop(guard);
        observers.named("1", "b");
        assert_eq!(*lock(&seen), ["1: a"]);
    }
}
