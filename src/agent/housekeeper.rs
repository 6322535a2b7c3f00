//! The thread that looks after what nobody uses: a session without requests for a while gives its
//! servers back, and the next request brings them back. When nothing goes on at all, memory that was freed
//! goes back to the system.

use super::Agent;
use super::agent_table::AgentTable;
use crate::sys;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks, at least and at most.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

pub(super) struct Housekeeper {
    /// Nothing is ever sent: the thread ends when this is dropped.
    _open: Sender<()>,
    thread: JoinHandle<()>,
}

impl Housekeeper {
    /// Starts it. `idle` says how long a session may be unused, if there is a limit.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn begin(
        live: Arc<AgentTable<Agent>>,
        idle: impl Fn() -> Option<Duration> + Send + 'static,
    ) -> io::Result<Self> {
        let (open, closed) = bounded(0);
        let thread = sys::spawn("housekeeper".to_owned(), None, move || {
            keep(&live, &idle, &closed);
        })?;
        Ok(Housekeeper {
            _open: open,
            thread,
        })
    }

    /// Ends it; an agent that is being laid to rest is waited for.
    pub(super) fn end(self) {
        let Housekeeper { _open, thread } = self;
        drop(_open);
        let _ = thread.join();
    }
}

fn keep(live: &AgentTable<Agent>, idle: &dyn Fn() -> Option<Duration>, closed: &Receiver<()>) {
    // When memory was given back, and how many agents there were.
    let mut trimmed = (Instant::now(), 0);
    loop {
        let limit = idle();
        let (shortest, longest) = POLL_INTERVALS;
        let pause = limit.map_or(longest, |limit| (limit / 4).clamp(shortest, longest));
        if closed.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let agents = live.all();
        if let Some(limit) = limit {
            agents.iter().for_each(|agent| agent.rest_if_idle(limit));
        }
        let quiet = agents.iter().all(|agent| agent.is_quiet());
        let used = agents.iter().any(|agent| agent.last_used() > trimmed.0);
        if quiet && (used || agents.len() != trimmed.1) {
            trimmed = (Instant::now(), agents.len());
            drop(agents);
            sys::trim_allocator();
        }
    }
}
