//! The agents that keep their [`TurnState`](crate::agent::turn::turn_state::TurnState) in memory: the most recently used ones.
//!
//! A state holds the whole conversation and two open files, and a server may serve any number of sessions.
//! The other agents read it from the disk again when their next turn begins.

use crate::agent::session::session_agent::Agent;
use crate::sys::lock;
use std::sync::{Arc, Mutex, Weak};

/// How many agents keep their state.
const MAX_KEPT: usize = 32;

/// The agents that had a turn, the most recent one last.
#[derive(Default)]
pub(in crate::agent) struct TurnStateLru(Mutex<Vec<Weak<Agent>>>);

impl TurnStateLru {
    /// Marks `agent` as used most recently.
    pub(in crate::agent) fn touch(&self, agent: &Arc<Agent>) {
        let mut agents = lock(&self.0);
        let this = Arc::downgrade(agent);
        agents.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&this));
        agents.push(this);
    }

    /// Lets the least recently used agents release their states, but for those whose turn is running. Called when
    /// a turn has ended.
    pub(in crate::agent) fn release_surplus(&self) {
        let mut released = Vec::new();
        let mut agents = lock(&self.0);
        let mut surplus = agents.len().saturating_sub(MAX_KEPT);
        agents.retain(|known| {
            if surplus == 0 {
                return true;
            }
            let state = known.upgrade().and_then(|agent| agent.release_turn_state());
            surplus -= usize::from(state.is_some());
            let stays = state.is_none();
            released.extend(state);
            stays
        });
        drop(agents);
        // Dropped without the lock, since it closes files.
        drop(released);
    }
}
