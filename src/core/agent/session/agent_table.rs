//! The live agents by their session ids: one for each session. An agent that is ending is never returned as
//! a running one. Of an agent that is put away, the table only knows that it was started. This module does no
//! I/O and holds no lock while an agent ends.

use crate::agent::{Agent, Error};
use crate::sys::cancel::Cancel;
use crate::sys::sync::{Mutex, lock};
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(all(test, model))]
mod loom_tests;

/// What the table calls on an agent; a test stands in for it.
pub(in crate::agent) trait Lifecycle {
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
pub(in crate::agent) enum IfRunning {
    Keep,
    Replace,
    /// Keep it, and start none that was not started before.
    KeepStarted,
}

/// All agents that were started and not stopped, by the ids of their sessions.
pub(in crate::agent) struct AgentTable<A> {
    /// `None` is an agent that is put away.
    agents: Mutex<HashMap<Box<str>, Option<Arc<A>>>>,
    /// Cancelled when no more agents may start.
    shutdown: Cancel,
}

impl<A: Lifecycle> AgentTable<A> {
    /// An empty table. [`shut_down`](Self::shut_down) cancels `shutdown`.
    pub(in crate::agent) fn new(shutdown: Cancel) -> Self {
        AgentTable {
            agents: Mutex::new(HashMap::new()),
            shutdown,
        }
    }

    /// The session's agent, which may be ending.
    pub(in crate::agent) fn get(&self, id: &str) -> Option<Arc<A>> {
        lock(&self.agents).get(id).cloned().flatten()
    }

    /// Whether the session's agent is put away.
    pub(in crate::agent) fn is_put_away(&self, id: &str) -> bool {
        matches!(lock(&self.agents).get(id), Some(None))
    }

    /// Lets the session `copy` have an agent that is put away, if `id` has an agent.
    pub(in crate::agent) fn add_copy(&self, id: &str, copy: &str) {
        let mut agents = lock(&self.agents);
        if agents.contains_key(id) && !self.shutdown.is_cancelled() {
            agents.entry(copy.into()).or_insert(None);
        }
    }

    /// How many agents there are, with those that are put away.
    pub(in crate::agent) fn len(&self) -> usize {
        lock(&self.agents).len()
    }

    /// The session's agent, if it is not ending.
    pub(in crate::agent) fn running(&self, id: &str) -> Option<Arc<A>> {
        self.get(id).filter(|agent| !agent.is_ending())
    }

    /// All agents that are not put away.
    pub(in crate::agent) fn all(&self) -> Vec<Arc<A>> {
        lock(&self.agents).values().flatten().cloned().collect()
    }

    /// The session's agent, and whether it is new. Unless a running one is kept, `make` makes the agent; it
    /// gets the agent that it replaces, which the new one has to end first, and whether it makes one again that
    /// is put away.
    ///
    /// # Errors
    /// [`Error::Cancelled`] after [`shut_down`](Self::shut_down), [`Error::NotRunning`] for an agent that may not
    /// be started, the errors of `make`.
    pub(in crate::agent) fn get_or_insert(
        &self,
        id: &str,
        running: IfRunning,
        make: impl FnOnce(Option<Arc<A>>, bool) -> Result<Arc<A>, Error>,
    ) -> Result<(Arc<A>, bool), Error> {
        let mut agents = lock(&self.agents);
        // Checked under the lock, so that `shut_down` returns every agent that was inserted.
        if self.shutdown.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let started = agents.get(id).cloned();
        let is_put_away = matches!(started, Some(None));
        let before = started.flatten();
        let keeps = !matches!(running, IfRunning::Replace);
        if let Some(agent) = before.as_ref().filter(|agent| keeps && !agent.is_ending()) {
            return Ok((agent.clone(), false));
        }
        if matches!(running, IfRunning::KeepStarted) && !is_put_away {
            return Err(Error::NotRunning { id: id.to_owned() });
        }
        let agent = make(before, is_put_away && keeps)?;
        agents.insert(id.into(), Some(agent.clone()));
        Ok((agent, true))
    }

    /// Puts the agent away and ends it, if `may` allows that and no other thread has it. `agent` is the
    /// caller's only reference.
    pub(in crate::agent) fn put_away(&self, id: &str, agent: Arc<A>, may: impl FnOnce(&A) -> bool) {
        let mut agents = lock(&self.agents);
        let Some(entry) = agents.get_mut(id) else {
            return;
        };
        let is_its = entry.as_ref().is_some_and(|now| Arc::ptr_eq(now, &agent));
        // The table's and the caller's: other threads get one under the lock only.
        let is_unshared = Arc::strong_count(&agent) == 2;
        if is_its && is_unshared && may(&agent) {
            *entry = None;
            drop(agents);
            agent.close();
        }
    }

    /// Ends the session's agent, if there is one. The agent stays in the table until it has ended, so that
    /// the next one can wait for it.
    pub(in crate::agent) fn stop(&self, id: &str) {
        let agent = self.get(id);
        if let Some(agent) = &agent {
            agent.close();
        }
        let address = |agent: &Option<Arc<A>>| agent.as_ref().map(Arc::as_ptr);
        let mut agents = lock(&self.agents);
        if agents
            .get(id)
            .is_some_and(|now| address(now) == address(&agent))
        {
            agents.remove(id);
        }
    }

    /// Prevents new agents and returns the present ones, for the caller to close.
    pub(in crate::agent) fn shut_down(&self) -> Vec<Arc<A>> {
        self.shutdown.cancel();
        let agents = std::mem::take(&mut *lock(&self.agents));
        agents.into_values().flatten().collect()
    }
}
