//! The server of an active extension: its present connection, and how it gets another when that is lost.

use super::config::ExtensionConfig;
use super::connect::{Connection, Later, NotConnected, without_duplicates};
use super::manager::Context;
use super::recovery::{RESTARTS, Restarts, Verdict, WINDOW, back_off, judge};
use super::status::{self, Calls, ServerInfo, Status};
use super::wishes::Wishes;
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
    /// What the session wants on every connection.
    pub(super) wishes: Arc<Wishes>,
    calls: Mutex<Calls>,
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
    /// Errands that are being run.
    under_way: usize,
    /// The connection was given back because nobody used it. The next one is no restart.
    resting: bool,
    restarts: Restarts,
    /// How often it was connected again in all.
    restarted: u64,
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
        wishes: Arc<Wishes>,
    ) -> Self {
        Server {
            config: config.clone(),
            context,
            wishes,
            calls: Mutex::default(),
            state: Mutex::new(State {
                tools: connection.tools.clone(),
                connection: Arc::new(connection),
                retired: Vec::new(),
                recovering: false,
                under_way: 0,
                resting: false,
                restarts: Restarts::default(),
                restarted: 0,
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

    /// Whether it can be used as it is: connected, or given back until it is used.
    pub(super) fn is_up(&self) -> bool {
        let state = lock(&self.state);
        let up = state.resting || state.connection.client.is_open();
        up && state.failure.is_none()
    }

    fn present(&self) -> (Arc<Connection>, bool) {
        let state = lock(&self.state);
        (state.connection.clone(), state.resting)
    }

    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        lock(&self.state).tools.clone()
    }

    /// Counts a call of a tool that has ended.
    pub(super) fn record(&self, took: Duration, failed: bool) {
        lock(&self.calls).record(took, failed);
    }

    /// Closes the connection until it is needed, unless something is under way on it.
    pub(super) fn rest(&self) {
        let connection = {
            let mut state = lock(&self.state);
            let busy = state.under_way > 0 || state.recovering || state.closed || state.resting;
            // A server in this process costs nothing, and may have work for the user in hand.
            let inside = state.connection.place.is_none();
            if busy || inside || !state.connection.client.is_open() {
                return;
            }
            state.resting = true;
            state.connection.clone()
        };
        connection.client.close();
        log::info!(
            "extension idle, its server was ended name={:?}",
            self.config.name()
        );
    }

    /// Connects again after a [`rest`](Self::rest). What goes wrong is logged, and tried again by
    /// whoever needs the server.
    pub(super) fn wake(&self, cancel: &Cancel) {
        let (connection, resting) = self.present();
        if resting {
            let end = Instant::now() + self.config.timeout();
            let _ = self.recover(&connection, cancel, end);
        }
    }

    /// How it is doing. Asks nobody.
    pub(super) fn status(&self) -> Status {
        let mut status = Status::bare(
            self.config.name(),
            self.config.key(),
            Some(self.config.kind()),
            status::State::Active,
        );
        let connection = {
            let state = lock(&self.state);
            status.tools = state.tools.len();
            status.restarts = state.restarted;
            status.error = state.failure.clone();
            status.state = match () {
                () if state.recovering => status::State::Starting,
                () if state.resting && state.failure.is_none() => status::State::Idle,
                () if state.connection.client.is_open() => status::State::Active,
                () if state.failure.is_some() => status::State::Broken,
                () => status::State::Lost,
            };
            state.connection.clone()
        };
        if status.state == status::State::Active {
            status.error = None;
            status.place.clone_from(&connection.place);
            let container = connection.container.as_ref();
            status.container = container.map(|container| container.as_str().to_owned());
            status.uptime = Some(connection.since.elapsed().as_secs());
        }
        let said = connection.client.server();
        let shown = |text: &str| connection.shown(text);
        status.protocol_version = Some(said.protocol_version.clone());
        status.server = Some(ServerInfo {
            name: shown(&said.server_info.name),
            version: shown(&said.server_info.version),
        });
        let calls = lock(&self.calls);
        status.calls = calls.ended;
        status.errors = calls.failed;
        status.latency_ms = calls.latency();
        status
    }

    /// What the server lists, asked again only after it said that the list has changed, or was lost.
    pub(super) fn tools(&self, cancel: &Cancel) -> Arc<Vec<Tool>> {
        let (connection, resting) = self.present();
        let open = !resting && connection.client.is_open();
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
        let _busy = Busy::new(self);
        let (mut connection, resting) = self.present();
        let (mut lost, mut refused) = (false, 0);
        if resting || !connection.client.is_open() {
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
                Verdict::Final => {
                    let refused = matches!(error, mcp::Error::Rpc { .. });
                    return Err(match errand.tool.filter(|_| refused) {
                        Some(tool) => self.vanished(tool, failed(), cancel),
                        None => failed(),
                    });
                }
                verdict @ (Verdict::Refused | Verdict::Busy(_)) => {
                    let wait = match verdict {
                        Verdict::Busy(asked) => asked.max(back_off(refused)),
                        _ => back_off(refused),
                    };
                    refused += 1;
                    match Instant::now() + wait < end {
                        true => self.pause(wait, cancel)?,
                        false => return Err(failed()),
                    }
                    continue;
                }
                Verdict::Broken if !errand.repeatable => {
                    let reason = format!(
                        "the call broke off: {error}; it may have had an effect, so it was not sent again"
                    );
                    return Err(Error::new(name, failed().phase, reason));
                }
                Verdict::Broken if lost => return Err(failed()),
                Verdict::Broken => {
                    lost = true;
                    self.pause(back_off(0), cancel)?;
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

    /// What to say about a tool that the server refused to run: it may have said that its list has changed,
    /// and not have the tool any more.
    fn vanished(&self, tool: &str, refused: Error, cancel: &Cancel) -> Error {
        let had = |tools: &[Tool]| tools.iter().any(|known| known.name == tool);
        if !had(&self.known_tools()) || had(&self.tools(cancel)) {
            return refused;
        }
        let reason = format!(
            "the server has no tool {tool:?} any more; list its tools to see what it has now ({})",
            refused.message
        );
        Error::new(self.config.name(), Phase::Tool, reason)
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
        let Some(recovery) = self.begin(lost, cancel, end)? else {
            return Ok(self.connection());
        };
        let open = lost.client.is_open() && !recovery.rested;
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
        let (config, wishes) = (&self.config, &self.wishes);
        let connected = (self.context).connect_until(end, true, config, wishes, &stop);
        let name = self.config.name();
        let made = match connected {
            Ok(made) => Arc::new(made),
            Err(NotConnected { error, later }) => {
                log::warn!("extension not started again name={name:?} reason={error}");
                let mut state = lock(&self.state);
                // Nothing was started, or it was given no time to start.
                if error.phase == Phase::Cancelled || later != Later::No {
                    match recovery.rested {
                        true => state.resting = true,
                        false => state.restarts.take_back(),
                    }
                }
                if error.phase != Phase::Cancelled {
                    state.failure = Some(error.message.clone());
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
                if !recovery.rested {
                    state.restarted += 1;
                    state.untold = Some(reason.clone());
                }
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
        match recovery.rested {
            true => log::info!("extension in use again name={name:?}"),
            false => log::warn!("extension restarted name={name:?} reason={reason:?}"),
        }
        self.wishes.renewed();
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
        let rested = std::mem::take(&mut state.resting);
        if state.failure.is_none() && !rested {
            state.failure = lost.client.lost().map(|error| error.to_string());
        }
        if !rested && !state.restarts.allow(Instant::now()) {
            let why = state.failure.as_deref().unwrap_or("no reason is known");
            let does = match lost.client.is_open() {
                true => "it keeps forgetting its session",
                false => "its server keeps dying",
            };
            let reason = format!(
                "{does}: {RESTARTS} attempts to connect it again within {} s did not help; the last time: {why}",
                WINDOW.as_secs()
            );
            return Err(Error::new(self.config.name(), Phase::Transport, reason));
        }
        state.recovering = true;
        Ok(Some(Recovery {
            server: self,
            rested,
        }))
    }
}

/// Somebody recovers the server.
struct Recovery<'s> {
    server: &'s Server,
    /// It was not lost, only given back.
    rested: bool,
}

impl Drop for Recovery<'_> {
    fn drop(&mut self) {
        lock(&self.server.state).recovering = false;
        self.server.settled.notify_all();
    }
}

/// An errand under way, for which the connection stays.
struct Busy<'s>(&'s Server);

impl<'s> Busy<'s> {
    fn new(server: &'s Server) -> Self {
        lock(&server.state).under_way += 1;
        Busy(server)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).under_way -= 1;
    }
}
