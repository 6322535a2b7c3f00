//! The live agents by their session ids: one for each session. An agent that is ending is never returned as
//! a running one. This module does no I/O and holds no lock while an agent ends.

use super::{Agent, Error};
use crate::sys::cancel::Cancel;
use crate::sys::sync::{Mutex, lock};
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(all(test, model))]
mod loom_tests;

/// What the table calls on an agent; a test stands in for it.
pub(super) trait Lifecycle {
    /// Whether it is ending, or has ended.
    fn is_ending(&self) -> bool;
    /// Ends it; returns when it and the agents that it replaced have ended.
    fn close(&self);
}

impl Lifecycle for Agent {
    fn is_ending(&self) -> bool {
        Agent::is_ending(self)
    }

    fn close(&self) {
        Agent::close(self);
    }
}

/// What to do with an agent that is already running.
#[derive(Clone, Copy)]
pub(super) enum IfRunning {
    Keep,
    Replace,
}

/// All live agents, by the ids of their sessions.
pub(super) struct AgentTable<A> {
    agents: Mutex<HashMap<String, Arc<A>>>,
    /// Cancelled when no more agents may start.
    shutdown: Cancel,
}

impl<A: Lifecycle> AgentTable<A> {
    /// An empty table. [`shut_down`](Self::shut_down) cancels `shutdown`.
    pub(super) fn new(shutdown: Cancel) -> Self {
        AgentTable {
            agents: Mutex::new(HashMap::new()),
            shutdown,
        }
    }

    /// The session's agent, which may be ending.
    pub(super) fn get(&self, id: &str) -> Option<Arc<A>> {
        lock(&self.agents).get(id).cloned()
    }

    /// The session's agent, if it is not ending.
    pub(super) fn running(&self, id: &str) -> Option<Arc<A>> {
        self.get(id).filter(|agent| !agent.is_ending())
    }

    /// All agents.
    pub(super) fn all(&self) -> Vec<Arc<A>> {
        lock(&self.agents).values().cloned().collect()
    }

    /// The session's agent, and whether it is new. Unless a running one is kept, `make` makes the agent; it
    /// gets the agent that it replaces, which the new one has to end first.
    ///
    /// # Errors
    /// [`Error::Cancelled`] after [`shut_down`](Self::shut_down); the errors of `make`.
    pub(super) fn get_or_insert(
        &self,
        id: &str,
        running: IfRunning,
        make: impl FnOnce(Option<Arc<A>>) -> Result<Arc<A>, Error>,
    ) -> Result<(Arc<A>, bool), Error> {
        let mut agents = lock(&self.agents);
        // Checked under the lock, so that `shut_down` returns every agent that was inserted.
        if self.shutdown.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let before = agents.get(id).cloned();
        if let (Some(agent), IfRunning::Keep) = (&before, running)
            && !agent.is_ending()
        {
            return Ok((agent.clone(), false));
        }
        let agent = make(before)?;
        agents.insert(id.to_owned(), agent.clone());
        Ok((agent, true))
    }

    /// Ends the session's agent, if there is one. The agent stays in the table until it has ended, so that
    /// the next one can wait for it.
    pub(super) fn stop(&self, id: &str) {
        let Some(agent) = self.get(id) else { return };
        agent.close();
        let mut agents = lock(&self.agents);
        if agents.get(id).is_some_and(|now| Arc::ptr_eq(now, &agent)) {
            agents.remove(id);
        }
    }

    /// Prevents new agents and returns the present ones, for the caller to close.
    pub(super) fn shut_down(&self) -> Vec<(String, Arc<A>)> {
        self.shutdown.cancel();
        lock(&self.agents).drain().collect()
    }
}
