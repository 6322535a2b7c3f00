//! The live agent of one session: its extensions, which it activates in the background and in parallel, and
//! the state of its turns.

use crate::agent::Error;
use crate::agent::session::left_out_tools::LeftOutTools;
use crate::agent::turn::turn_channel::TurnChannel;
use crate::agent::turn::turn_state::TurnState;
use crate::builtin::WorkspaceSlot;
use crate::conversation::{DisabledExtension, ImportReport};
use crate::extension::screening_check::Decision;
use crate::extension::{
    self, Class, Context, ExtensionConfig, ListedTool, Manager, State, Status, config,
    platform_extensions, tool_names, unsupported,
};
use crate::mcp::client::CallOptions;
use crate::mcp::types::{CallToolResult, ReadResourceResult};
use crate::sys;
use crate::sys::cancel::{Cancel, NoMessage};
use crate::sys::threads::{Threads, share};
use crate::sys::{caught, lock};
use crossbeam_channel::{Receiver, bounded};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a thread that waits for the activation or a turn checks whether its request was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How many extensions are activated in parallel.
const MAX_PARALLEL: usize = 16;

/// The result of activating one extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExtensionResult {
    /// Its name as configured.
    pub name: String,
    /// Whether it is active.
    pub success: bool,
    /// Why it is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of failure it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What the screening of its packages found, if that is why.
    #[serde(skip)]
    pub screening: Option<Box<Decision>>,
}

impl ExtensionResult {
    /// The status of an extension that is not active.
    fn failed_status(&self) -> Status {
        let mut status = Status::bare(&self.name, config::key(&self.name), None, State::Failed);
        status.error = self.error.clone();
        status.class = self.class;
        status.screening = self.screening.as_deref().cloned();
        status
    }
}

/// The status of the extensions of an agent that is put away.
pub(in crate::agent) fn idle_status(configs: &[Value]) -> Vec<Status> {
    let status = |plan: Result<ExtensionConfig, ExtensionResult>| match plan {
        Ok(config) => Status::idle(&config),
        Err(failed) => failed.failed_status(),
    };
    plan(configs).into_iter().map(status).collect()
}

/// The extensions that an agent starts with.
pub(in crate::agent) enum InitialExtensions {
    /// Of an agent that is new, to activate.
    New(Vec<Value>),
    /// Of one that was put away, to resume. The next use of one that does not come back tries it again.
    Suspended(Vec<Value>),
}

/// How long the end of an agent, or the next turn, waits for a cancelled turn to end.
const CANCELLED_TURN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a turn that has sent its last event may take to end.
const LAST_EVENT_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a turn waits for the running one to end or to be cancelled.
pub(in crate::agent) const RUNNING_TURN_TIMEOUT: Duration = Duration::from_secs(1);

/// The live agent of a session.
pub struct Agent {
    pub(in crate::agent) session_id: String,
    pub(in crate::agent) extensions: Manager,
    pub(in crate::agent) channel: Arc<TurnChannel>,
    pub(in crate::agent) left_out: LeftOutTools,
    /// What the client of the running turn offers to builtin servers.
    pub(in crate::agent) workspace: Arc<WorkspaceSlot>,
    /// What turns need from one to the next.
    turn_state: Mutex<TurnStateSlot>,
    /// Signalled when a turn ends.
    turn_ended: Condvar,
    /// Threads that name the session or resume its servers.
    background: Mutex<Threads>,
    usage: Mutex<Usage>,
    /// The servers are suspended, and no request has come since.
    suspended: AtomicBool,
    /// Whether the session may still need a name.
    unnamed: AtomicBool,
    cancel: Cancel,
    started: Instant,
    results: OnceLock<Vec<ExtensionResult>>,
    /// Closed when the activation ends.
    ready: Receiver<()>,
    activation: Mutex<Threads>,
}

/// When requests used the session.
struct Usage {
    /// Requests that are being served.
    active: usize,
    /// When the last request began or ended.
    last: Instant,
}

/// See [`Agent::in_use`].
struct InUse<'a>(&'a Agent);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.usage);
        usage.active -= 1;
        usage.last = Instant::now();
    }
}

/// The turn state, unless a turn owns it.
#[derive(Default)]
enum TurnStateSlot {
    /// No state is loaded: there was no turn yet, or the state was released.
    #[default]
    Empty,
    /// No turn runs.
    Idle(Box<TurnState>),
    /// A turn owns it; the token cancels that turn.
    InUse(Cancel),
}

/// The turn state while a turn owns it. Dropping this returns the state to the agent.
pub(in crate::agent) struct TurnStateGuard<'a> {
    agent: &'a Agent,
    pub(in crate::agent) state: Option<Box<TurnState>>,
    _in_use: InUse<'a>,
}

impl Drop for TurnStateGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.agent.turn_state) = match self.state.take() {
            Some(state) => TurnStateSlot::Idle(state),
            None => TurnStateSlot::Empty,
        };
        self.agent.turn_ended.notify_all();
    }
}

impl Agent {
    /// Starts to activate the extensions and returns at once. `before` is the agent that this one replaces; it is
    /// ended first, so that the two never use the same resource. The extensions that `imported` has disabled count as
    /// failed. `workspace` is what the session's data offers. `channel` has the questions of the handlers in `context`.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub(in crate::agent) fn start(
        context: Context,
        extensions: InitialExtensions,
        imported: ImportReport,
        workspace: Arc<WorkspaceSlot>,
        before: Option<Arc<Agent>>,
        channel: Arc<TurnChannel>,
        server: &Cancel,
    ) -> Result<Arc<Agent>, Error> {
        let name = format!("activate {}", context.session_id);
        let (plans, was_put_away) = match extensions {
            InitialExtensions::New(configs) => (plan(&configs), false),
            InitialExtensions::Suspended(configs) => (plan(&configs), true),
        };
        let (activating, ready) = bounded::<()>(0);
        let agent = Arc::new(Agent {
            session_id: context.session_id.clone(),
            extensions: Manager::new(context),
            workspace,
            channel,
            left_out: LeftOutTools::default(),
            turn_state: Mutex::default(),
            turn_ended: Condvar::new(),
            background: Mutex::default(),
            usage: Mutex::new(Usage {
                active: 0,
                last: Instant::now(),
            }),
            suspended: AtomicBool::new(false),
            unnamed: AtomicBool::new(true),
            cancel: server.child(),
            results: OnceLock::new(),
            started: Instant::now(),
            ready,
            activation: Mutex::default(),
        });
        if was_put_away {
            let configs = plans.iter().flatten();
            configs.for_each(|config| agent.extensions.add_suspended(config));
        }
        let this = agent.clone();
        let mut slot = lock(&agent.activation);
        let thread = sys::spawn(name, None, move || {
            if let Some(before) = before {
                before.close();
            }
            let mut results = this.activate(&plans);
            let disabled = |it: &DisabledExtension| failed(&it.name, imported.reason(it), None);
            results.extend(imported.switched_off.iter().map(disabled));
            this.extensions.initial_done();
            let _ = this.results.set(results);
            drop(activating);
        });
        slot.add(thread.map_err(|error| no_thread(&error))?);
        drop(slot);
        Ok(agent)
    }

    /// Activates the extensions in parallel.
    fn activate(&self, plans: &[Result<ExtensionConfig, ExtensionResult>]) -> Vec<ExtensionResult> {
        let results: Vec<_> = plans.iter().map(|_| OnceLock::new()).collect();
        share(plans.len(), MAX_PARALLEL, "activate", &|n| {
            let _ = results[n].set(match &plans[n] {
                Ok(config) => self.activate_one(config),
                Err(failed) => failed.clone(),
            });
        });
        let results = results.into_iter();
        results.filter_map(OnceLock::into_inner).collect()
    }

    fn activate_one(&self, config: &ExtensionConfig) -> ExtensionResult {
        let name = config.name();
        let activated = caught(format_args!("start of the extension {name:?}"), || {
            if self.extensions.has(name) {
                self.extensions.resume_one(name, &self.cancel)
            } else {
                self.extensions.add_initial(config, &self.cancel)
            }
        });
        match activated {
            Ok(Ok(())) => ExtensionResult {
                name: name.to_owned(),
                success: true,
                ..ExtensionResult::default()
            },
            Ok(Err(error)) => {
                let report = if unsupported::is_first_report(config) {
                    failure
                } else {
                    failed
                };
                ExtensionResult {
                    screening: error.screening.clone(),
                    ..report(name, error.to_string(), error.class)
                }
            }
            Err(reason) => {
                let reason = format!("extension {name:?}, setup: it has panicked: {reason}");
                failed(name, reason, Some(Class::Setup))
            }
        }
    }

    /// Waits until every extension is active or has failed.
    ///
    /// # Errors
    /// When `cancel` fires first.
    pub fn wait(&self, cancel: &Cancel) -> Result<&[ExtensionResult], Error> {
        let results = self.wait_within(None, cancel)?;
        Ok(results.unwrap_or_default())
    }

    /// As [`wait`](Self::wait), until `limit` after the start of the agent at most, if there is one; `None` if an
    /// extension is still starting then.
    ///
    /// # Errors
    /// When `cancel` fires first.
    pub fn wait_within(
        &self,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<Option<&[ExtensionResult]>, Error> {
        if let Some(results) = self.results.get() {
            return Ok(Some(results));
        }
        let left = limit.map_or(Duration::MAX, |limit| {
            limit.saturating_sub(self.started.elapsed())
        });
        match cancel.receive(&self.ready, left) {
            // Nothing is sent; the channel closes when the activation ends or panics.
            Ok(_) | Err(NoMessage::Closed) => {
                Ok(Some(self.results.get().map_or(&[], Vec::as_slice)))
            }
            Err(NoMessage::Cancelled) => Err(Error::Cancelled),
            Err(NoMessage::TimedOut) => Ok(None),
        }
    }

    /// Calls `key__tool`; waits for the activation only if no active extension owns the tool yet.
    ///
    /// # Errors
    /// As [`Manager::call`]; when the activation of the tool's extension failed; when `cancel` fires.
    pub fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        cancel: &Cancel,
    ) -> Result<CallToolResult, Error> {
        let _in_use = self.in_use();
        if !self.extensions.owns(name) {
            let results = self.wait(cancel)?;
            let is_its = |result: &&ExtensionResult| {
                let tool = name.strip_prefix(&config::key(&result.name));
                !result.success && tool.is_some_and(|tool| tool.starts_with(tool_names::SEPARATOR))
            };
            let failed = results.iter().find(is_its);
            // It may have been activated since.
            if let Some(failed) = failed.filter(|failed| !self.extensions.has(&failed.name)) {
                let reason = failed.error.as_deref().unwrap_or("it failed");
                return Err(
                    extension::Error::not_active(&failed.name, reason, failed.class).into(),
                );
            }
        }
        let call = CallOptions {
            allowed_by: "client",
            ..CallOptions::default()
        };
        Ok(self.extensions.call(name, arguments, call, cancel)?)
    }

    /// Reads a resource; waits for the activation only if the extension is not active yet.
    ///
    /// # Errors
    /// As [`Manager::read_resource`]; when `cancel` fires.
    pub fn read_resource(
        &self,
        extension: &str,
        uri: &str,
        cancel: &Cancel,
    ) -> Result<ReadResourceResult, Error> {
        let _in_use = self.in_use();
        if !self.extensions.has(extension) {
            self.wait(cancel)?;
        }
        Ok(self.extensions.read_resource(extension, uri, cancel)?)
    }

    /// The tools of all extensions, or of one; waits until the activation ends, so that none is missing.
    ///
    /// # Errors
    /// When `cancel` fires.
    pub fn tools(&self, only: Option<&str>, cancel: &Cancel) -> Result<Vec<ListedTool>, Error> {
        let _in_use = self.in_use();
        if !only.is_some_and(|name| self.extensions.has(name)) {
            self.wait(cancel)?;
        }
        Ok(self.extensions.tools(only, cancel))
    }

    /// The extensions; waits until every one is active or has failed.
    ///
    /// # Errors
    /// When `cancel` fires.
    pub fn extensions(&self, cancel: &Cancel) -> Result<&Manager, Error> {
        self.wait(cancel)?;
        Ok(&self.extensions)
    }

    /// Begins a turn. No other turn can begin until the guard is dropped.
    ///
    /// A client that interrupts an answer may send the next message before the turn has noticed, so this
    /// waits for a running turn to end.
    ///
    /// # Errors
    /// [`Error::Working`] when another turn keeps running, [`Error::Cancelled`].
    pub(in crate::agent) fn begin_turn(
        &self,
        cancel: &Cancel,
    ) -> Result<TurnStateGuard<'_>, Error> {
        let start = Instant::now();
        let mut slot = lock(&self.turn_state);
        while let TurnStateSlot::InUse(other) = &*slot {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let timeout = if other.is_cancelled() {
                CANCELLED_TURN_TIMEOUT
            } else {
                RUNNING_TURN_TIMEOUT
            };
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::Working { holder: None });
            }
            let waited = self.turn_ended.wait_timeout(slot, left.min(POLL_INTERVAL));
            slot = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let state = match std::mem::replace(&mut *slot, TurnStateSlot::InUse(cancel.clone())) {
            TurnStateSlot::Idle(state) => Some(state),
            TurnStateSlot::Empty | TurnStateSlot::InUse(_) => None,
        };
        Ok(TurnStateGuard {
            agent: self,
            state,
            _in_use: self.in_use(),
        })
    }

    /// Takes the turn state out of the agent, unless a turn is running. The next turn loads it again.
    pub(in crate::agent) fn release_turn_state(&self) -> Option<Box<TurnState>> {
        let mut slot = lock(&self.turn_state);
        match std::mem::take(&mut *slot) {
            TurnStateSlot::Idle(state) => Some(state),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Cancelled when the agent ends.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Whether the session may need a name; true for the first call only.
    pub(in crate::agent) fn take_unnamed(&self) -> bool {
        self.unnamed.swap(false, Ordering::SeqCst)
    }

    /// Runs `work`, which may panic, in a thread that the end of the agent joins.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the agent is ending, [`Error::Busy`] if no thread can be started.
    pub fn in_background(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        // Locked until the thread is listed, so that `close` joins it.
        let mut background = lock(&self.background);
        if self.is_ending() {
            return Err(Error::Cancelled);
        }
        let what = format!("{name} {}", self.session_id);
        let thread = sys::spawn(what.clone(), None, move || drop(caught(what, work)));
        let thread = thread.map_err(|error| {
            log::warn!("background thread not started task={name} reason={error}");
            no_thread(&error)
        })?;
        background.add(thread);
        Ok(())
    }

    /// Checks that no turn runs. Waits a moment for one that has sent its last event; one that is cancelled
    /// does not count.
    ///
    /// # Errors
    /// [`Error::Working`] when a turn runs.
    pub fn check_no_turn(&self) -> Result<(), Error> {
        let is_running = |slot: &mut TurnStateSlot| match slot {
            TurnStateSlot::InUse(cancel) => !cancel.is_cancelled(),
            TurnStateSlot::Empty | TurnStateSlot::Idle(_) => false,
        };
        let slot = lock(&self.turn_state);
        let ended = (self.turn_ended).wait_timeout_while(slot, LAST_EVENT_TIMEOUT, is_running);
        if ended.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            return Err(Error::Working { holder: None });
        }
        Ok(())
    }

    /// Records a request for the session, and resumes its servers if they are suspended. A call that needs one
    /// of them waits for it.
    pub(in crate::agent) fn mark_used(self: &Arc<Self>) {
        drop(self.in_use());
        if self.suspended.swap(false, Ordering::SeqCst) {
            let this = self.clone();
            // The log tells a failure, and the next call of a tool resumes its server.
            let _ = self.in_background("wake", move || this.extensions.resume(&this.cancel));
        }
    }

    /// Marks the session as in use until the guard is dropped.
    fn in_use(&self) -> InUse<'_> {
        lock(&self.usage).active += 1;
        InUse(self)
    }

    /// Suspends the servers and drops the turn state if the session was unused for `limit`. A running turn, with its
    /// questions, is a use.
    pub(in crate::agent) fn suspend_if_idle(&self, limit: Duration) {
        let idle = {
            let usage = lock(&self.usage);
            usage.active == 0 && usage.last.elapsed() >= limit
        };
        let ready = self.results.get().is_some() && !self.is_ending();
        if !idle || !ready || self.suspended.swap(true, Ordering::SeqCst) {
            return;
        }
        drop(self.release_turn_state());
        self.extensions.suspend(&|| self.is_suspended());
    }

    /// Whether its end loses nothing. A request that uses the agent changes that.
    pub(in crate::agent) fn can_be_put_away(&self) -> bool {
        self.is_suspended()
            && !self.is_ending()
            && self.extensions.is_at_rest(self.last_used().elapsed())
    }

    /// Whether the servers are suspended, and no request has come since.
    pub(in crate::agent) fn is_suspended(&self) -> bool {
        self.suspended.load(Ordering::SeqCst)
    }

    /// Whether no request is being served.
    pub(in crate::agent) fn is_unused(&self) -> bool {
        lock(&self.usage).active == 0
    }

    /// When the last request began or ended.
    pub(in crate::agent) fn last_used(&self) -> Instant {
        lock(&self.usage).last
    }

    /// The status of the extensions, including those that failed. Sends nothing to the servers.
    pub(in crate::agent) fn status(&self) -> Vec<Status> {
        let mut all = self.extensions.status();
        self.left_out.warn(&mut all);
        let results = self.results.get().map_or(&[][..], Vec::as_slice);
        for result in results.iter().filter(|result| !result.success) {
            let status = result.failed_status();
            // It may have been added later.
            if all.iter().all(|other| other.key != status.key) {
                all.push(status);
            }
        }
        all
    }

    /// Whether [`close`](Self::close) was called, or the server stops.
    pub fn is_ending(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Cancels the running turn, closes its files and ends every extension; returns when they have ended, but does not
    /// wait for code of the program that does not end. A second call waits for the first.
    pub fn close(&self) {
        self.cancel.cancel();
        let mut activation = lock(&self.activation);
        std::mem::take(&mut *activation).join(true);
        let in_use = |slot: &mut TurnStateSlot| matches!(slot, TurnStateSlot::InUse(_));
        let _ = self.turn_ended.wait_timeout_while(
            lock(&self.turn_state),
            CANCELLED_TURN_TIMEOUT,
            in_use,
        );
        drop(self.release_turn_state());
        self.extensions.close();
        // Not locked while it waits: one of the threads may be about to start another one.
        let background = std::mem::take(&mut *lock(&self.background));
        background.join(true);
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    let reason = format!("no thread could be started: {error}");
    Error::Busy { reason }
}

/// The extensions to activate, and results for those whose configuration is invalid. Platform extensions of
/// Goose are left out, unless gosling has one of the same name.
fn plan(configs: &[Value]) -> Vec<Result<ExtensionConfig, ExtensionResult>> {
    let mut keys = HashSet::new();
    let mut plans = Vec::new();
    let invalid = |name: &str, reason| Err(failure(name, reason, Some(Class::Config)));
    for config in configs {
        plans.push(match ExtensionConfig::from_value(config.clone()) {
            Ok(config @ ExtensionConfig::Platform(_))
                if !platform_extensions::is_ours(&config.key()) =>
            {
                if unsupported::is_first_report(&config) {
                    let name = config.name();
                    log::warn!(
                        "left out, as gosling does not have it: Goose's own extension {name:?}"
                    );
                }
                continue;
            }
            Ok(config) if !keys.insert(config.key()) => {
                let (name, key) = (config.name(), config.key());
                let reason = format!(
                    "extension {name:?}, config: another extension of this session has the key `{key}` \
                     already; rename one of them"
                );
                invalid(name, reason)
            }
            Ok(config) => Ok(config),
            Err(reason) => {
                let name = config["name"].as_str().unwrap_or("?");
                invalid(name, format!("its configuration is not valid: {reason}"))
            }
        });
    }
    plans
}

fn failure(name: &str, error: String, class: Option<Class>) -> ExtensionResult {
    log::warn!("extension not active reason={error:?}");
    failed(name, error, class)
}

fn failed(name: &str, error: String, class: Option<Class>) -> ExtensionResult {
    ExtensionResult {
        name: name.to_owned(),
        error: Some(error),
        class,
        ..ExtensionResult::default()
    }
}
