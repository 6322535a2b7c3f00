//! The server of an active extension: its present connection, and how it gets another when that is lost.

use super::config::ExtensionConfig;
use super::connect::{Connection, without_duplicates};
use super::manager::Context;
use super::recovery::{RESTARTS, Restarts, Verdict, WINDOW, back_off, judge};
use super::{Error, Phase};
use crate::mcp;
use crate::mcp::client::{Client, Observer};
use crate::mcp::types::Tool;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the caller is still there.
const LOOK: Duration = Duration::from_millis(100);
/// How long the end of an extension waits for a recovery to give up.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long a listing that the server said has changed may take, recovery included.
const LISTING: Duration = Duration::from_secs(30);

/// An MCP server that is connected again when it was lost.
pub(super) struct Server {
    config: ExtensionConfig,
    context: Arc<Context>,
    state: Mutex<State>,
    /// A recovery is over.
    settled: Condvar,
    /// Cancelled by [`close`](Server::close).
    ended: Cancel,
}

struct State {
    connection: Arc<Connection>,
    /// What it listed when it was last asked.
    tools: Arc<Vec<Tool>>,
    /// Earlier connections that still answer what was asked on them.
    retired: Vec<Weak<Connection>>,
    recovering: bool,
    restarts: Restarts,
    /// Why the last attempt to connect again failed.
    failure: Option<String>,
    /// Why there was a recovery that no call has told yet.
    untold: Option<String>,
    closed: bool,
}

/// Something to be asked of the server.
pub(super) struct Errand<'a> {
    /// Doing it twice is as doing it once.
    pub(super) repeatable: bool,
    /// Must be among the tools after a recovery.
    pub(super) tool: Option<&'a str>,
    /// Hears that there was a recovery, should nobody have been told yet.
    pub(super) observer: Option<Observer>,
}

impl Errand<'_> {
    /// One that only asks.
    pub(super) const QUESTION: Errand<'static> = Errand {
        repeatable: true,
        tool: None,
        observer: None,
    };
}

impl Server {
    pub(super) fn new(
        config: &ExtensionConfig,
        context: Arc<Context>,
        connection: Connection,
    ) -> Self {
        Server {
            config: config.clone(),
            context,
            state: Mutex::new(State {
                tools: connection.tools.clone(),
                connection: Arc::new(connection),
                retired: Vec::new(),
                recovering: false,
                restarts: Restarts::default(),
                failure: None,
                untold: None,
                closed: false,
            }),
            settled: Condvar::new(),
            ended: Cancel::new(),
        }
    }

    /// The present connection, which may be lost.
    pub(super) fn connection(&self) -> Arc<Connection> {
        lock(&self.state).connection.clone()
    }

    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        lock(&self.state).tools.clone()
    }

    /// What the server lists, asked again only after it said that the list has changed, or was lost.
    pub(super) fn tools(&self, cancel: &Cancel) -> Arc<Vec<Tool>> {
        let connection = self.connection();
        let open = connection.client.is_open();
        if open && !connection.stale.swap(false, Ordering::SeqCst) {
            return self.known_tools();
        }
        let (end, parent) = (Instant::now() + LISTING, cancel.clone());
        let cancel = cancel.child_with_probe(move || parent.probe() || Instant::now() > end);
        let listed = match open {
            false => self.recover(&connection, &cancel, end).map(|_| None),
            true => self
                .ask(&Errand::QUESTION, &cancel, |client, cancel| {
                    client.list_tools(cancel)
                })
                .map(Some),
        };
        match listed {
            Ok(Some(tools)) => {
                let tools = without_duplicates(self.config.name(), tools);
                lock(&self.state).tools = Arc::new(tools);
            }
            Ok(None) => {}
            Err(reason) => {
                connection.stale.store(true, Ordering::SeqCst);
                log::warn!("tools not listed again reason={reason}");
            }
        }
        self.known_tools()
    }

    /// Asks the server, on a new connection if the present one is lost.
    ///
    /// # Errors
    /// When it cannot be connected again, the errand fails, or the server was lost before it answered and
    /// the errand may not be repeated.
    pub(super) fn ask<R>(
        &self,
        errand: &Errand<'_>,
        cancel: &Cancel,
        ask: impl Fn(&Client, &Cancel) -> Result<R, mcp::Error>,
    ) -> Result<R, Error> {
        let name = self.config.name();
        // Of the retries; a recovery has as long as a request, however late it begins.
        let again = || Instant::now() + self.config.timeout();
        let end = again();
        let mut connection = self.connection();
        let (mut lost, mut refused) = (false, 0);
        if !connection.client.is_open() {
            connection = self.recover(&connection, cancel, again())?;
            self.still_has(errand.tool)?;
        }
        loop {
            self.tell(errand.observer.as_ref());
            let error = match ask(&connection.client, cancel) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let failed = || Error::from_mcp(name, false, &error);
            if lock(&self.state).closed {
                return Err(failed());
            }
            match judge(&error, connection.client.is_open()) {
                Verdict::Final => return Err(failed()),
                Verdict::Refused => {
                    let wait = back_off(refused);
                    refused += 1;
                    match Instant::now() + wait < end {
                        true => self.pause(wait, cancel)?,
                        false => return Err(failed()),
                    }
                    continue;
                }
                Verdict::Lost if !errand.repeatable || lost => {
                    let reason = format!(
                        "the server was lost in mid-call: {error}; the call may have had an effect; \
                         the next call starts the server again"
                    );
                    return Err(Error::new(name, failed().phase, reason));
                }
                Verdict::Lost => lost = true,
                Verdict::Unsent => {}
            }
            self.note_failure(&connection, error.to_string());
            connection = self.recover(&connection, cancel, again())?;
            self.still_has(errand.tool)?;
        }
    }

    /// Ends it, and a recovery that is under way.
    pub(super) fn close(&self) {
        let (connection, retired) = {
            let mut state = lock(&self.state);
            state.closed = true;
            (state.connection.clone(), std::mem::take(&mut state.retired))
        };
        self.settled.notify_all();
        self.ended.cancel();
        connection.client.close();
        for earlier in retired.iter().filter_map(Weak::upgrade) {
            earlier.client.close();
        }
        let recovering = |state: &mut State| state.recovering;
        let _ = (self.settled).wait_timeout_while(lock(&self.state), GIVE_UP, recovering);
    }

    fn note_failure(&self, of: &Arc<Connection>, reason: String) {
        let mut state = lock(&self.state);
        if Arc::ptr_eq(&state.connection, of) {
            state.failure = Some(reason);
        }
    }

    fn still_has(&self, tool: Option<&str>) -> Result<(), Error> {
        let Some(tool) = tool else { return Ok(()) };
        match self.known_tools().iter().any(|known| known.name == tool) {
            true => Ok(()),
            false => {
                let reason = format!(
                    "the server was started again and has no tool {tool:?} any more; list its tools \
                     to see what it has now"
                );
                Err(Error::new(self.config.name(), Phase::Tool, reason))
            }
        }
    }

    /// Tells the call, and whoever follows it, that the server was started again.
    fn tell(&self, observer: Option<&Observer>) {
        let Some(observer) = observer else { return };
        let Some(reason) = lock(&self.state).untold.take() else {
            return;
        };
        let params = json!({"level": "warning", "logger": "gosling", "data": {
            "type": "extension_restarted", "extension": self.config.name(), "reason": reason,
        }});
        let params = to_raw_value(&params).ok();
        observer("notifications/message", params.as_deref());
    }

    fn stopped(&self) -> Error {
        let reason = "it was removed or replaced meanwhile";
        Error::new(self.config.name(), Phase::Cancelled, reason)
    }

    fn unwanted(&self) -> Error {
        let reason = "its server was being started again, and nobody waits any more";
        Error::new(self.config.name(), Phase::Cancelled, reason)
    }

    /// Waits before the next attempt.
    fn pause(&self, wait: Duration, cancel: &Cancel) -> Result<(), Error> {
        let end = Instant::now() + wait;
        let mut state = lock(&self.state);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match () {
                () if state.closed => return Err(self.stopped()),
                () if cancel.is_cancelled() => return Err(self.unwanted()),
                () if left.is_zero() => return Ok(()),
                () => {}
            }
            drop(state);
            if cancel.probe() {
                return Err(self.unwanted());
            }
            state = self.wait(lock(&self.state), left);
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, left: Duration) -> MutexGuard<'s, State> {
        let waited = self.settled.wait_timeout(state, left.min(LOOK));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// A connection in the place of one that was lost: one is made, or that which somebody else made
    /// meanwhile is taken.
    fn recover(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Arc<Connection>, Error> {
        let Some(_recovery) = self.begin(lost, cancel, end)? else {
            return Ok(self.connection());
        };
        let open = lost.client.is_open();
        if !open {
            // What is left of it ends before another begins.
            lost.client.close();
        }
        let reason = lock(&self.state).failure.clone();
        let reason = reason.unwrap_or_else(|| "the connection was lost".to_owned());
        let parent = cancel.clone();
        let stop = cancel.child_with_probe(move || parent.probe() || Instant::now() > end);
        let ended = stop.clone();
        let _ended = self.ended.on_cancel(move || ended.cancel());
        let connected = self.context.connect(&self.config, &stop);
        let name = self.config.name();
        let made = match connected {
            Ok(made) => Arc::new(made),
            Err(error) => {
                log::warn!("extension not started again name={name:?} reason={error}");
                if error.phase != Phase::Cancelled {
                    lock(&self.state).failure = Some(error.message.clone());
                }
                return Err(error);
            }
        };
        let closed = {
            let mut state = lock(&self.state);
            if !state.closed {
                state.tools = made.tools.clone();
                state.connection = made.clone();
                state.failure = None;
                state.untold = Some(reason.clone());
                state.retired.retain(|earlier| earlier.strong_count() > 0);
                if open {
                    state.retired.push(Arc::downgrade(lost));
                }
            }
            state.closed
        };
        if closed {
            made.client.close();
            return Err(self.stopped());
        }
        log::warn!("extension restarted name={name:?} reason={reason:?}");
        Ok(made)
    }

    /// The right to recover, one at a time; none when another did it.
    fn begin(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Option<Recovery<'_>>, Error> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return Err(self.stopped());
            }
            if !Arc::ptr_eq(&state.connection, lost) {
                return Ok(None);
            }
            if !state.recovering {
                break;
            }
            drop(state);
            if cancel.probe() {
                return Err(self.unwanted());
            }
            if Instant::now() > end {
                let reason = "its server was not started again in time";
                return Err(Error::new(self.config.name(), Phase::Timeout, reason));
            }
            state = self.wait(lock(&self.state), LOOK);
        }
        if state.failure.is_none() {
            state.failure = lost.client.lost().map(|error| error.to_string());
        }
        if !state.restarts.allow(Instant::now()) {
            let why = state.failure.as_deref().unwrap_or("no reason is known");
            let does = match lost.client.is_open() {
                true => "it keeps forgetting its session",
                false => "its server keeps dying",
            };
            let reason = format!(
                "{does}: it was connected again {RESTARTS} times within {} s; the last time: {why}",
                WINDOW.as_secs()
            );
            return Err(Error::new(self.config.name(), Phase::Transport, reason));
        }
        state.recovering = true;
        Ok(Some(Recovery(self)))
    }
}

/// Somebody recovers the server.
struct Recovery<'s>(&'s Server);

impl Drop for Recovery<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).recovering = false;
        self.0.settled.notify_all();
    }
}
