//! The live agents by their sessions: one a session, and none that ends is handed out as one that runs.
//! No I/O, and no lock is held while an agent ends.

use super::{Agent, Error};
use crate::sys::cancel::Cancel;
use crate::sys::sync::{Mutex, lock};
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(all(test, model))]
mod loom_tests;

/// What the table has to know of an agent.
pub(super) trait Lifecycle {
    /// It ends, or has ended.
    fn is_ending(&self) -> bool;
    /// Ends it; returns when it and those that it replaced are gone.
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

/// What becomes of an agent that runs already.
#[derive(Clone, Copy)]
pub(super) enum IfRunning {
    Keep,
    Replace,
}

/// All live agents, by the ids of their sessions.
pub(super) struct AgentTable<A> {
    agents: Mutex<HashMap<String, Arc<A>>>,
    /// Cancelled when no agent may begin any more.
    over: Cancel,
}

impl<A: Lifecycle> AgentTable<A> {
    /// An empty table, in use until `over` is cancelled by [`end`](Self::end).
    pub(super) fn new(over: Cancel) -> Self {
        AgentTable {
            agents: Mutex::new(HashMap::new()),
            over,
        }
    }

    /// The session's agent, which may be ending.
    pub(super) fn get(&self, id: &str) -> Option<Arc<A>> {
        lock(&self.agents).get(id).cloned()
    }

    /// The session's agent, if it runs.
    pub(super) fn running(&self, id: &str) -> Option<Arc<A>> {
        self.get(id).filter(|agent| !agent.is_ending())
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<A>> {
        lock(&self.agents).values().cloned().collect()
    }

    /// The session's agent, and whether it is new: the one that runs, if it stays, else what `make`
    /// gives, which is handed the one that it replaces and has to end it first.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the table is no longer in use; as `make`.
    pub(super) fn enter(
        &self,
        id: &str,
        running: IfRunning,
        make: impl FnOnce(Option<Arc<A>>) -> Result<Arc<A>, Error>,
    ) -> Result<(Arc<A>, bool), Error> {
        let mut agents = lock(&self.agents);
        // Asked under the lock: who comes before the end is found by it.
        if self.over.is_cancelled() {
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

    /// Ends the session's agent; does nothing if there is none. It stays in the table until it is gone,
    /// so that the next one knows what to wait for.
    pub(super) fn stop(&self, id: &str) {
        let Some(agent) = self.get(id) else { return };
        agent.close();
        let mut agents = lock(&self.agents);
        if agents.get(id).is_some_and(|now| Arc::ptr_eq(now, &agent)) {
            agents.remove(id);
        }
    }

    /// Lets no agent begin any more and gives all that there are, for the caller to close.
    pub(super) fn end(&self) -> Vec<(String, Arc<A>)> {
        self.over.cancel();
        lock(&self.agents).drain().collect()
    }
}
