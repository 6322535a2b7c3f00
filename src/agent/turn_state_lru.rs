//! Which agents keep what their turns work with: those that had a turn last.
//!
//! It is the whole conversation and two open files, and a server may have met any number of sessions.
//! The others read it anew from the disk when their next turn comes.

use super::session_agent::Agent;
use crate::sys::lock;
use std::sync::{Arc, Mutex, Weak};

/// How many agents keep it.
const KEPT: usize = 32;

/// The agents that had a turn, the last one at the end.
#[derive(Default)]
pub(super) struct TurnStateLru(Mutex<Vec<Weak<Agent>>>);

impl TurnStateLru {
    /// `agent` has a turn: whoever had none for the longest time may let go.
    pub(super) fn touch(&self, agent: &Arc<Agent>) {
        let mut let_go = Vec::new();
        let mut agents = lock(&self.0);
        let this = Arc::downgrade(agent);
        agents.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&this));
        agents.push(this);
        let mut surplus = agents.len().saturating_sub(KEPT);
        agents.retain(|known| {
            if surplus == 0 {
                return true;
            }
            let work = known.upgrade().and_then(|agent| agent.let_go());
            surplus -= usize::from(work.is_some());
            let stays = work.is_none();
            let_go.extend(work);
            stays
        });
        drop(agents);
        // What is dropped only here is closed and freed while nobody waits for it.
        drop(let_go);
    }
}
