//! Requests of the other side that are being answered: ids, cancellation, threads, and the end of them all. MCP
//! 2025-11-25, basic/utilities/cancellation.
//!
//! A server has the calls of its client here, a client the requests of its server.

use super::jsonrpc::{ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Id};
use gosling_sys as sys;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use gosling_sys::threads::Threads;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a cancellation is kept for a request that comes later.
const EARLY_CANCELLATION_LIFETIME: Duration = Duration::from_secs(10);
/// The most early cancellations that are kept.
const MAX_EARLY_CANCELLATIONS: usize = 64;
/// How many ended requests are remembered, so that their late cancellations are not kept.
const MAX_ENDED: usize = 256;

/// The requests of one connection that are being answered. `T` is what their owner knows about each.
pub struct IncomingRequests<T = ()> {
    limits: Limits,
    root: Cancel,
    pub(crate) state: Mutex<State<T>>,
    request_ended: Condvar,
}

/// How many requests there may be at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most that are being answered.
    pub answered: usize,
    /// The most that exist, including those that still run after they were cancelled, and those whose answer the
    /// other side does not read.
    pub alive: usize,
}

pub(crate) struct State<T> {
    pub(crate) running: HashMap<Id, Running<T>>,
    pub(crate) alive: usize,
    serial: u64,
    threads: Threads,
    early: EarlyCancellations,
    is_closed: bool,
}

pub(crate) struct Running<T> {
    /// Distinguishes requests with the same id: the id of a cancelled request that still runs may be reused.
    serial: u64,
    pub(crate) cancel: Cancel,
    info: T,
}

/// A running request; dropping it ends the request.
pub struct RequestGuard<T = ()> {
    requests: Arc<IncomingRequests<T>>,
    id: Id,
    serial: u64,
    /// Cancels the request.
    pub cancel: Cancel,
}

/// Why a request does not begin. As an [`ErrorObject`] it tells a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A request with this id is being answered.
    IdInUse(Id),
    /// As many as this are being answered, which is the limit.
    TooMany(usize),
    /// The connection is ending.
    Ending,
}

impl<T> IncomingRequests<T> {
    /// No requests; those to come are cancelled with `cancel`.
    pub fn new(limits: Limits, cancel: &Cancel) -> Self {
        IncomingRequests {
            limits,
            root: cancel.child(),
            state: Mutex::new(State {
                running: HashMap::new(),
                alive: 0,
                serial: 0,
                threads: Threads::default(),
                early: EarlyCancellations::default(),
                is_closed: false,
            }),
            request_ended: Condvar::new(),
        }
    }

    /// Begins to answer a request; `None` if it was cancelled before it came.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn begin(self: &Arc<Self>, id: &Id, info: T) -> Result<Option<RequestGuard<T>>, Refusal> {
        let cancel = self.root.child();
        let mut state = lock(&self.state);
        if state.early.take(id) {
            return Ok(None);
        }
        if state.is_closed {
            return Err(Refusal::Ending);
        }
        if state.running.contains_key(id) {
            return Err(Refusal::IdInUse(id.clone()));
        }
        if state.running.len() >= self.limits.answered || state.alive >= self.limits.alive {
            return Err(Refusal::TooMany(self.limits.answered));
        }
        state.serial += 1;
        state.alive += 1;
        let serial = state.serial;
        let running = Running {
            serial,
            cancel: cancel.clone(),
            info,
        };
        state.running.insert(id.clone(), running);
        Ok(Some(RequestGuard {
            requests: self.clone(),
            id: id.clone(),
            serial,
            cancel,
        }))
    }

    /// Cancels a request for the other side, which expects no answer, and frees its id. Does nothing for one that
    /// has ended. With `may_come`, a request that comes later does not begin: over HTTP each message may have its
    /// own connection, so that one can overtake the other.
    pub fn withdraw(&self, id: &Id, may_come: bool) {
        let running = {
            let mut state = lock(&self.state);
            let running = state.end(id);
            if running.is_none() && may_come {
                state.early.keep(id);
            }
            running
        };
        if let Some(running) = running {
            running.cancel.cancel();
        }
    }

    /// Cancels some requests, which are still answered.
    pub(crate) fn cancel_where(&self, which: impl Fn(&T) -> bool) {
        let tokens: Vec<Cancel> = {
            let state = lock(&self.state);
            let all = state.running.values();
            let some = all.filter(|running| which(&running.info));
            some.map(|running| running.cancel.clone()).collect()
        };
        for token in tokens {
            token.cancel();
        }
    }

    /// Runs the work of a request in a new thread.
    ///
    /// # Errors
    /// When the thread cannot start; the work is dropped then.
    pub fn spawn(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = sys::spawn(name, None, work)?;
        lock(&self.state).threads.add(thread);
        Ok(())
    }

    /// Refuses later requests and cancels all, which are still answered.
    pub(crate) fn cancel_all(&self) {
        lock(&self.state).is_closed = true;
        self.root.cancel();
    }

    /// Refuses later requests, cancels all, then waits for them and joins their threads, for `grace` at
    /// most. Returns how many still run, without one in the calling thread.
    pub fn close(&self, grace: Duration) -> usize {
        self.cancel_all();
        let ours = usize::from(lock(&self.state).threads.has_this());
        let mut state = self.wait_ended(grace, ours);
        let threads = std::mem::take(&mut state.threads);
        let left = state.alive.saturating_sub(ours);
        drop(state);
        threads.join(left == 0);
        left
    }

    /// Waits until at most `left` requests run.
    pub(crate) fn wait_ended(&self, timeout: Duration, left: usize) -> MutexGuard<'_, State<T>> {
        let busy = |state: &mut State<T>| state.alive > left;
        self.request_ended
            .wait_timeout_while(lock(&self.state), timeout, busy)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

impl<T> State<T> {
    /// Frees the id of a running request.
    fn end(&mut self, id: &Id) -> Option<Running<T>> {
        let (id, running) = self.running.remove_entry(id)?;
        self.early.ended(id);
        Some(running)
    }
}

impl<T> RequestGuard<T> {
    /// Frees the id. True if the request is to be answered: false if the other side has cancelled it.
    pub fn finish(&self) -> bool {
        let mut state = lock(&self.requests.state);
        let running = state.running.get(&self.id);
        let ours = running.is_some_and(|running| running.serial == self.serial);
        if ours {
            state.end(&self.id);
        }
        ours
    }
}

impl<T> Drop for RequestGuard<T> {
    fn drop(&mut self) {
        self.finish();
        lock(&self.requests.state).alive -= 1;
        self.requests.request_ended.notify_all();
    }
}

/// Cancellations that came before their request.
#[derive(Default)]
struct EarlyCancellations {
    kept: VecDeque<(Id, Instant)>,
    ended: VecDeque<Id>,
}

impl EarlyCancellations {
    fn ended(&mut self, id: Id) {
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(id);
    }

    fn keep(&mut self, id: &Id) {
        if self.ended.contains(id) {
            return;
        }
        if self.kept.len() == MAX_EARLY_CANCELLATIONS {
            self.kept.pop_front();
        }
        self.kept.push_back((id.clone(), Instant::now()));
    }

    fn take(&mut self, id: &Id) -> bool {
        self.kept
            .retain(|(_, since)| since.elapsed() < EARLY_CANCELLATION_LIFETIME);
        let found = self.kept.iter().position(|(early, _)| early == id);
        found.is_some_and(|at| self.kept.remove(at).is_some())
    }
}

impl From<Refusal> for ErrorObject {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::IdInUse(id) => ErrorObject::new(
                INVALID_REQUEST,
                format!(
                    "A request with the id {id} is still running; use a new id for each request"
                ),
            ),
            Refusal::TooMany(limit) => ErrorObject::new(
                INTERNAL_ERROR,
                format!(
                    "{limit} calls are running already, which is the limit; try again when one has ended"
                ),
            ),
            Refusal::Ending => ErrorObject::new(INTERNAL_ERROR, "The connection is ending"),
        }
    }
}

#[cfg(test)]
mod tests;
