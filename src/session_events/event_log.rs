//! The events of a session's requests, for any number of listeners. The turn appends, and each listener reads at
//! its own position, so a listener that connects late gets what it missed, and one that is slow delays neither
//! the turn nor other listeners.
//!
//! An event is JSON, written once and shared. The ids of a session count up from the microseconds of the clock at
//! its first event: after a restart, the ids of the earlier process are below, and no number is given twice. They
//! stay below 2^53, up to which a client may keep them as numbers. This module does no I/O.

use crate::agent::{Error, SessionObserver};
use crate::conversation::Message;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many events a log keeps that every listener has read.
pub(crate) const MAX_EVENTS: usize = 512;
/// The size in bytes of the events of a log that every listener has read. One larger event is kept until the next
/// one comes.
const MAX_BYTES: usize = 8 << 20;
/// The size in bytes of all events of a log. A listener that is farther behind is dropped.
const MAX_UNREAD_BYTES: usize = 64 << 20;
/// The memory in bytes that an event takes besides its JSON.
const EVENT_OVERHEAD: usize = 64;
/// The size in bytes of a batch of events for a listener. One larger event is a batch.
const BATCH_BYTES: usize = 64 << 10;
/// How many requests a log has at most: one that runs, and cancelled ones that are about to end.
const MAX_REQUESTS: usize = 4;
/// How long a log without listeners and requests keeps its events.
const KEEP_UNUSED: Duration = Duration::from_secs(300);

/// The JSON of an event.
pub(crate) type EventJson = Arc<[u8]>;

/// The events of the requests of a session, and its running requests. It keeps the last 512 events, of at most
/// 8 MiB, and more of them, of at most 64 MiB, while a listener has yet to read them.
pub(crate) struct EventLog {
    state: Mutex<State>,
    /// Signalled when the state changes.
    changed: Condvar,
}

struct State {
    events: VecDeque<EventJson>,
    /// The id of the first of `events`, or of the next event if there is none.
    first: u64,
    /// The size of `events` in bytes.
    bytes: usize,
    requests: Vec<OpenRequest>,
    /// The id that each listener reads next.
    positions: BTreeMap<u64, u64>,
    /// The key of the next listener.
    next_listener: u64,
    /// When it was last appended to, or a listener left.
    last_used: Instant,
    closed: bool,
}

struct OpenRequest {
    id: String,
    /// The id of its first event.
    first_event: u64,
    /// The ids of the messages in its events.
    messages: Vec<String>,
    cancel: Cancel,
    /// Whether the client has cancelled it.
    cancelled: bool,
}

/// What a listener gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The next events, with their ids.
    Events(Vec<(u64, Arc<[u8]>)>),
    /// Nothing yet: the time is over, or the listener was woken.
    Nothing,
    /// The next event is no longer there, or the id is not one of this log. Nothing follows.
    TooFarBehind,
    /// The log is closed, and the listener has got all events. Nothing follows.
    Closed,
}

/// A reader of the log with a position of its own.
pub(crate) struct Listener {
    log: Arc<EventLog>,
    key: u64,
    next: u64,
}

impl Default for EventLog {
    fn default() -> Self {
        EventLog::starting_at(unix_micros().max(1))
    }
}

impl EventLog {
    /// A log whose first event gets the id `first`.
    fn starting_at(first: u64) -> Self {
        let state = State {
            events: VecDeque::new(),
            first,
            bytes: 0,
            requests: Vec::new(),
            positions: BTreeMap::new(),
            next_listener: 0,
            last_used: Instant::now(),
            closed: false,
        };
        EventLog {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// A listener for the events after the id `after`, and the running requests, unless the listener is too far
    /// behind. Without `after` it begins with the oldest event; so it does with 0, which
    /// [`Received::TooFarBehind`] is sent with. An id that was never given is too far behind: it may be of another
    /// process, before the clock was set back.
    pub(crate) fn listen(self: &Arc<Self>, after: Option<u64>) -> (Listener, Vec<String>) {
        let mut state = lock(&self.state);
        let next = match after {
            None | Some(0) => state.first,
            Some(after) => after.saturating_add(1),
        };
        let key = state.next_listener;
        state.next_listener += 1;
        state.positions.insert(key, next);
        let is_behind = next < state.first || next > state.next_id();
        let is_running = |request: &&OpenRequest| !is_behind && !request.cancelled;
        let running = state.requests.iter().filter(is_running);
        let running = running.map(|request| request.id.clone()).collect();
        let log = self.clone();
        (Listener { log, key, next }, running)
    }

    /// Wakes all listeners.
    pub(crate) fn wake(&self) {
        // Locked, so that a listener between its check and its wait is not missed.
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    /// Opens a request, which `cancel` ends.
    ///
    /// # Errors
    /// [`Error::Working`] if another one runs, [`Error::NoSession`] if the log is closed.
    pub(crate) fn open_request(&self, id: &str, cancel: &Cancel) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Error::NoSession);
        }
        let requests = &mut state.requests;
        let is_same = |request: &OpenRequest| request.id == id;
        let is_running = |request: &OpenRequest| !request.cancelled;
        if requests.len() >= MAX_REQUESTS || requests.iter().any(|it| is_running(it) || is_same(it))
        {
            return Err(Error::Working { holder: None });
        }
        let first_event = state.first + state.events.len() as u64;
        state.requests.push(OpenRequest {
            id: id.to_owned(),
            first_event,
            messages: Vec::new(),
            cancel: cancel.clone(),
            cancelled: false,
        });
        Ok(())
    }

    /// Cancels the request, if it runs.
    pub(crate) fn cancel_request(&self, id: &str) {
        let mut state = lock(&self.state);
        let found = state.requests.iter_mut().find(|request| request.id == id);
        let cancel = found.map(|request| {
            request.cancelled = true;
            request.cancel.clone()
        });
        drop(state);
        // A hook of the token may take the lock.
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }

    /// Whether the client has cancelled the request.
    pub(crate) fn is_cancelled(&self, id: &str) -> bool {
        let state = lock(&self.state);
        let mut requests = state.requests.iter();
        requests.any(|request| request.id == id && request.cancelled)
    }

    /// Notes that the events of the request have the message `message`.
    pub(crate) fn has_message(&self, id: &str, message: &str) {
        let mut state = lock(&self.state);
        let mut requests = state.requests.iter_mut();
        if let Some(request) = requests.find(|request| request.id == id)
            && request.messages.last().is_none_or(|last| last != message)
        {
            request.messages.push(message.to_owned());
        }
    }

    /// How many of the stored messages come before those of the running request, if all its events are here.
    fn before_running_request(&self, stored: &[Message]) -> Option<usize> {
        let state = lock(&self.state);
        let is_whole = |it: &&OpenRequest| !it.cancelled && it.first_event >= state.first;
        let request = state.requests.iter().find(is_whole)?;
        let is_its = |id: &String| request.messages.contains(id);
        (stored.iter()).position(|message| message.id.as_ref().is_some_and(is_its))
    }

    /// Whether a request is open, also one that was cancelled.
    pub(crate) fn has_requests(&self) -> bool {
        !lock(&self.state).requests.is_empty()
    }

    /// Appends events. A closed log discards them.
    pub(crate) fn append(&self, events: Vec<EventJson>) {
        lock(&self.state).append(events);
        self.changed.notify_all();
    }

    /// Closes the request; `last` is its last event. A listener that has received that event finds the request
    /// closed.
    pub(crate) fn close_request(&self, id: &str, last: Option<EventJson>) {
        let mut state = lock(&self.state);
        state.requests.retain(|request| request.id != id);
        state.append(last.into_iter().collect());
        drop(state);
        self.changed.notify_all();
    }

    /// Ends all listeners when they have read the last event.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Drops the events if there was no listener and no request for `limit`; whether there were any.
    fn release_if_unused(&self, limit: Duration) -> bool {
        let mut state = lock(&self.state);
        let is_unused = state.requests.is_empty() && state.positions.is_empty();
        let releases = is_unused && state.last_used.elapsed() >= limit && !state.events.is_empty();
        if releases {
            state.first = state.next_id();
            state.bytes = 0;
            state.events = VecDeque::new();
        }
        releases
    }
}

impl State {
    fn next_id(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn append(&mut self, events: Vec<EventJson>) {
        if self.closed {
            return;
        }
        self.last_used = Instant::now();
        for event in events {
            self.bytes += event.len() + EVENT_OVERHEAD;
            self.events.push_back(event);
            while self.bytes > MAX_UNREAD_BYTES && self.events.len() > 1 {
                self.evict_first();
            }
        }
        self.evict_read();
    }

    /// Drops the oldest events beyond [`MAX_EVENTS`] and [`MAX_BYTES`], but none that a listener has yet to read: a
    /// turn may produce more at once than a listener sends before the next event arrives.
    fn evict_read(&mut self) {
        let is_long = |log: &Self| {
            let is_large = log.bytes > MAX_BYTES && log.events.len() > 1;
            is_large || log.events.len() > MAX_EVENTS
        };
        if !is_long(self) {
            return;
        }
        let slowest = self.positions.values().min().copied().unwrap_or(u64::MAX);
        while is_long(self) && self.first < slowest {
            self.evict_first();
        }
    }

    fn evict_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes -= event.len() + EVENT_OVERHEAD;
            self.first += 1;
        }
    }

    /// The events from the id `next` on, as many as a batch has; `None` if the first of them was evicted, or cannot
    /// be the next.
    fn batch(&self, next: u64) -> Option<Vec<(u64, EventJson)>> {
        let skipped = usize::try_from(next.checked_sub(self.first)?).ok()?;
        if skipped > self.events.len() {
            return None;
        }
        let mut bytes = 0;
        let fits = |event: &&EventJson| {
            let fits = bytes < BATCH_BYTES;
            bytes += event.len();
            fits
        };
        let events = self.events.iter().skip(skipped).take_while(fits);
        Some((next..).zip(events.cloned()).collect())
    }
}

impl Listener {
    /// The next events, at once if there are some. Waits for them until `deadline`, or until
    /// [`wake`](EventLog::wake).
    pub(crate) fn receive(&mut self, deadline: Instant) -> Received {
        let mut state = lock(&self.log.state);
        let mut waited = false;
        loop {
            let Some(events) = state.batch(self.next) else {
                return Received::TooFarBehind;
            };
            if let Some((last, _)) = events.last() {
                self.next = last + 1;
                state.positions.insert(self.key, self.next);
                state.evict_read();
                return Received::Events(events);
            }
            if state.closed {
                return Received::Closed;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if waited || left.is_zero() {
                return Received::Nothing;
            }
            let changed = self.log.changed.wait_timeout(state, left);
            state = changed.unwrap_or_else(PoisonError::into_inner).0;
            waited = true;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = lock(&self.log.state);
        state.positions.remove(&self.key);
        state.last_used = Instant::now();
        state.evict_read();
    }
}

/// The logs of all sessions that have had a listener or a request.
#[derive(Default)]
pub(crate) struct EventLogs(Mutex<HashMap<String, Arc<EventLog>>>);

impl EventLogs {
    /// The session's log.
    pub(crate) fn get(&self, session: &str) -> Option<Arc<EventLog>> {
        lock(&self.0).get(session).cloned()
    }

    /// The session's log, which is created if there is none.
    pub(crate) fn get_or_create(&self, session: &str) -> Arc<EventLog> {
        let mut logs = lock(&self.0);
        match logs.get(session) {
            Some(log) => log.clone(),
            None => logs.entry(session.to_owned()).or_default().clone(),
        }
    }

    /// Removes the session's log and closes it.
    pub(crate) fn remove(&self, session: &str) {
        let removed = lock(&self.0).remove(session);
        if let Some(log) = removed {
            log.close();
        }
    }

    fn all(&self) -> Vec<Arc<EventLog>> {
        lock(&self.0).values().cloned().collect()
    }
}

impl SessionObserver for EventLogs {
    fn before_followed_turn(&self, id: &str, messages: &[Message]) -> Option<usize> {
        self.get(id)?.before_running_request(messages)
    }

    fn deleted(&self, session: &str) {
        self.remove(session);
    }

    fn release_unused(&self) -> bool {
        let all = self.all();
        let released = all.iter().filter(|log| log.release_if_unused(KEEP_UNUSED));
        released.count() > 0
    }

    fn closed(&self) {
        for log in self.all() {
            log.close();
        }
    }
}

/// Microseconds since 1970-01-01T00:00:00Z; 0 if the clock is set before that.
fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests;
