//! The extensions of one session: activation, listing, dispatch, shutdown. An active extension is an MCP
//! client, wherever its server runs. CORE §5, §8, §10.

use super::active_extension::Extension;
use super::config::{ExtensionConfig, key};
use super::context::Context;
use super::launch::launch;
use super::listing::MAX_CONCURRENT;
use super::status::{State, Status};
use super::supervisor::{Operation, Supervisor};
use super::{Error, Phase, tool_names};
use crate::activity::{Activity, Entry};
use crate::mcp;
use crate::mcp::client::{CallOptions, Client};
use crate::mcp::types::{CallToolResult, ReadResourceResult, Tool};
use crate::sorting::sort_by;
use crate::store::ToolOrigin;
use crate::sys::cancel::Cancel;
use crate::sys::threads::{Threads, share};
use crate::sys::{self, lock};
use crate::text::printable;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the end of a session waits for starting extensions.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it waits for the active ones to end, which each have their own time limits.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a wait for another start of the same extension checks whether the client has left.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The active extensions of one session.
pub struct Manager {
    context: Arc<Context>,
    cancel: Cancel,
    table: Mutex<Table>,
    /// An extension has left `starting`.
    start_finished: Condvar,
}

#[derive(Default)]
struct Table {
    active: HashMap<String, Arc<Extension>>,
    /// The number of activations so far.
    activations: u64,
    /// The keys of extensions that are starting, and the token that cancels each start.
    starting: HashMap<String, Cancel>,
    /// The keys that were removed before the session's initial extensions had all started.
    removed_early: HashSet<String>,
    /// The initial extensions have all started or failed.
    initial_done: bool,
    closed: bool,
}

impl Table {
    /// The keys of the extensions that have a server.
    fn servers(&self) -> impl Iterator<Item = &str> {
        let servers = self.active.iter().filter(|(_, e)| !e.is_frontend());
        servers.map(|(key, _)| key.as_str())
    }
}

/// Removes a key from `starting` when dropped.
struct Starting<'m> {
    manager: &'m Manager,
    key: String,
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        lock(&self.manager.table).starting.remove(&self.key);
        self.manager.start_finished.notify_all();
    }
}

/// One tool of a session.
#[derive(Clone)]
pub struct ListedTool {
    /// `key__tool`; of a frontend extension the tool's own name.
    pub name: String,
    /// The key of its extension.
    pub extension: String,
    /// The client runs the tool.
    pub frontend: bool,
    /// The tool as its server describes it.
    pub tool: Tool,
}

impl ListedTool {
    /// `None` if the configuration excludes the tool.
    fn of(extension: &Extension, tool: &Tool) -> Option<Self> {
        extension.config.allows(&tool.name).then(|| ListedTool {
            name: extension.full_name(&tool.name),
            extension: extension.key.clone(),
            frontend: extension.is_frontend(),
            tool: tool.clone(),
        })
    }
}

impl Manager {
    /// A manager without extensions.
    pub fn new(context: Context) -> Self {
        Manager {
            context: Arc::new(context),
            cancel: Cancel::new(),
            table: Mutex::default(),
            start_finished: Condvar::new(),
        }
    }

    /// The record of what is done.
    pub fn activity(&self) -> &Activity {
        &self.context.activity
    }

    /// The session's container, in which its extensions run.
    pub fn container(&self) -> Option<&str> {
        self.context.containers.session.as_deref()
    }

    /// Activates an extension and waits until it is ready. An active extension with the same configuration
    /// that is up is kept; otherwise the new one replaces it. If the extension is already starting, waits for
    /// that first. [`close`](Self::close) cancels the start, too.
    ///
    /// # Errors
    /// Why the extension failed to start. Nothing of it is left.
    pub fn add(&self, config: &ExtensionConfig, cancel: &Cancel) -> Result<(), Error> {
        self.activate_and_record(config, false, cancel)
    }

    /// Activates an initial extension of the session, see [`add`](Self::add), unless it has been removed
    /// already.
    ///
    /// # Errors
    /// As `add`.
    pub fn add_initial(&self, config: &ExtensionConfig, cancel: &Cancel) -> Result<(), Error> {
        self.activate_and_record(config, true, cancel)
    }

    /// Adds an initial extension as [`suspend`](Self::suspend) leaves it; [`resume_one`](Self::resume_one) or its
    /// first use connects its server. Does nothing for an extension without a server.
    pub fn add_suspended(&self, config: &ExtensionConfig) {
        if matches!(config, ExtensionConfig::Frontend(_)) {
            return;
        }
        let mut table = lock(&self.table);
        table.activations += 1;
        let server = Supervisor::suspended(config, self.context.clone());
        let extension = Extension::supervised(config, table.activations, server);
        table.active.insert(config.key(), Arc::new(extension));
    }

    /// Marks the end of the initial activations.
    pub fn initial_done(&self) {
        let mut table = lock(&self.table);
        table.initial_done = true;
        table.removed_early = HashSet::new();
    }

    fn activate_and_record(
        &self,
        config: &ExtensionConfig,
        initial: bool,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let begun = self.context.activity.begin(Entry {
            extension: config.name(),
            subject: config.kind(),
            ..Entry::new("extension", &self.context.session_id)
        });
        let begun = begun.map_err(|reason| Error::new(config.name(), Phase::Config, reason))?;
        let activated = self.activate(config, initial, cancel);
        match &activated {
            Ok(()) => begun.end("started", "", None),
            Err(error) => {
                let class = error.class_name().unwrap_or("cancelled");
                begun.end(class, &error.to_string(), None);
            }
        }
        activated
    }

    fn activate(
        &self,
        config: &ExtensionConfig,
        initial: bool,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let name = config.name();
        let key = config.key();
        if key.is_empty() {
            let reason = "its name has no characters that could identify it";
            return Err(Error::new(name, Phase::Config, reason));
        }
        let stop = cancel.child();
        let Some((_starting, number)) = self.reserve(config, initial, &stop, cancel)? else {
            return Ok(());
        };
        let all = stop.clone();
        let _all = self.cancel.on_cancel(move || all.cancel());
        let was_removed = || stop.is_cancelled() && !cancel.is_cancelled();
        let started = self.start(config, number, &stop);
        let extension = Arc::new(started.map_err(|error| match error.phase {
            Phase::Cancelled if was_removed() && !lock(&self.table).closed => removed_error(name),
            _ => error,
        })?);
        let (result, replaced) = {
            let mut table = lock(&self.table);
            if table.closed {
                let reason = "the session was stopped during the start";
                let stopped = Error::new(name, Phase::Cancelled, reason);
                (Err(stopped), Some(extension))
            } else if was_removed() {
                (Err(removed_error(name)), Some(extension))
            } else {
                (Ok(()), table.active.insert(key, extension))
            }
        };
        if let Some(extension) = replaced {
            extension.close();
        }
        result
    }

    /// Reserves the key of an extension for its start, after an earlier start of the same key has ended.
    /// Returns the number of the activation, or `None` if the extension is active already. `stop` cancels
    /// the start; `cancel` is the caller's token.
    fn reserve(
        &self,
        config: &ExtensionConfig,
        initial: bool,
        stop: &Cancel,
        cancel: &Cancel,
    ) -> Result<Option<(Starting<'_>, u64)>, Error> {
        let name = config.name();
        let key = config.key();
        let mut table = lock(&self.table);
        while table.starting.contains_key(&key) {
            if cancel.is_cancelled() || table.closed {
                let reason = "it was already starting, and the caller cancelled the wait";
                return Err(Error::new(name, Phase::Cancelled, reason));
            }
            let waited = self.start_finished.wait_timeout(table, POLL_INTERVAL);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            cancel.check();
            table = lock(&self.table);
        }
        if let Some(active) = table.active.get(&key)
            && active.config == *config
            && active.is_up()
        {
            return Ok(None);
        }
        if !initial {
            table.removed_early.remove(&key);
        } else if table.removed_early.contains(&key) {
            return Err(removed_error(name));
        }
        table.starting.insert(key.clone(), stop.clone());
        table.activations += 1;
        let starting = Starting { manager: self, key };
        Ok(Some((starting, table.activations)))
    }

    fn start(
        &self,
        config: &ExtensionConfig,
        number: u64,
        cancel: &Cancel,
    ) -> Result<Extension, Error> {
        if let ExtensionConfig::Frontend(frontend) = config {
            self.context.check_policy(config)?;
            let extension = Extension::frontend(config, number, frontend)?;
            let name = config.name();
            let tools = frontend.tools.len();
            log::info!("extension active name={name:?} frontend=true tools={tools}");
            return Ok(extension);
        }
        let end = Instant::now() + config.timeout();
        let connected = self.context.connect_until(end, false, config, cancel);
        let connection = connected.map_err(|failed| failed.error)?;
        let server = Supervisor::new(config, self.context.clone(), connection);
        Ok(Extension::supervised(config, number, server))
    }

    /// Ends an extension or cancels its start; false if there is none of this name.
    pub fn remove(&self, name: &str) -> bool {
        let key = key(name);
        let (removed, starting) = {
            let mut table = lock(&self.table);
            if !table.initial_done {
                table.removed_early.insert(key.clone());
            }
            (table.active.remove(&key), table.starting.get(&key).cloned())
        };
        if let Some(extension) = &removed {
            end(&self.context, extension);
        }
        if let Some(starting) = &starting {
            starting.cancel();
            let is_starting = |table: &mut Table| table.starting.contains_key(&key);
            let table = lock(&self.table);
            drop(
                self.start_finished
                    .wait_timeout_while(table, CLOSE_TIMEOUT, is_starting),
            );
        }
        removed.is_some() || starting.is_some()
    }

    /// Ends all extensions in parallel, cancels those that are starting, and refuses further activations. A server of
    /// the program that does not end is left.
    pub fn close(&self) {
        let all = {
            let mut table = lock(&self.table);
            table.closed = true;
            std::mem::take(&mut table.active)
        };
        self.cancel.cancel();
        let mut ending = Threads::default();
        for extension in all.into_values() {
            let (context, ended) = (self.context.clone(), extension.clone());
            let name = format!("end {}", extension.key);
            match sys::spawn(name, None, move || end(&context, &ended)) {
                Ok(thread) => ending.add(thread),
                Err(_) => end(&self.context, &extension),
            }
        }
        ending.join_within(END_TIMEOUT);
        let starting = |table: &mut Table| !table.starting.is_empty();
        let _ = self
            .start_finished
            .wait_timeout_while(lock(&self.table), CLOSE_TIMEOUT, starting);
    }

    /// The tools of all extensions, or of one, sorted by name, without those that the configuration excludes.
    /// An extension that does not answer has the tools of its last listing.
    pub fn tools(&self, extension: Option<&str>, cancel: &Cancel) -> Vec<ListedTool> {
        let mut listed = Vec::new();
        for extension in self.active(extension) {
            let tools = extension.tools(cancel);
            listed.extend(
                tools
                    .iter()
                    .filter_map(|tool| ListedTool::of(&extension, tool)),
            );
        }
        // As in `owner`: the longest matching key owns a name, and tools of the client take precedence.
        let keys: Vec<_> = lock(&self.table).servers().map(str::to_owned).collect();
        listed.retain(|tool| {
            let owner = tool_names::owner(&tool.name, keys.iter().map(String::as_str));
            tool.frontend || owner.is_none_or(|(key, _)| key == tool.extension)
        });
        sort_by(&mut listed, |a, b| {
            a.name.cmp(&b.name).then(b.frontend.cmp(&a.frontend))
        });
        listed.dedup_by(|later, first| later.name == first.name);
        listed
    }

    /// The tool of this name in the last listing. Sends no request.
    pub fn find(&self, name: &str) -> Option<ListedTool> {
        let (extension, tool) = self.owner(name).ok()?;
        let tools = extension.known_tools();
        let found = tools.iter().find(|known| known.name == tool)?;
        ListedTool::of(&extension, found)
    }

    /// Where the tool of this name comes from; `None` if no MCP server has it.
    pub fn origin(&self, name: &str) -> Option<ToolOrigin> {
        let (extension, tool) = self.owner(name).ok()?;
        let connection = extension.supervisor()?.connection();
        let folder = self.context.working_dir.as_path();
        let folder = connection.depends_on_folder.then_some(folder);
        Some(ToolOrigin {
            extension: extension.key.clone(),
            tool: tool.to_owned(),
            launch: launch(&extension.config, folder, self.container()),
        })
    }

    /// The active extensions, or the one of this name, in the order of activation.
    pub(super) fn active(&self, extension: Option<&str>) -> Vec<Arc<Extension>> {
        let table = lock(&self.table);
        let mut active: Vec<_> = match extension {
            Some(name) => table.active.get(&key(name)).cloned().into_iter().collect(),
            None => table.active.values().cloned().collect(),
        };
        sort_by(&mut active, |a, b| a.number.cmp(&b.number));
        active
    }

    /// Sends a request to the server of an extension.
    pub(super) fn request<R>(
        &self,
        extension: &str,
        cancel: &Cancel,
        send: impl Fn(&Client, &Cancel) -> Result<R, mcp::Error>,
    ) -> Result<R, Error> {
        let found = self.require_active(extension)?;
        self.permit_request(&found)?;
        supervisor(&found)?.request(&Operation::QUERY, cancel, send)
    }

    /// Checks a request about resources or prompts.
    pub(super) fn permit_request(&self, extension: &Extension) -> Result<(), Error> {
        let checked = self.context.activity.check(&Entry {
            extension: &extension.key,
            working_dir: Some(&self.context.working_dir),
            ..Entry::new("extension_request", &self.context.session_id)
        });
        checked.map_err(|reason| Error::forbidden(extension.config.name(), reason))
    }

    /// Whether an active extension owns the tool of this name.
    pub fn owns(&self, name: &str) -> bool {
        self.owner(name).is_ok()
    }

    /// Why the tool of this name is withheld, if it is.
    pub fn withheld(&self, name: &str) -> Option<Error> {
        let (extension, tool) = self.owner(name).ok()?;
        extension.supervisor()?.require_offered(tool).err()
    }

    /// Whether an extension of this name is active.
    pub fn has(&self, extension: &str) -> bool {
        lock(&self.table).active.contains_key(&key(extension))
    }

    /// Calls the tool `key__tool`. `arguments` is the JSON text of an object.
    ///
    /// # Errors
    /// No extension owns the tool, the configuration excludes it, or the call fails. A tool that ran and
    /// failed is an `Ok`.
    pub fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        call: CallOptions<'_>,
        cancel: &Cancel,
    ) -> Result<CallToolResult, Error> {
        let (extension, tool) = self.owner(name)?;
        let begun = self.context.activity.begin(Entry {
            extension: &extension.key,
            subject: tool,
            request: call.label.unwrap_or_default(),
            arguments: arguments.get().as_bytes(),
            working_dir: Some(&self.context.working_dir),
            decision: "allowed",
            by: call.allowed_by,
            ..Entry::new("tool_call", &self.context.session_id)
        });
        let refused = |reason: String| Error::forbidden(extension.config.name(), reason);
        let begun = begun.map_err(refused)?;
        let result = call_of(&extension, tool, arguments, &call, cancel);
        match &result {
            Ok(result) => {
                let bytes = result.content.iter().map(|part| part.as_json().len()).sum();
                let is_error = result.is_error == Some(true);
                begun.end(if is_error { "is_error" } else { "ok" }, "", Some(bytes));
            }
            Err(error) => begun.end(error.outcome(), &error.to_string(), None),
        }
        result
    }

    /// The status of the extensions in the order of activation, then of those that are starting. Sends no
    /// request.
    pub fn status(&self) -> Vec<Status> {
        let active = self.active(None);
        let mut all: Vec<_> = active.iter().map(|extension| extension.status()).collect();
        for key in lock(&self.table).starting.keys() {
            match all.iter_mut().find(|status| status.key == *key) {
                Some(replaced) => replaced.state = State::Starting,
                None => all.push(Status::bare(key, key.clone(), None, State::Starting)),
            }
        }
        all
    }

    /// Ends the idle servers until they are needed again; stops as soon as `still` returns false.
    pub fn suspend(&self, still: &(dyn Fn() -> bool + Sync)) {
        self.each_server(&|server| {
            if still() {
                server.suspend();
            }
        });
    }

    /// Reconnects what [`suspend`](Self::suspend) has ended. A failure is logged.
    pub fn resume(&self, cancel: &Cancel) {
        self.each_server(&|server| drop(server.resume(cancel)));
    }

    /// Reconnects a suspended extension.
    ///
    /// # Errors
    /// There is no such extension, or its server does not start. The next use tries again.
    pub fn resume_one(&self, extension: &str, cancel: &Cancel) -> Result<(), Error> {
        supervisor(&*self.require_active(extension)?)?.resume(cancel)
    }

    /// Whether nothing is lost if all extensions, unused for this time, end and are added again later.
    pub fn is_at_rest(&self, unused: Duration) -> bool {
        let active = self.active(None);
        let mut servers = active.iter().filter_map(|active| active.supervisor());
        servers.all(|server| server.is_at_rest(unused)) && lock(&self.table).starting.is_empty()
    }

    fn each_server(&self, work: &(dyn Fn(&Supervisor) + Sync)) {
        let active = self.active(None);
        let servers: Vec<_> = active
            .iter()
            .filter_map(|active| active.supervisor())
            .collect();
        share(servers.len(), MAX_CONCURRENT, "servers", &|n| {
            work(servers[n])
        });
    }

    fn require_active(&self, extension: &str) -> Result<Arc<Extension>, Error> {
        let found = self.active(Some(extension)).pop();
        found.ok_or_else(|| {
            let reason = "it is not active in this session";
            Error::new(extension, Phase::Config, reason)
        })
    }

    /// Reads a resource of one extension.
    ///
    /// # Errors
    /// There is no such extension, or its server refuses.
    pub fn read_resource(
        &self,
        extension: &str,
        uri: &str,
        cancel: &Cancel,
    ) -> Result<ReadResourceResult, Error> {
        self.request(extension, cancel, |client, cancel| {
            client.read_resource(uri, cancel)
        })
    }

    /// The extension that owns a tool name, and the name without the prefix. Tools of the client have no
    /// prefix.
    fn owner<'n>(&self, name: &'n str) -> Result<(Arc<Extension>, &'n str), Error> {
        let table = lock(&self.table);
        let frontends = table.active.values().filter(|extension| {
            let is_it = |tool: &Tool| tool.name == name;
            extension.is_frontend() && extension.known_tools().iter().any(is_it)
        });
        if let Some(extension) = frontends.min_by_key(|extension| extension.number) {
            return Ok((extension.clone(), name));
        }
        if let Some((key, tool)) = tool_names::owner(name, table.servers())
            && let Some(extension) = table.active.get(key)
        {
            return Ok((extension.clone(), tool));
        }
        let prefix = name.split(tool_names::SEPARATOR).next().unwrap_or_default();
        let reason = format!(
            "no active extension owns the tool {:?}; tools are called `extension__tool`",
            printable(name, 200)
        );
        Err(Error::new(prefix, Phase::Config, reason))
    }
}

/// Calls the tool of an extension, see [`Manager::call`].
fn call_of(
    extension: &Extension,
    tool: &str,
    arguments: &RawValue,
    call: &CallOptions<'_>,
    cancel: &Cancel,
) -> Result<CallToolResult, Error> {
    if !extension.config.allows(tool) {
        let reason = format!("the tool {tool:?} is not among its `available_tools`");
        return Err(Error::new(extension.config.name(), Phase::Tool, reason));
    }
    let Some(server) = extension.supervisor() else {
        let reason = format!(
            "the tool {tool:?} is run by the client that added the extension, not by this server"
        );
        return Err(Error::new(extension.config.name(), Phase::Tool, reason));
    };
    server.require_offered(tool)?;
    let tools = extension.known_tools();
    let known = tools.iter().find(|known| known.name == tool);
    let hints = known.and_then(|known| known.annotations.as_ref());
    let operation = Operation {
        repeatable: hints.is_some_and(|hints| {
            hints.idempotent_hint == Some(true) || hints.read_only_hint == Some(true)
        }),
        tool: Some(tool),
        observer: call.observer.clone(),
    };
    let begin = Instant::now();
    let result = server.request(&operation, cancel, |client, cancel| {
        client.call_tool_raw(tool, arguments, call.clone(), cancel)
    });
    if let Err(error) = &result {
        log::info!(
            "tool call failed extension={:?} phase=execution class={} ms={}",
            printable(&extension.key, 100),
            error.class_name().unwrap_or("cancelled"),
            begin.elapsed().as_millis()
        );
    }
    let is_done = (result.as_ref()).is_ok_and(|result| result.is_error != Some(true));
    server.record(begin.elapsed(), !is_done);
    result
}

fn end(context: &Context, extension: &Extension) {
    extension.close();
    context.activity.note(Entry {
        extension: extension.config.name(),
        outcome: "stopped",
        ..Entry::new("extension", &context.session_id)
    });
}

fn removed_error(name: &str) -> Error {
    Error::new(name, Phase::Cancelled, "it was removed")
}

fn supervisor(extension: &Extension) -> Result<&Supervisor, Error> {
    extension.supervisor().ok_or_else(|| {
        let reason = "the client runs its tools; it has no MCP server";
        Error::new(extension.config.name(), Phase::Config, reason)
    })
}
