//! The running calls of one client: ids, cancellation, threads. MCP 2025-11-25, basic/utilities/cancellation.

use super::jsonrpc::{ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Id};
use gosling_sys as sys;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use gosling_sys::threads::Threads;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most calls of one client that run at the same time.
pub const MAX_CALLS: usize = 64;

/// The most calls that exist at the same time, including cancelled calls that still run and calls whose
/// answer the client does not read.
const MAX_ALIVE: usize = 2 * MAX_CALLS;

/// How long a cancellation is kept for a call that comes later.
const EARLY_CANCELLATION_LIFETIME: Duration = Duration::from_secs(10);
/// The most early cancellations that are kept.
const MAX_EARLY_CANCELLATIONS: usize = 64;
/// How many ended calls are remembered, so that their late cancellations are not kept.
const MAX_ENDED: usize = 256;

/// The calls that a server runs for one client.
pub struct Calls {
    root: Cancel,
    state: Mutex<State>,
    call_ended: Condvar,
}

#[derive(Default)]
struct State {
    running: HashMap<Id, Running>,
    alive: usize,
    serial: u64,
    threads: Threads,
    /// Cancellations that came before their call. Over HTTP each message may have its own connection, so that
    /// one can overtake the other.
    early_cancellations: VecDeque<(Id, Instant)>,
    ended: VecDeque<Id>,
}

struct Running {
    /// Distinguishes calls with the same id: a client may reuse the id of a cancelled call that still runs.
    serial: u64,
    cancel: Cancel,
}

/// A running call; dropping it ends the call.
pub struct CallGuard {
    calls: Arc<Calls>,
    id: Id,
    serial: u64,
    /// Cancels the call.
    pub cancel: Cancel,
}

impl Calls {
    /// No calls; those to come are cancelled with `cancel`.
    pub fn new(cancel: &Cancel) -> Self {
        Calls {
            root: cancel.child(),
            state: Mutex::default(),
            call_ended: Condvar::new(),
        }
    }

    /// Whether the call with this id runs and is not cancelled.
    pub fn is_running(&self, id: &Id) -> bool {
        lock(&self.state).running.contains_key(id)
    }

    /// Whether a call runs, even a cancelled one.
    pub fn is_busy(&self) -> bool {
        lock(&self.state).alive > 0
    }

    /// Starts a call; `None` if it was cancelled before it came.
    ///
    /// # Errors
    /// -32600 if the id is in use, -32603 if too many calls are running.
    pub fn begin(self: &Arc<Self>, id: &Id) -> Result<Option<CallGuard>, ErrorObject> {
        let cancel = self.root.child();
        let mut state = lock(&self.state);
        if state.take_early_cancellation(id) {
            return Ok(None);
        }
        if state.running.contains_key(id) {
            return Err(id_in_use(id));
        }
        if state.running.len() >= MAX_CALLS || state.alive >= MAX_ALIVE {
            let text = format!(
                "{} calls are running already, which is the limit; try again when one has ended",
                state.running.len().max(MAX_CALLS)
            );
            return Err(ErrorObject::new(INTERNAL_ERROR, text));
        }
        state.serial += 1;
        state.alive += 1;
        let serial = state.serial;
        let running = Running {
            serial,
            cancel: cancel.clone(),
        };
        state.running.insert(id.clone(), running);
        Ok(Some(CallGuard {
            calls: self.clone(),
            id: id.clone(),
            serial,
            cancel,
        }))
    }

    /// The token of a running call.
    pub fn token(&self, id: &Id) -> Option<Cancel> {
        let state = lock(&self.state);
        state.running.get(id).map(|running| running.cancel.clone())
    }

    /// Cancels the call and frees its id. Does nothing for a call that has ended. With `may_come`, a call
    /// that comes later does not start.
    pub fn cancel(&self, id: &Id, may_come: bool) {
        let running = {
            let mut state = lock(&self.state);
            let running = state.end(id);
            if running.is_none() && may_come {
                state.keep_early_cancellation(id);
            }
            running
        };
        if let Some(running) = running {
            running.cancel.cancel();
        }
    }

    /// Runs the work of a call in a new thread.
    pub fn spawn(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = sys::spawn(name, None, work)?;
        lock(&self.state).threads.add(thread);
        Ok(())
    }

    /// Cancels all calls; they get no answers.
    pub fn cancel_all(&self) {
        lock(&self.state).running.clear();
        self.root.cancel();
    }

    /// Waits until no call runs, for `timeout` at most.
    pub fn settle(&self, timeout: Duration) {
        let busy = |state: &mut State| state.alive > 0;
        let waited = self
            .call_ended
            .wait_timeout_while(lock(&self.state), timeout, busy);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// [`cancel_all`](Calls::cancel_all), then waits for the threads, for `grace` at most. True if they all
    /// ended.
    pub fn close(&self, grace: Duration) -> bool {
        self.cancel_all();
        let (mut state, timeout) = self
            .call_ended
            .wait_timeout_while(lock(&self.state), grace, |state| state.alive > 0)
            .unwrap_or_else(PoisonError::into_inner);
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        let all = !timeout.timed_out();
        threads.join(all);
        all
    }
}

impl State {
    /// Frees the id of a running call.
    fn end(&mut self, id: &Id) -> Option<Running> {
        let (id, running) = self.running.remove_entry(id)?;
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
        Some(running)
    }

    fn keep_early_cancellation(&mut self, id: &Id) {
        if self.ended.contains(id) {
            return;
        }
        if self.early_cancellations.len() == MAX_EARLY_CANCELLATIONS {
            self.early_cancellations.pop_front();
        }
        self.early_cancellations
            .push_back((id.clone(), Instant::now()));
    }

    fn take_early_cancellation(&mut self, id: &Id) -> bool {
        self.early_cancellations
            .retain(|(_, since)| since.elapsed() < EARLY_CANCELLATION_LIFETIME);
        let found = self
            .early_cancellations
            .iter()
            .position(|(early, _)| early == id);
        found.is_some_and(|at| self.early_cancellations.remove(at).is_some())
    }
}

impl CallGuard {
    /// Frees the id. True if the call is to be answered: false if it was cancelled.
    pub fn finish(&self) -> bool {
        let mut state = lock(&self.calls.state);
        let ours = state
            .running
            .get(&self.id)
            .is_some_and(|running| running.serial == self.serial);
        if ours {
            state.end(&self.id);
        }
        ours
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.finish();
        lock(&self.calls.state).alive -= 1;
        self.calls.call_ended.notify_all();
    }
}

/// The error for a request whose id is in use.
pub fn id_in_use(id: &Id) -> ErrorObject {
    let text =
        format!("A request with the id {id} is still running; use a new id for each request");
    ErrorObject::new(INVALID_REQUEST, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Arc<Calls> {
        Arc::new(Calls::new(&Cancel::new()))
    }

    #[test]
    fn a_cancelled_id_may_come_again_before_its_first_call_has_ended() {
        let calls = calls();
        let id = Id::Number(1);
        let first = calls.begin(&id).unwrap().unwrap();
        assert!(calls.begin(&id).is_err());
        calls.cancel(&id, false);
        assert!(first.cancel.is_cancelled());
        let second = calls.begin(&id).unwrap().unwrap();
        assert!(!first.finish());
        drop(first);
        assert!(calls.is_running(&id) && !second.cancel.is_cancelled());
        assert!(second.finish() && !second.finish());
    }

    #[test]
    fn a_cancellation_that_has_overtaken_its_call_counts_and_one_that_is_late_does_not() {
        let calls = calls();
        let [early, late] = [1, 2].map(Id::Number);
        let ordered = Id::Number(3);
        calls.cancel(&ordered, false);
        assert!(calls.begin(&ordered).unwrap().is_some());
        calls.cancel(&early, true);
        assert!(calls.begin(&early).unwrap().is_none());
        assert!(!calls.is_busy() && !calls.is_running(&early));
        // A cancellation counts once.
        assert!(calls.begin(&early).unwrap().is_some());
        drop(calls.begin(&late).unwrap());
        calls.cancel(&late, true);
        assert!(calls.begin(&late).unwrap().is_some());
        for id in 0..1000 {
            calls.cancel(&Id::Number(10 + id), true);
            drop(calls.begin(&Id::Number(10_000 + id)).unwrap());
        }
        let state = lock(&calls.state);
        assert_eq!(
            (state.early_cancellations.len(), state.ended.len()),
            (MAX_EARLY_CANCELLATIONS, MAX_ENDED)
        );
    }

    #[test]
    fn calls_that_are_cancelled_but_do_not_end_are_bounded_too() {
        let calls = calls();
        let mut stubborn = Vec::new();
        while let Ok(Some(guard)) = calls.begin(&Id::Number(stubborn.len() as i64)) {
            calls.cancel(&guard.id, false);
            stubborn.push(guard);
        }
        assert_eq!(stubborn.len(), MAX_ALIVE);
        assert!(!calls.close(Duration::ZERO));
        stubborn.clear();
        assert!(calls.close(Duration::ZERO));
    }
}
