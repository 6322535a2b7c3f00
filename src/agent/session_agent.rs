//! One live agent: the extensions of one session, activated in the background, side by side, and the
//! conversation that it is in.

use super::Error;
use super::parallel::parallel_map;
use super::server_requests::SessionRequestHandler;
use super::turn::TurnState;
use super::turn_channel::TurnChannel;
use crate::conversation::{DisabledExtension, ImportReport};
use crate::extension::{
    self, Context, ExtensionConfig, ListedTool, Manager, State, Status, config,
    platform_extensions, tool_names, unsupported,
};
use crate::mcp::client::CallOptions;
use crate::mcp::types::{CallToolResult, ReadResourceResult};
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often somebody who waits for the extensions looks whether the client is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How many extensions are activated at the same time.
const MAX_PARALLEL: usize = 16;

/// What became of one extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtensionResult {
    /// Its name as configured.
    pub name: String,
    /// Whether it is active.
    pub success: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How long the end of an agent, or the next message, waits for a cancelled turn to give up.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long a message waits for the turn before it to be cancelled, or to end.
pub(super) const MOMENT: Duration = Duration::from_secs(1);

/// A session at work.
pub struct Agent {
    pub(super) session_id: String,
    pub(super) extensions: Manager,
    pub(super) channel: Arc<TurnChannel>,
    /// What turns work with; a turn that runs has taken it.
    work: Mutex<TurnStateSlot>,
    /// A turn is over.
    idle: Condvar,
    /// Threads that make the session's name or bring its servers back.
    background: Mutex<Vec<JoinHandle<()>>>,
    usage: Mutex<Usage>,
    /// Its servers were given back, and no request has come since.
    resting: AtomicBool,
    /// The session may be without a name.
    nameless: AtomicBool,
    cancel: Cancel,
    results: OnceLock<Vec<ExtensionResult>>,
    /// Closed when the activation is over.
    ready: Receiver<()>,
    activation: Mutex<Option<JoinHandle<()>>>,
}

/// When the session was used.
struct Usage {
    /// Requests that are being served.
    under_way: usize,
    /// When the last one came or ended.
    last: Instant,
}

/// See [`Agent::in_use`].
struct InUse<'a>(&'a Agent);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.usage);
        usage.under_way -= 1;
        usage.last = Instant::now();
    }
}

/// Where the work of turns is.
#[derive(Default)]
enum TurnStateSlot {
    /// There was no turn yet.
    #[default]
    Empty,
    /// No turn runs.
    Idle(Box<TurnState>),
    /// A turn has it.
    InUse(Cancel),
}

/// The work of turns, in the hands of one. It goes back when this is dropped.
pub(super) struct TurnStateGuard<'a> {
    agent: &'a Agent,
    work: Option<Box<TurnState>>,
    _in_use: InUse<'a>,
}

impl Deref for TurnStateGuard<'_> {
    type Target = Option<Box<TurnState>>;

    fn deref(&self) -> &Option<Box<TurnState>> {
        &self.work
    }
}

impl DerefMut for TurnStateGuard<'_> {
    fn deref_mut(&mut self) -> &mut Option<Box<TurnState>> {
        &mut self.work
    }
}

impl Drop for TurnStateGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.agent.work) = match self.work.take() {
            Some(work) => TurnStateSlot::Idle(work),
            None => TurnStateSlot::Empty,
        };
        self.agent.idle.notify_all();
    }
}

impl Agent {
    /// Begins to activate the extensions and returns at once. `before` is the agent that this one
    /// replaces: it is ended first, so that the two never hold the same thing. Of `off`, the extensions
    /// that are switched off count as failed. `answer_timeout` is how long
    /// the user has to answer what a server asks.
    ///
    /// # Errors
    /// When no thread can be made.
    pub(super) fn launch(
        mut context: Context,
        configs: Vec<Value>,
        off: ImportReport,
        before: Option<Arc<Agent>>,
        answer_timeout: Duration,
        server: &Cancel,
    ) -> Result<Arc<Agent>, Error> {
        let name = format!("activate {}", context.session_id);
        let (working, ready) = bounded::<()>(0);
        let channel = Arc::new(TurnChannel::default());
        context.request_handler = Some(Arc::new(SessionRequestHandler::new(
            channel.clone(),
            answer_timeout,
        )));
        let agent = Arc::new(Agent {
            session_id: context.session_id.clone(),
            extensions: Manager::new(context),
            channel,
            work: Mutex::default(),
            idle: Condvar::new(),
            background: Mutex::default(),
            usage: Mutex::new(Usage {
                under_way: 0,
                last: Instant::now(),
            }),
            resting: AtomicBool::new(false),
            nameless: AtomicBool::new(true),
            cancel: server.child(),
            results: OnceLock::new(),
            ready,
            activation: Mutex::default(),
        });
        let this = agent.clone();
        let mut slot = lock(&agent.activation);
        let thread = sys::spawn(name, None, move || {
            if let Some(before) = before {
                before.close();
            }
            let mut results = this.activate(&configs);
            let not_begun = |it: &DisabledExtension| failed(&it.name, off.reason(it));
            results.extend(off.switched_off.iter().map(not_begun));
            this.extensions.initial_done();
            let _ = this.results.set(results);
            drop(working);
        });
        *slot = Some(thread.map_err(|e| Error::Busy {
            reason: e.to_string(),
        })?);
        drop(slot);
        Ok(agent)
    }

    fn activate(&self, configs: &[Value]) -> Vec<ExtensionResult> {
        let activate = |plan: &Result<ExtensionConfig, ExtensionResult>| match plan {
            Ok(config) => self.activate_one(config),
            Err(failed) => failed.clone(),
        };
        let panicked = |plan: &Result<ExtensionConfig, ExtensionResult>| match plan {
            Ok(config) => {
                let name = config.name();
                let reason = "gosling itself failed at the start of it; its log says how";
                failure(name, format!("extension {name:?}, setup: {reason}"))
            }
            Err(failed) => failed.clone(),
        };
        parallel_map(&plan(configs), MAX_PARALLEL, activate, panicked)
    }

    fn activate_one(&self, config: &ExtensionConfig) -> ExtensionResult {
        match self.extensions.add_initial(config, &self.cancel) {
            Ok(()) => ExtensionResult {
                name: config.name().to_owned(),
                success: true,
                error: None,
            },
            Err(error) if unsupported::is_first_report(config) => {
                failure(config.name(), error.to_string())
            }
            Err(error) => failed(config.name(), error.to_string()),
        }
    }

    /// Waits until every extension is active or has failed.
    ///
    /// # Errors
    /// When `cancel` fires first.
    pub fn wait(&self, cancel: &Cancel) -> Result<&[ExtensionResult], Error> {
        loop {
            if let Some(results) = self.results.get() {
                return Ok(results);
            }
            match self.ready.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) if cancel.probe() => return Err(Error::Cancelled),
                Err(RecvTimeoutError::Timeout) => {}
                // Nothing is ever sent: the channel closes when the work is done, well or not.
                Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok(self.results.get().map_or(&[], Vec::as_slice));
                }
            }
        }
    }

    /// Calls `key__tool`; waits for the activation only if no active extension owns the tool yet.
    ///
    /// # Errors
    /// As [`Manager::call`]; what kept the tool's extension from coming up; when `cancel` fires.
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
            // It may have come up since.
            if let Some(failed) = failed.filter(|failed| !self.extensions.has(&failed.name)) {
                let reason = failed.error.as_deref().unwrap_or("it failed");
                return Err(extension::Error::not_active(&failed.name, reason).into());
            }
        }
        Ok(self
            .extensions
            .call(name, arguments, CallOptions::default(), cancel)?)
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

    /// The tools of all extensions, or of one; waits until the activation is over, so that none is
    /// missing.
    ///
    /// # Errors
    /// When `cancel` fires.
    pub fn tools(
        &self,
        extension: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Vec<ListedTool>, Error> {
        let _in_use = self.in_use();
        if !extension.is_some_and(|name| self.extensions.has(name)) {
            self.wait(cancel)?;
        }
        Ok(self.extensions.tools(extension, cancel))
    }

    /// The extensions, once every one is active or has failed.
    ///
    /// # Errors
    /// When `cancel` fires.
    pub fn extensions(&self, cancel: &Cancel) -> Result<&Manager, Error> {
        self.wait(cancel)?;
        Ok(&self.extensions)
    }

    /// Begins a turn; nobody else can until what is given back is dropped.
    ///
    /// Who interrupts an answer may send the next message before the turn has noticed, so a turn that
    /// runs is given a moment to end.
    ///
    /// # Errors
    /// [`Error::Working`] when another turn goes on, [`Error::Cancelled`].
    pub(super) fn begin(&self, cancel: &Cancel) -> Result<TurnStateGuard<'_>, Error> {
        let start = Instant::now();
        let mut place = lock(&self.work);
        while let TurnStateSlot::InUse(other) = &*place {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let answer_timeout = if other.is_cancelled() {
                GIVE_UP
            } else {
                MOMENT
            };
            let left = answer_timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::Working { holder: None });
            }
            let waited = self.idle.wait_timeout(place, left.min(POLL_INTERVAL));
            place = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let work = match std::mem::replace(&mut *place, TurnStateSlot::InUse(cancel.clone())) {
            TurnStateSlot::Idle(work) => Some(work),
            TurnStateSlot::Empty | TurnStateSlot::InUse(_) => None,
        };
        Ok(TurnStateGuard {
            agent: self,
            work,
            _in_use: self.in_use(),
        })
    }

    /// Gives away what turns work with, unless one runs. The next one makes it anew.
    pub(super) fn let_go(&self) -> Option<Box<TurnState>> {
        let mut place = lock(&self.work);
        match std::mem::take(&mut *place) {
            TurnStateSlot::Idle(work) => Some(work),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Cancelled when the agent ends.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Whether the session should be named now: asked once in an agent's life, and no more after that.
    pub(super) fn wants_name(&self) -> bool {
        self.nameless.swap(false, Ordering::SeqCst)
    }

    /// Works in a thread that ends with the agent; not at all once the agent is ending.
    pub(super) fn in_background(&self, name: &str, work: impl FnOnce() + Send + 'static) {
        // Held until the thread is among those that the end waits for.
        let mut background = lock(&self.background);
        if self.is_ending() {
            return;
        }
        match sys::spawn(format!("{name} {}", self.session_id), None, work) {
            Ok(thread) => {
                background.retain(|earlier| !earlier.is_finished());
                background.push(thread);
            }
            Err(error) => log::warn!("nothing done in the background reason={error}"),
        }
    }

    /// A request concerns the session: its servers come back, should they have been given back. Whoever
    /// needs one of them waits for it.
    pub(super) fn used(self: &Arc<Self>) {
        drop(self.in_use());
        if self.resting.swap(false, Ordering::SeqCst) {
            let this = self.clone();
            self.in_background("wake", move || this.extensions.resume(&this.cancel));
        }
    }

    /// While what is given back lives, the session is not idle.
    fn in_use(&self) -> InUse<'_> {
        lock(&self.usage).under_way += 1;
        InUse(self)
    }

    /// Gives the servers back, and what turns work with, if the session was not used for so long.
    pub(super) fn rest_if_idle(&self, limit: Duration) {
        let idle = {
            let usage = lock(&self.usage);
            usage.under_way == 0 && usage.last.elapsed() >= limit
        };
        let ready = self.results.get().is_some() && !self.is_ending();
        if !idle || !ready || self.resting.swap(true, Ordering::SeqCst) {
            return;
        }
        drop(self.let_go());
        let still = || self.resting.load(Ordering::SeqCst);
        self.extensions.suspend(&still);
    }

    /// Whether nothing is under way.
    pub(super) fn is_quiet(&self) -> bool {
        lock(&self.usage).under_way == 0
    }

    /// When the last request came or ended.
    pub(super) fn last_used(&self) -> Instant {
        lock(&self.usage).last
    }

    /// How the extensions are doing, those that did not come up included. Asks no server.
    pub(super) fn status(&self) -> Vec<Status> {
        let mut all = self.extensions.status();
        let results = self.results.get().map_or(&[][..], Vec::as_slice);
        for result in results.iter().filter(|result| !result.success) {
            let key = config::key(&result.name);
            // It may have been added since.
            if all.iter().all(|status| status.key != key) {
                let mut status = Status::bare(&result.name, key, None, State::Failed);
                status.error = result.error.clone();
                all.push(status);
            }
        }
        all
    }

    /// Whether [`close`](Self::close) was called, or the server stops.
    pub fn is_ending(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Stops what runs and ends every extension; returns when they are gone. A second call waits
    /// for the first.
    pub fn close(&self) {
        self.cancel.cancel();
        let mut activation = lock(&self.activation);
        if let Some(activation) = activation.take() {
            let _ = activation.join();
        }
        let taken = |place: &mut TurnStateSlot| matches!(place, TurnStateSlot::InUse(_));
        let _ = self
            .idle
            .wait_timeout_while(lock(&self.work), GIVE_UP, taken);
        self.extensions.close();
        for thread in std::mem::take(&mut *lock(&self.background)) {
            let _ = thread.join();
        }
    }
}

/// What there is to activate, and what cannot be. Extensions that belong to Goose's own agent are kept
/// for it and do not concern us, unless we have one of the same name.
fn plan(configs: &[Value]) -> Vec<Result<ExtensionConfig, ExtensionResult>> {
    let mut keys = HashSet::new();
    let mut plans = Vec::new();
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
                Err(failure(
                    name,
                    format!(
                        "extension {name:?}, config: another extension of this session has the key \
                         `{key}` already; rename one of them"
                    ),
                ))
            }
            Ok(config) => Ok(config),
            Err(reason) => {
                let name = config["name"].as_str().unwrap_or("?");
                Err(failure(
                    name,
                    format!("its configuration is not valid: {reason}"),
                ))
            }
        });
    }
    plans
}

fn failure(name: &str, error: String) -> ExtensionResult {
    log::warn!("extension not active reason={error:?}");
    failed(name, error)
}

fn failed(name: &str, error: String) -> ExtensionResult {
    ExtensionResult {
        name: name.to_owned(),
        success: false,
        error: Some(error),
    }
}
