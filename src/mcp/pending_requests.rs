//! The table of requests that wait for an answer. Pure: no I/O, and every wait is bounded.

use super::jsonrpc::{ErrorObject, RawJson};
use super::transport::TransportError;
use gosling_sys::TimeLimit;
use gosling_sys::cancel::Cancel;
use gosling_sys::sync::{Clock, Condvar, Mutex, lock};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The server's `result`.
    Answer(RawJson),
    /// The server's `error`.
    Refused(ErrorObject),
    /// The transport failed.
    Failed(TransportError),
    /// The server violated the protocol, which ended the connection.
    Broken(String),
    /// The deadline passed.
    TimedOut,
    /// The caller's token was cancelled.
    Cancelled,
}

/// The time limits of one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimeouts {
    /// The longest time without progress.
    pub idle: Duration,
    /// The longest time in all, whatever progress is reported (MCP basic/lifecycle, timeouts).
    pub total: Duration,
}

/// Receives the notifications of one running call: method and parameters.
///
/// The client calls it in the thread that reads the connection, which may be the caller's own, so it must not
/// block. It is not called after the call has returned.
pub type CallObserver = Arc<dyn Fn(&str, Option<&RawValue>) + Send + Sync>;

/// Options of one tool call. A call without observer and label costs one uncontended lock.
#[derive(Clone, Default)]
pub struct CallOptions<'a> {
    /// Receives `notifications/progress` of this call, and `notifications/message` on the call's own stream
    /// or, on a shared stream, while this is the oldest running call.
    pub observer: Option<CallObserver>,
    /// The caller's label, for example the id of a tool request. The server's requests that come during this
    /// call carry it.
    pub label: Option<&'a str>,
    /// Who or what has allowed the call, for the record.
    pub allowed_by: &'static str,
}

/// The requests of one connection that wait for an answer.
#[derive(Default)]
pub(crate) struct PendingRequests {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: i64,
    /// In the order of the requests.
    slots: BTreeMap<i64, Arc<Slot>>,
    /// How many callers have paused the deadlines, and since when they are paused.
    pauses: usize,
    paused_since: Option<Instant>,
    /// Why no more answers can come.
    over: Option<EndReason>,
}

#[derive(Clone, Debug)]
enum EndReason {
    Failed(TransportError),
    Broken(String),
}

impl From<EndReason> for Outcome {
    fn from(over: EndReason) -> Self {
        match over {
            EndReason::Failed(error) => Outcome::Failed(error),
            EndReason::Broken(reason) => Outcome::Broken(reason),
        }
    }
}

/// The place at which one caller waits.
pub(crate) struct Slot {
    state: Mutex<State>,
    changed: Condvar,
    call: Option<CallInfo>,
}

/// The part of [`CallOptions`] that is kept while the call runs.
#[derive(Default)]
struct CallInfo {
    observer: Mutex<Option<CallObserver>>,
    label: Option<String>,
}

struct State {
    outcome: Option<Outcome>,
    /// The request has an outcome, or the caller has taken it.
    settled: bool,
    /// The caller sleeps. Waking it costs a system call, which a caller that reads for itself does not need.
    asleep: bool,
    idle: Duration,
    deadline: Instant,
    last_deadline: Instant,
    /// Since when the deadlines are paused.
    paused_since: Option<Instant>,
    /// The deadline that no pause extends.
    end: Instant,
}

impl State {
    fn now(&self) -> Instant {
        self.paused_since.unwrap_or_else(Clock::now)
    }

    /// The instant at which the wait ends without an answer.
    fn until(&self) -> Instant {
        match self.paused_since {
            Some(_) => self.end,
            None => self.deadline.min(self.end),
        }
    }
}

impl PendingRequests {
    /// Adds a request with a new id.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub(crate) fn register(&self, timeouts: RequestTimeouts) -> Result<(i64, Arc<Slot>), Outcome> {
        self.insert(timeouts, None)
    }

    /// Adds a tool call, see [`register`](Self::register).
    ///
    /// # Errors
    /// As `register`.
    pub(crate) fn register_call(
        &self,
        timeouts: RequestTimeouts,
        call: CallOptions<'_>,
    ) -> Result<(i64, Arc<Slot>), Outcome> {
        let followed = CallInfo {
            observer: Mutex::new(call.observer),
            label: call.label.map(str::to_owned),
        };
        self.insert(timeouts, Some(followed))
    }

    fn insert(
        &self,
        timeouts: RequestTimeouts,
        call: Option<CallInfo>,
    ) -> Result<(i64, Arc<Slot>), Outcome> {
        let now = Clock::now();
        let bounded = |duration| TimeLimit::new(duration).get();
        let idle = bounded(timeouts.idle);
        let total = bounded(timeouts.total);
        let mut table = lock(&self.table);
        if let Some(over) = &table.over {
            return Err(over.clone().into());
        }
        table.last += 1;
        let slot = Arc::new(Slot {
            state: Mutex::new(State {
                outcome: None,
                settled: false,
                asleep: false,
                idle,
                deadline: now + idle.min(total),
                last_deadline: now + total,
                paused_since: table.paused_since.map(|_| now),
                end: now + total + total,
            }),
            changed: Condvar::new(),
            call,
        });
        let id = table.last;
        table.slots.insert(id, slot.clone());
        Ok((id, slot))
    }

    /// Sets the outcome of a request and removes it. False if no request with this id waits: it was never
    /// sent, or its answer is late.
    pub(crate) fn complete(&self, id: i64, outcome: Outcome) -> bool {
        let slot = lock(&self.table).slots.remove(&id);
        slot.is_some_and(|slot| slot.finish(outcome))
    }

    /// Restarts the idle time of a request after progress; false if the id is unknown.
    pub(crate) fn extend(&self, id: i64) -> bool {
        let Some(slot) = lock(&self.table).slots.get(&id).cloned() else {
            return false;
        };
        let mut state = lock(&slot.state);
        state.deadline = (state.now() + state.idle).min(state.last_deadline);
        true
    }

    /// Pauses the deadlines of all current and future requests, because the server waits for this client.
    /// Ends with as many calls of [`resume_deadlines`](Self::resume_deadlines). A request never waits longer
    /// than twice its total time limit, so that a server cannot delay it for ever.
    pub(crate) fn pause_deadlines(&self) {
        let mut table = lock(&self.table);
        let now = Clock::now();
        table.pauses += 1;
        if table.paused_since.is_none() {
            table.paused_since = Some(now);
            for slot in table.slots.values() {
                lock(&slot.state).paused_since = Some(now);
            }
        }
    }

    /// Ends one [`pause_deadlines`](Self::pause_deadlines).
    pub(crate) fn resume_deadlines(&self) {
        let mut table = lock(&self.table);
        // Read under the lock, because the time until then belongs to the pause.
        let now = Clock::now();
        table.pauses = table.pauses.saturating_sub(1);
        if table.pauses > 0 {
            return;
        }
        table.paused_since = None;
        for slot in table.slots.values() {
            let mut state = lock(&slot.state);
            if let Some(since) = state.paused_since.take() {
                let stood = now.saturating_duration_since(since);
                state.deadline += stood;
                state.last_deadline += stood;
            }
            drop(state);
            slot.changed.notify_one();
        }
    }

    /// The oldest running call.
    pub(crate) fn oldest_call(&self) -> Option<i64> {
        let table = lock(&self.table);
        let mut slots = table.slots.iter();
        slots.find_map(|(id, slot)| slot.call.as_ref().map(|_| *id))
    }

    /// The caller's label of a call.
    pub(crate) fn label(&self, id: i64) -> Option<String> {
        let slot = lock(&self.table).slots.get(&id).cloned()?;
        slot.call.as_ref()?.label.clone()
    }

    /// Passes a notification to the observer of a call; false if it has none.
    pub(crate) fn observe(&self, id: i64, method: &str, params: Option<&RawValue>) -> bool {
        let Some(slot) = lock(&self.table).slots.get(&id).cloned() else {
            return false;
        };
        let Some(call) = &slot.call else { return false };
        // Locked while the observer runs, so that the call cannot return before.
        let observer = lock(&call.observer);
        match &*observer {
            Some(observe) => {
                observe(method, params);
                true
            }
            None => false,
        }
    }

    /// Ends the connection with a transport error, for all current and future requests.
    pub(crate) fn fail(&self, error: TransportError) {
        self.end(EndReason::Failed(error));
    }

    /// Ends the connection with a protocol error, for all current and future requests.
    pub(crate) fn fail_protocol(&self, reason: String) {
        self.end(EndReason::Broken(reason));
    }

    fn end(&self, over: EndReason) {
        let slots = {
            let mut table = lock(&self.table);
            let over = table.over.get_or_insert(over).clone();
            (std::mem::take(&mut table.slots), over)
        };
        for slot in slots.0.into_values() {
            slot.finish(slots.1.clone().into());
        }
    }

    /// The number of waiting requests.
    pub(crate) fn len(&self) -> usize {
        lock(&self.table).slots.len()
    }

    /// Whether no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the connection has ended.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.table).over.is_some()
    }

    /// The transport error that ended the connection.
    pub(crate) fn failure(&self) -> Option<TransportError> {
        match &lock(&self.table).over {
            Some(EndReason::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    fn remove(&self, id: i64) {
        lock(&self.table).slots.remove(&id);
    }

    /// Waits for the answer, the deadline or the token, whichever comes first, and removes the request.
    pub(crate) fn wait(&self, id: i64, slot: &Arc<Slot>, cancel: &Cancel) -> Outcome {
        let hook = {
            let slot = slot.clone();
            cancel.on_cancel(move || {
                slot.finish(Outcome::Cancelled);
            })
        };
        let outcome = slot.wait(cancel);
        drop(hook);
        if let Some(call) = &slot.call {
            // Dropped after the lock is released, because the drop of an observer may run any code.
            let _observer = lock(&call.observer).take();
        }
        if matches!(outcome, Outcome::TimedOut | Outcome::Cancelled) {
            self.remove(id);
        }
        outcome
    }
}

impl Slot {
    /// Whether the request has an outcome.
    pub(crate) fn is_finished(&self) -> bool {
        lock(&self.state).settled
    }

    /// Sets the outcome; false if there is one already.
    fn finish(&self, outcome: Outcome) -> bool {
        let mut state = lock(&self.state);
        if state.settled {
            return false;
        }
        state.settled = true;
        state.outcome = Some(outcome);
        let asleep = state.asleep;
        // Notified without the lock, which the waiter needs at once.
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
        true
    }

    fn wait(&self, cancel: &Cancel) -> Outcome {
        let mut state = lock(&self.state);
        loop {
            if let Some(outcome) = state.outcome.take() {
                return outcome;
            }
            let left = state.until().saturating_duration_since(Clock::now());
            if left.is_zero() {
                state.settled = true;
                return Outcome::TimedOut;
            }
            state.asleep = true;
            let (back, timeout) = self
                .changed
                .wait_timeout(state, cancel.longest_sleep(left))
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            state = back;
            state.asleep = false;
            if timeout.timed_out() && state.outcome.is_none() {
                // Released, because this may cancel the token, whose hook takes this lock.
                drop(state);
                cancel.check();
                state = lock(&self.state);
            }
        }
    }
}

#[cfg(all(test, model))]
mod loom_tests;

#[cfg(test)]
mod tests;
