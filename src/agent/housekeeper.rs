//! The housekeeper thread: it suspends the MCP servers of idle sessions and puts their agents away (the next
//! request makes them again), frees the events that no client waits for, and returns memory to the system when no
//! session is in use.

use super::Agent;
use super::agent_table::AgentTable;
use super::event_log::EventLogs;
use crate::sys;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The shortest and the longest interval between two checks.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

pub(super) struct Housekeeper {
    /// Nothing is ever sent: the thread ends when this is dropped.
    _open: Sender<()>,
    thread: JoinHandle<()>,
}

impl Housekeeper {
    /// Starts the thread. `idle_limit` returns how long a session may be unused; `None` for no limit.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub(super) fn start(
        live: Arc<AgentTable<Agent>>,
        event_logs: Arc<EventLogs>,
        idle_limit: impl Fn() -> Option<Duration> + Send + 'static,
    ) -> io::Result<Self> {
        let (open, closed) = bounded(0);
        let thread = sys::spawn("housekeeper".to_owned(), None, move || {
            run(&live, &event_logs, &idle_limit, &closed);
        })?;
        Ok(Housekeeper {
            _open: open,
            thread,
        })
    }

    /// Ends the thread after the check that it is at.
    pub(super) fn stop(self) {
        let Housekeeper { _open, thread } = self;
        drop(_open);
        let _ = thread.join();
    }
}

fn run(
    live: &AgentTable<Agent>,
    event_logs: &EventLogs,
    idle_limit: &dyn Fn() -> Option<Duration>,
    closed: &Receiver<()>,
) {
    // When memory was returned last, and how many agents there were then.
    let mut trimmed = (Instant::now(), 0);
    // Whether events were freed since.
    let mut has_freed = false;
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
        has_freed |= event_logs.release_unused();
        let agents = live.all();
        let all_unused = agents.iter().all(|agent| agent.is_unused());
        let used = agents.iter().any(|agent| agent.last_used() > trimmed.0);
        if all_unused && (used || has_freed || agents.len() != trimmed.1) {
            trimmed = (Instant::now(), agents.len());
            has_freed = false;
            drop(agents);
            sys::trim_memory();
        }
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
