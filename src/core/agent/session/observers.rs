//! Observers of sessions: what a part keeps for sessions ends with them, and a front that shows sessions learns at once
//! that one has been named.

use crate::agent::EventSink;
use crate::conversation::Message;
use crate::sys::cancel::Cancel;
use crate::sys::{caught, lock};
use std::sync::{Arc, Mutex, Weak};

/// Learns what becomes of the sessions of a registry. Its methods must not block. The log tells of one that panics; a
/// sink that panics gets no more events.
pub trait SessionObserver: Send + Sync {
    /// The session of this process got this name.
    fn named(&self, _id: &str, _name: &str) {}
    /// A turn of the session begins with this message, and ends when `cancel` fires. What is returned gets the events
    /// of the turn, too, and is dropped at its end.
    fn turn_begins(
        &self,
        _id: &str,
        _user: &Message,
        _cancel: &Cancel,
    ) -> Option<Box<dyn EventSink>> {
        None
    }
    /// An extension asks the user something while no turn of the session runs. Whether somebody sees the question, to
    /// answer it with [`Questions`](crate::agent::Questions).
    fn asked(&self, _id: &str, _question: &Message) -> bool {
        false
    }
    /// The session was deleted.
    fn deleted(&self, _id: &str) {}
    /// How many of the session's messages come before those that a page gets when it opens the session and follows
    /// its running turn, if it gets them all.
    fn before_followed_turn(&self, _id: &str, _messages: &[Message]) -> Option<usize> {
        None
    }
    /// Frees memory that has not been used for a while; whether there was any. The housekeeper asks this at its
    /// intervals.
    fn release_unused(&self) -> bool {
        false
    }
    /// All agents have ended, and there will be no new ones.
    fn closed(&self) {}
}

/// The observers of a registry's sessions.
#[derive(Clone, Default)]
pub(in crate::agent) struct SessionObservers(Arc<Mutex<Vec<Weak<dyn SessionObserver>>>>);

impl SessionObservers {
    /// Adds an observer, for as long as there is another reference to it.
    pub(in crate::agent) fn add(&self, observer: Weak<dyn SessionObserver>) {
        let mut all = lock(&self.0);
        all.retain(|known| known.strong_count() > 0);
        all.push(observer);
    }

    /// Calls the observers, in the order in which they were added, for their answers. They are called, and may be
    /// dropped, without the lock. One that panics has no answer.
    pub(in crate::agent) fn ask<T>(
        &self,
        call: impl Fn(&dyn SessionObserver) -> T,
    ) -> impl Iterator<Item = T> {
        let all = lock(&self.0).clone().into_iter();
        let all = all.filter_map(|observer| observer.upgrade());
        all.filter_map(move |it| caught("observer of sessions", || call(&*it)).ok())
    }

    /// As [`ask`](Self::ask), of all.
    pub(in crate::agent) fn tell(&self, call: impl Fn(&dyn SessionObserver)) {
        self.ask(call).for_each(drop);
    }
}

#[cfg(test)]
mod tests;
