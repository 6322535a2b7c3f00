//! Supervises the MCP server of an active extension: reconnects or restarts it when the connection is lost.

mod reconnection;

use super::config::ExtensionConfig;
use super::connect::{Connection, shown, without_duplicates};
use super::context::Context;
use super::pinning_check::{self, Reviewed};
use super::restart_policy::{Next, Restarts, Retries};
use super::status::{self, Calls, ServerInfo, Status};
use super::{Class, Error, Phase};
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

/// How often a wait checks whether the caller has left.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long `close` waits for a reconnection to be cancelled.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for listing tools again after a change, including a reconnection.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);

/// An MCP server that is reconnected when its connection is lost.
pub(super) struct Supervisor {
    config: ExtensionConfig,
    context: Arc<Context>,
    state: Mutex<State>,
    /// A reconnection has ended, or the supervisor was closed.
    changed: Condvar,
    calls: Mutex<Calls>,
    /// Cancelled by [`close`](Supervisor::close).
    closed_token: Cancel,
}

struct State {
    connection: Arc<Connection>,
    /// The tools of the last listing.
    tools: Reviewed,
    /// Earlier connections that still have running requests.
    retired: Vec<Weak<Connection>>,
    link: Link,
    /// The number of running operations.
    operations: usize,
    restarts: Restarts,
    /// The number of restarts so far.
    restarted: u64,
    /// Why the connection was lost, or why the last reconnection failed.
    failure: Option<Failure>,
    /// The reason of a restart that no call has reported yet.
    unreported_restart: Option<String>,
}

/// What becomes of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// It is used until it is lost.
    Used,
    /// It was closed because the session was idle. The next one does not count as a restart.
    Suspended,
    /// A thread makes the next one.
    Reconnecting,
    /// The supervisor was closed, while a thread made the next one or not.
    Closed { reconnecting: bool },
}

#[derive(Clone)]
struct Failure {
    reason: String,
    class: Option<Class>,
}

impl Failure {
    /// Of a connection that worked.
    fn of_connection(reason: String) -> Self {
        Failure {
            reason,
            class: Some(Class::Execution),
        }
    }
}

impl State {
    fn is_reconnecting(&self) -> bool {
        matches!(
            self.link,
            Link::Reconnecting | Link::Closed { reconnecting: true }
        )
    }

    fn is_closed(&self) -> bool {
        matches!(self.link, Link::Closed { .. })
    }

    fn status(&self) -> status::State {
        if self.is_reconnecting() {
            status::State::Starting
        } else if self.link == Link::Suspended && self.failure.is_none() {
            status::State::Idle
        } else if self.connection.client.is_open() {
            status::State::Active
        } else if self.failure.is_some() {
            status::State::Broken
        } else {
            status::State::Lost
        }
    }
}

/// The properties of a request that decide about retries.
pub(super) struct Operation<'a> {
    /// Running it twice has the same effect as running it once.
    pub(super) repeatable: bool,
    /// The tool that the server must still have after a reconnection.
    pub(super) tool: Option<&'a str>,
    /// Gets the report of a restart that was not reported yet.
    pub(super) observer: Option<CallObserver>,
}

impl Operation<'_> {
    /// A request that only reads.
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
    ) -> Self {
        Supervisor {
            config: config.clone(),
            context,
            calls: Mutex::default(),
            state: Mutex::new(State {
                tools: connection.tools.clone(),
                connection: Arc::new(connection),
                retired: Vec::new(),
                link: Link::Used,
                operations: 0,
                restarts: Restarts::default(),
                restarted: 0,
                failure: None,
                unreported_restart: None,
            }),
            changed: Condvar::new(),
            closed_token: Cancel::new(),
        }
    }

    /// A supervisor without a connection, in the state that [`suspend`](Self::suspend) leaves.
    pub(super) fn suspended(config: &ExtensionConfig, context: Arc<Context>) -> Self {
        let connection = Connection::closed(config.name());
        let mut server = Supervisor::new(config, context, connection);
        let state = server.state.get_mut();
        state.unwrap_or_else(PoisonError::into_inner).link = Link::Suspended;
        server
    }

    /// The current connection, which may be lost.
    pub(super) fn connection(&self) -> Arc<Connection> {
        lock(&self.state).connection.clone()
    }

    /// Whether it can be used without a restart: connected, or suspended.
    pub(super) fn is_up(&self) -> bool {
        let state = lock(&self.state);
        let up = state.link == Link::Suspended || state.connection.client.is_open();
        up && state.failure.is_none()
    }

    fn present(&self) -> (Arc<Connection>, bool) {
        let state = lock(&self.state);
        (state.connection.clone(), state.link == Link::Suspended)
    }

    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        lock(&self.state).tools.offered.clone()
    }

    /// Compares the tools with the pinned ones again, if these have changed since something differed.
    fn review_again(&self) {
        let (reviewed, connection) = {
            let state = lock(&self.state);
            if state.tools.report.is_none() {
                return;
            }
            (state.tools.clone(), state.connection.clone())
        };
        let pinning = &self.context.pinning;
        let again = pinning.review_again(&self.config, &reviewed, &connection.secrets);
        let mut state = lock(&self.state);
        if let Some(again) = again
            && Arc::ptr_eq(&state.tools.listed, &again.listed)
        {
            state.tools = again;
        }
    }

    /// Refuses a tool that differs from the pinned one, if such tools are not offered.
    ///
    /// # Errors
    /// The class is `security`.
    pub(super) fn require_offered(&self, tool: &str) -> Result<(), Error> {
        let is_withheld = || lock(&self.state).tools.withholds(tool);
        if !is_withheld() {
            return Ok(());
        }
        self.review_again();
        if is_withheld() {
            return Err(pinning_check::withheld_error(&self.config, tool));
        }
        Ok(())
    }

    /// Records a finished tool call.
    pub(super) fn record(&self, took: Duration, failed: bool) {
        lock(&self.calls).record(took, failed);
    }

    /// Closes the connection until it is needed again, unless an operation is running.
    pub(super) fn suspend(&self) {
        let connection = {
            let mut state = lock(&self.state);
            let busy = state.operations > 0 || state.link != Link::Used;
            // A server in this process costs nothing, and may be working for the user.
            let inside = state.connection.location.is_none();
            if busy || inside || !state.connection.client.is_open() {
                return;
            }
            state.link = Link::Suspended;
            state.connection.clone()
        };
        connection.client.close();
        log::info!(
            "extension suspended because the session is idle name={:?}",
            self.config.name()
        );
    }

    /// Reconnects after [`suspend`](Self::suspend).
    ///
    /// # Errors
    /// The reconnection failed, which is logged; the next use of the server tries again.
    pub(super) fn resume(&self, cancel: &Cancel) -> Result<(), Error> {
        let (connection, suspended) = self.present();
        if !suspended {
            return Ok(());
        }
        let end = Instant::now() + self.config.timeout();
        self.reconnect(&connection, cancel, end).map(drop)
    }

    /// Whether nothing is lost if the server, unused for this time, ends and is connected again later.
    pub(super) fn is_at_rest(&self, unused: Duration) -> bool {
        let (connection, is_suspended) = {
            let state = lock(&self.state);
            if state.operations > 0 || state.is_reconnecting() {
                return false;
            }
            (state.connection.clone(), state.link == Link::Suspended)
        };
        let is_inside = connection.location.is_none();
        let is_resting = is_suspended || !connection.client.is_open() || is_inside;
        is_resting && !connection.client.holds_state(unused)
    }

    /// The status of the extension. Sends no request.
    pub(super) fn status(&self) -> Status {
        self.review_again();
        let (name, kind) = (self.config.name(), Some(self.config.kind()));
        let mut status = Status::bare(name, self.config.key(), kind, status::State::Active);
        let connection = {
            let state = lock(&self.state);
            status.tools = state.tools.offered.len();
            status.pinning = state.tools.report.as_deref().cloned();
            status.restarts = state.restarted;
            status.state = state.status();
            let is_active = status.state == status::State::Active;
            if let Some(failure) = state.failure.as_ref().filter(|_| !is_active) {
                status.error = Some(failure.reason.clone());
                status.class = failure.class;
            }
            state.connection.clone()
        };
        if status.state == status::State::Active {
            status.location.clone_from(&connection.location);
            status.container.clone_from(&connection.container);
            status.sandbox = connection.sandbox;
            status.uptime = Some(connection.since.elapsed().as_secs());
        }
        status.screening.clone_from(&connection.screening);
        status.warnings = connection.client.overlooked();
        status.process.clone_from(&connection.process);
        if let Some(initialized) = connection.client.initialized() {
            let shown = |text: &str| shown(text, &connection.secrets);
            status.protocol_version = Some(initialized.protocol_version.clone());
            status.server = Some(ServerInfo {
                name: shown(&initialized.server_info.name),
                version: shown(&initialized.server_info.version),
            });
        }
        let calls = lock(&self.calls);
        status.calls = calls.ended;
        status.errors = calls.failed;
        status.latency_ms = calls.latency();
        status
    }

    /// The tools. Lists them again if the server reported a change or the connection was lost.
    pub(super) fn tools(&self, cancel: &Cancel) -> Arc<Vec<Tool>> {
        self.review_again();
        let (connection, suspended) = self.present();
        let open = !suspended && connection.client.is_open();
        if open && !connection.stale.swap(false, Ordering::SeqCst) {
            return self.known_tools();
        }
        let end = Instant::now() + LISTING_TIMEOUT;
        let cancel = cancel.child_until(end);
        let listed = if open {
            let list = |client: &Client, cancel: &Cancel| client.list_tools(cancel);
            let tools = self.request(&Operation::QUERY, &cancel, list);
            tools.map(|tools| {
                let tools = Arc::new(without_duplicates(self.config.name(), tools));
                let pinning = &self.context.pinning;
                let reviewed = pinning.review(&self.config, tools, &connection.secrets);
                lock(&self.state).tools = reviewed;
            })
        } else {
            // A new connection lists the tools.
            self.reconnect(&connection, &cancel, end).map(drop)
        };
        if let Err(reason) = listed {
            connection.stale.store(true, Ordering::SeqCst);
            log::warn!("tools could not be listed reason={reason}");
        }
        self.known_tools()
    }

    /// Sends a request to the server, on a new connection if the current one is lost.
    ///
    /// # Errors
    /// The reconnection failed, the request failed, or the connection was lost before the answer and the
    /// request is not repeatable.
    pub(super) fn request<R>(
        &self,
        operation: &Operation<'_>,
        cancel: &Cancel,
        send: impl Fn(&Client, &Cancel) -> Result<R, mcp::Error>,
    ) -> Result<R, Error> {
        // Each reconnection gets the full time of a request, however late it begins.
        let deadline = || Instant::now() + self.config.timeout();
        let mut retries = Retries::until(deadline());
        let _in_use = InUse::new(self);
        let (mut connection, suspended) = self.present();
        if suspended || !connection.client.is_open() {
            connection = self.reconnect(&connection, cancel, deadline())?;
            self.require_tool(operation.tool)?;
        }
        loop {
            self.report_restart(operation.observer.as_ref());
            let error = match send(&connection.client, cancel) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let failed = || Error::from_mcp(self.config.name(), false, &error);
            let is_open = connection.client.is_open();
            let next = if lock(&self.state).is_closed() {
                Next::Fail
            } else {
                retries.next(&error, is_open, operation.repeatable)
            };
            match next {
                Next::Fail => return Err(failed()),
                Next::Refused => {
                    let rejected = matches!(error, mcp::Error::Rpc { .. });
                    return Err(match operation.tool.filter(|_| rejected) {
                        Some(tool) => self.missing_tool_error(tool, failed(), cancel),
                        None => failed(),
                    });
                }
                Next::BrokeOff(reason) => {
                    return Err(Error::new(self.config.name(), failed().phase, reason));
                }
                Next::Again(wait) => self.pause(wait, cancel)?,
                Next::Reconnect => {
                    self.note_failure(&connection, error.to_string());
                    connection = self.reconnect(&connection, cancel, deadline())?;
                    self.require_tool(operation.tool)?;
                }
            }
        }
    }

    /// Closes the connection and cancels a reconnection.
    pub(super) fn close(&self) {
        let (connection, retired) = {
            let mut state = lock(&self.state);
            state.link = Link::Closed {
                reconnecting: state.is_reconnecting(),
            };
            (state.connection.clone(), std::mem::take(&mut state.retired))
        };
        self.changed.notify_all();
        self.closed_token.cancel();
        connection.client.close();
        for earlier in retired.iter().filter_map(Weak::upgrade) {
            earlier.client.close();
        }
        let reconnecting = |state: &mut State| state.is_reconnecting();
        let _ = self
            .changed
            .wait_timeout_while(lock(&self.state), CLOSE_TIMEOUT, reconnecting);
    }

    fn note_failure(&self, of: &Arc<Connection>, reason: String) {
        let mut state = lock(&self.state);
        if Arc::ptr_eq(&state.connection, of) {
            state.failure = Some(Failure::of_connection(reason));
        }
    }

    /// The error for a tool that the server refused to run: if the server no longer lists the tool, the error says so.
    fn missing_tool_error(&self, tool: &str, refused: Error, cancel: &Cancel) -> Error {
        let had = |tools: &[Tool]| tools.iter().any(|known| known.name == tool);
        if !had(&self.known_tools()) || had(&self.tools(cancel)) {
            return refused;
        }
        let reason = format!(
            "the server has no tool {tool:?} any more; list its tools ({})",
            refused.message
        );
        Error::new(self.config.name(), Phase::Tool, reason)
    }

    fn require_tool(&self, tool: Option<&str>) -> Result<(), Error> {
        let Some(tool) = tool else { return Ok(()) };
        self.require_offered(tool)?;
        if self.known_tools().iter().any(|known| known.name == tool) {
            return Ok(());
        }
        let reason =
            format!("the server was restarted and has no tool {tool:?} any more; list its tools");
        Err(Error::new(self.config.name(), Phase::Tool, reason))
    }

    /// Reports a restart to the observer of the call.
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
        let reason = "it was removed or replaced during the request";
        Error::new(self.config.name(), Phase::Cancelled, reason)
    }

    /// Refuses to wait on if the supervisor is closed, or the caller has cancelled.
    fn require_wanted(&self, state: &State, cancel: &Cancel) -> Result<(), Error> {
        if state.is_closed() {
            return Err(self.removed_error());
        }
        if cancel.is_cancelled() {
            let reason = "the caller cancelled the wait for the restart of its server";
            return Err(Error::new(self.config.name(), Phase::Cancelled, reason));
        }
        Ok(())
    }

    /// Waits before a retry.
    fn pause(&self, wait: Duration, cancel: &Cancel) -> Result<(), Error> {
        let end = Instant::now() + wait;
        let mut state = lock(&self.state);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            self.require_wanted(&state, cancel)?;
            if left.is_zero() {
                return Ok(());
            }
            state = self.wait(state, left, cancel);
        }
    }

    /// Waits until the state changes, for [`POLL_INTERVAL`] at most.
    fn wait<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        left: Duration,
        cancel: &Cancel,
    ) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, left.min(POLL_INTERVAL));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        // Without the lock, because it may cancel the token.
        cancel.check();
        lock(&self.state)
    }
}

/// A running operation, during which the connection is not suspended.
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

#[cfg(test)]
mod tests;
