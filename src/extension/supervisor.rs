//! The server of an active extension: its present connection, and how it gets another when that is lost.

use super::config::ExtensionConfig;
use super::connect::{ConnectError, Connection, RetryAdvice, without_duplicates};
use super::manager::Context;
use super::retry_policy::{FailureKind, RESTARTS, Restarts, WINDOW, backoff, classify_failure};
use super::status::{self, Calls, ServerInfo, Status};
use super::subscriptions::Subscriptions;
use super::{Error, Phase};
use crate::mcp;
use crate::mcp::client::{CallObserver, Client};
use crate::mcp::types::Tool;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the caller is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the end of an extension waits for a attempt to give up.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a listing that the server said has changed may take, attempt included.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);

/// An MCP server that is connected again when it was lost.
pub(super) struct Supervisor {
    config: ExtensionConfig,
    context: Arc<Context>,
    state: Mutex<State>,
    /// A attempt is over.
    changed: Condvar,
    /// What the session wants on every connection.
    pub(super) subscriptions: Arc<Subscriptions>,
    calls: Mutex<Calls>,
    /// Cancelled by [`close`](Supervisor::close).
    closed_token: Cancel,
}

struct State {
    connection: Arc<Connection>,
    /// What it listed when it was last asked.
    tools: Arc<Vec<Tool>>,
    /// Earlier connections that still answer what was asked on them.
    retired: Vec<Weak<Connection>>,
    reconnecting: bool,
    /// Errands that are being run.
    operations: usize,
    /// The connection was given back because nobody used it. The next one is no restart.
    suspended: bool,
    restarts: Restarts,
    /// How often it was connected again in all.
    restarted: u64,
    /// Why the last attempt to connect again failed.
    failure: Option<String>,
    /// Why there was a attempt that no call has told yet.
    unreported_restart: Option<String>,
    closed: bool,
}

/// Something to be asked of the server.
pub(super) struct Operation<'a> {
    /// Doing it twice is as doing it once.
    pub(super) repeatable: bool,
    /// Must be among the tools after a attempt.
    pub(super) tool: Option<&'a str>,
    /// Hears that there was a attempt, should nobody have been told yet.
    pub(super) observer: Option<CallObserver>,
}

impl Operation<'_> {
    /// One that only asks.
    pub(super) const QUERY: Operation<'static> = Operation {
        repeatable: true,
        tool: None,
        observer: None,
    };
}

impl Supervisor {
    pub(super) fn new(
        config: &ExtensionConfig,
        context: Arc<Context>,
        connection: Connection,
        subscriptions: Arc<Subscriptions>,
    ) -> Self {
        Supervisor {
            config: config.clone(),
            context,
            subscriptions,
            calls: Mutex::default(),
            state: Mutex::new(State {
                tools: connection.tools.clone(),
                connection: Arc::new(connection),
                retired: Vec::new(),
                reconnecting: false,
                operations: 0,
                suspended: false,
                restarts: Restarts::default(),
                restarted: 0,
                failure: None,
                unreported_restart: None,
                closed: false,
            }),
            changed: Condvar::new(),
            closed_token: Cancel::new(),
        }
    }

    /// The present connection, which may be lost.
    pub(super) fn connection(&self) -> Arc<Connection> {
        lock(&self.state).connection.clone()
    }

    /// Whether it can be used as it is: connected, or given back until it is used.
    pub(super) fn is_up(&self) -> bool {
        let state = lock(&self.state);
        let up = state.suspended || state.connection.client.is_open();
        up && state.failure.is_none()
    }

    fn present(&self) -> (Arc<Connection>, bool) {
        let state = lock(&self.state);
        (state.connection.clone(), state.suspended)
    }

    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        lock(&self.state).tools.clone()
    }

    /// Counts a call of a tool that has closed_token.
    pub(super) fn record(&self, took: Duration, failed: bool) {
        lock(&self.calls).record(took, failed);
    }

    /// Closes the connection until it is needed, unless something is under way on it.
    pub(super) fn suspend(&self) {
        let connection = {
            let mut state = lock(&self.state);
            let busy =
                state.operations > 0 || state.reconnecting || state.closed || state.suspended;
            // A server in this process costs nothing, and may have work for the user in hand.
            let inside = state.connection.place.is_none();
            if busy || inside || !state.connection.client.is_open() {
                return;
            }
            state.suspended = true;
            state.connection.clone()
        };
        connection.client.close();
        log::info!(
            "extension idle, its server was ended name={:?}",
            self.config.name()
        );
    }

    /// Connects again after a [`suspend`](Self::suspend). What goes wrong is logged, and tried again by
    /// whoever needs the server.
    pub(super) fn resume(&self, cancel: &Cancel) {
        let (connection, suspended) = self.present();
        if suspended {
            let end = Instant::now() + self.config.timeout();
            let _ = self.reconnect(&connection, cancel, end);
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
                () if state.reconnecting => status::State::Starting,
                () if state.suspended && state.failure.is_none() => status::State::Idle,
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
        let (connection, suspended) = self.present();
        let open = !suspended && connection.client.is_open();
        if open && !connection.stale.swap(false, Ordering::SeqCst) {
            return self.known_tools();
        }
        let (end, parent) = (Instant::now() + LISTING_TIMEOUT, cancel.clone());
        let cancel = cancel.child_with_probe(move || parent.probe() || Instant::now() > end);
        let listed = match open {
            false => self.reconnect(&connection, &cancel, end).map(|_| None),
            true => self
                .ask(&Operation::QUERY, &cancel, |client, cancel| {
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
    /// When it cannot be connected again, the operation fails, or the server was lost before it answered and
    /// the operation may not be repeated.
    pub(super) fn ask<R>(
        &self,
        operation: &Operation<'_>,
        cancel: &Cancel,
        ask: impl Fn(&Client, &Cancel) -> Result<R, mcp::Error>,
    ) -> Result<R, Error> {
        let name = self.config.name();
        // ExtensionItem the retries; a attempt has as long as a request, however late it begins.
        let again = || Instant::now() + self.config.timeout();
        let end = again();
        let _in_use = InUse::new(self);
        let (mut connection, suspended) = self.present();
        let (mut lost, mut refused) = (false, 0);
        if suspended || !connection.client.is_open() {
            connection = self.reconnect(&connection, cancel, again())?;
            self.require_tool(operation.tool)?;
        }
        loop {
            self.report_restart(operation.observer.as_ref());
            let error = match ask(&connection.client, cancel) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let failed = || Error::from_mcp(name, false, &error);
            if lock(&self.state).closed {
                return Err(failed());
            }
            match classify_failure(&error, connection.client.is_open()) {
                FailureKind::Final => {
                    let refused = matches!(error, mcp::Error::Rpc { .. });
                    return Err(match operation.tool.filter(|_| refused) {
                        Some(tool) => self.missing_tool_error(tool, failed(), cancel),
                        None => failed(),
                    });
                }
                verdict @ (FailureKind::Refused | FailureKind::Busy(_)) => {
                    let wait = match verdict {
                        FailureKind::Busy(asked) => asked.max(backoff(refused)),
                        _ => backoff(refused),
                    };
                    refused += 1;
                    match Instant::now() + wait < end {
                        true => self.pause(wait, cancel)?,
                        false => return Err(failed()),
                    }
                    continue;
                }
                FailureKind::Broken if !operation.repeatable => {
                    let reason = format!(
                        "the call broke off: {error}; it may have had an effect, so it was not sent again"
                    );
                    return Err(Error::new(name, failed().phase, reason));
                }
                FailureKind::Broken if lost => return Err(failed()),
                FailureKind::Broken => {
                    lost = true;
                    self.pause(backoff(0), cancel)?;
                    continue;
                }
                FailureKind::Lost if !operation.repeatable || lost => {
                    let reason = format!(
                        "the server was lost in mid-call: {error}; the call may have had an effect; \
                         the next call starts the server again"
                    );
                    return Err(Error::new(name, failed().phase, reason));
                }
                FailureKind::Lost => lost = true,
                FailureKind::Unsent => {}
            }
            self.note_failure(&connection, error.to_string());
            connection = self.reconnect(&connection, cancel, again())?;
            self.require_tool(operation.tool)?;
        }
    }

    /// Ends it, and a attempt that is under way.
    pub(super) fn close(&self) {
        let (connection, retired) = {
            let mut state = lock(&self.state);
            state.closed = true;
            (state.connection.clone(), std::mem::take(&mut state.retired))
        };
        self.changed.notify_all();
        self.closed_token.cancel();
        connection.client.close();
        for earlier in retired.iter().filter_map(Weak::upgrade) {
            earlier.client.close();
        }
        let reconnecting = |state: &mut State| state.reconnecting;
        let _ = (self.changed).wait_timeout_while(lock(&self.state), CLOSE_TIMEOUT, reconnecting);
    }

    fn note_failure(&self, of: &Arc<Connection>, reason: String) {
        let mut state = lock(&self.state);
        if Arc::ptr_eq(&state.connection, of) {
            state.failure = Some(reason);
        }
    }

    /// What to say about a tool that the server refused to run: it may have said that its list has changed,
    /// and not have the tool any more.
    fn missing_tool_error(&self, tool: &str, refused: Error, cancel: &Cancel) -> Error {
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

    fn require_tool(&self, tool: Option<&str>) -> Result<(), Error> {
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
    fn report_restart(&self, observer: Option<&CallObserver>) {
        let Some(observer) = observer else { return };
        let Some(reason) = lock(&self.state).unreported_restart.take() else {
            return;
        };
        let params = json!({"level": "warning", "logger": "gosling", "data": {
            "type": "extension_restarted", "extension": self.config.name(), "reason": reason,
        }});
        let params = to_raw_value(&params).ok();
        observer("notifications/message", params.as_deref());
    }

    fn removed_error(&self) -> Error {
        let reason = "it was removed or replaced meanwhile";
        Error::new(self.config.name(), Phase::Cancelled, reason)
    }

    fn cancelled_error(&self) -> Error {
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
                () if state.closed => return Err(self.removed_error()),
                () if cancel.is_cancelled() => return Err(self.cancelled_error()),
                () if left.is_zero() => return Ok(()),
                () => {}
            }
            drop(state);
            if cancel.probe() {
                return Err(self.cancelled_error());
            }
            state = self.wait(lock(&self.state), left);
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, left: Duration) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, left.min(POLL_INTERVAL));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// A connection in the place of one that was lost: one is made, or that which somebody else made
    /// meanwhile is taken.
    fn reconnect(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Arc<Connection>, Error> {
        let Some(attempt) = self.begin_reconnecting(lost, cancel, end)? else {
            return Ok(self.connection());
        };
        let open = lost.client.is_open() && !attempt.was_suspended;
        if !open {
            // What is left of it ends before another begins.
            lost.client.close();
        }
        let reason = lock(&self.state).failure.clone();
        let reason = reason.unwrap_or_else(|| "the connection was lost".to_owned());
        let parent = cancel.clone();
        let stop = cancel.child_with_probe(move || parent.probe() || Instant::now() > end);
        let closed_token = stop.clone();
        let _ended = self.closed_token.on_cancel(move || closed_token.cancel());
        let (config, subscriptions) = (&self.config, &self.subscriptions);
        let connected = (self.context).connect_until(end, true, config, subscriptions, &stop);
        let name = self.config.name();
        let made = match connected {
            Ok(made) => Arc::new(made),
            Err(ConnectError { error, retry }) => {
                log::warn!("extension not started again name={name:?} reason={error}");
                let mut state = lock(&self.state);
                // Nothing was started, or it was given no time to start.
                if error.phase == Phase::Cancelled || retry != RetryAdvice::No {
                    match attempt.was_suspended {
                        true => state.suspended = true,
                        false => state.restarts.forget_last(),
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
                if !attempt.was_suspended {
                    state.restarted += 1;
                    state.unreported_restart = Some(reason.clone());
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
            return Err(self.removed_error());
        }
        match attempt.was_suspended {
            true => log::info!("extension in use again name={name:?}"),
            false => log::warn!("extension restarted name={name:?} reason={reason:?}"),
        }
        self.subscriptions.notify_all();
        Ok(made)
    }

    /// The right to reconnect, one at a time; none when another did it.
    fn begin_reconnecting(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Option<Reconnecting<'_>>, Error> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return Err(self.removed_error());
            }
            if !Arc::ptr_eq(&state.connection, lost) {
                return Ok(None);
            }
            if !state.reconnecting {
                break;
            }
            drop(state);
            if cancel.probe() {
                return Err(self.cancelled_error());
            }
            if Instant::now() > end {
                let reason = "its server was not started again in time";
                return Err(Error::new(self.config.name(), Phase::Timeout, reason));
            }
            state = self.wait(lock(&self.state), POLL_INTERVAL);
        }
        let was_suspended = std::mem::take(&mut state.suspended);
        if state.failure.is_none() && !was_suspended {
            state.failure = lost.client.failure().map(|error| error.to_string());
        }
        if !was_suspended && !state.restarts.allow(Instant::now()) {
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
        state.reconnecting = true;
        Ok(Some(Reconnecting {
            server: self,
            was_suspended,
        }))
    }
}

/// Somebody recovers the server.
struct Reconnecting<'s> {
    server: &'s Supervisor,
    /// It was not lost, only given back.
    was_suspended: bool,
}

impl Drop for Reconnecting<'_> {
    fn drop(&mut self) {
        lock(&self.server.state).reconnecting = false;
        self.server.changed.notify_all();
    }
}

/// An operation under way, for which the connection stays.
struct InUse<'s>(&'s Supervisor);

impl<'s> InUse<'s> {
    fn new(server: &'s Supervisor) -> Self {
        lock(&server.state).operations += 1;
        InUse(server)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).operations -= 1;
    }
}
