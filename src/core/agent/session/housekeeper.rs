//! The housekeeper thread: it suspends the MCP servers of idle sessions and puts their agents away (the next
//! request makes them again), frees the events that no client waits for, and returns memory to the system when no
//! session is in use.

use crate::agent::Agent;
use crate::agent::session::agent_table::AgentTable;
use crate::agent::session::observers::SessionObservers;
use crate::sys;
use crate::sys::threads::Threads;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest and the longest interval between two checks.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

pub(in crate::agent) struct Housekeeper {
    /// Nothing is ever sent: the thread ends when this is dropped.
    _open: Sender<()>,
    threads: Threads,
}

impl Housekeeper {
    /// Starts the thread. `idle_limit` returns how long a session may be unused; `None` for no limit.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub(in crate::agent) fn start(
        live: Arc<AgentTable<Agent>>,
        observers: SessionObservers,
        idle_limit: impl Fn() -> Option<Duration> + Send + 'static,
    ) -> io::Result<Self> {
        let (open, closed) = bounded(0);
        let mut threads = Threads::default();
        threads.add(sys::spawn("housekeeper".to_owned(), None, move || {
            run(&live, &observers, &idle_limit, &closed);
        })?);
        Ok(Housekeeper {
            _open: open,
            threads,
        })
    }

    /// Ends the thread after the check that it is at.
    pub(in crate::agent) fn stop(self) {
        let Housekeeper { _open, threads } = self;
        drop(_open);
        threads.join(true);
    }
}

fn run(
    live: &AgentTable<Agent>,
    observers: &SessionObservers,
    idle_limit: &dyn Fn() -> Option<Duration>,
    closed: &Receiver<()>,
) {
    let mut memory = MemoryUse::new();
    loop {
        let limit = idle_limit();
        let (shortest, longest) = POLL_INTERVALS;
        let pause = limit.map_or(longest, |limit| (limit / 4).clamp(shortest, longest));
        if closed.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        if let Some(limit) = limit {
            live.all()
                .into_iter()
                .for_each(|agent| rest(live, agent, limit));
        }
        let freed = observers.ask(|it| it.release_unused());
        let has_freed = freed.filter(|has_freed| *has_freed).count() > 0;
        let agents = live.all();
        let last_used = agents.iter().map(|agent| agent.last_used()).max();
        memory.note(agents.len(), last_used, has_freed);
        if agents.iter().all(|agent| agent.is_unused()) && memory.has_changed {
            memory.returned(agents.len());
            drop(agents);
            sys::trim_memory();
        }
    }
}

/// What has happened since memory was returned to the system last.
struct MemoryUse {
    /// When that was.
    at: Instant,
    /// How many agents there were then.
    agents: usize,
    /// Whether agents were used, made or put away since, or events freed. It stays true when the agents are as many
    /// as then again.
    has_changed: bool,
}

impl MemoryUse {
    fn new() -> Self {
        MemoryUse {
            at: Instant::now(),
            agents: 0,
            has_changed: false,
        }
    }

    fn note(&mut self, agents: usize, last_used: Option<Instant>, has_freed: bool) {
        let is_used = last_used.is_some_and(|last| last > self.at);
        self.has_changed |= has_freed || is_used || agents != self.agents;
    }

    fn returned(&mut self, agents: usize) {
        *self = MemoryUse {
            agents,
            ..MemoryUse::new()
        };
    }
}

/// Suspends the servers of an idle agent, and puts it away unless its end would lose something.
fn rest(live: &AgentTable<Agent>, agent: Arc<Agent>, limit: Duration) {
    agent.suspend_if_idle(limit);
    if agent.can_be_put_away() {
        let id = agent.session_id.clone();
        live.put_away(&id, agent, Agent::is_suspended);
    }
}

#[cfg(test)]
mod tests;
