//! The live agents of all sessions. Sessions are created, found, changed and ended here, so that the stored
//! session and its agent stay consistent.

use crate::activity::Entry;
use crate::agent::questions::question_answers::Questions;
use crate::agent::questions::sampling_and_elicitation::request_handlers;
use crate::agent::recipes::SessionRecipe;
use crate::agent::session::agent_table::{AgentTable, IfRunning};
use crate::agent::session::export_copy_import::{SessionFiles, absolute_or_home};
use crate::agent::session::extension_setup::{ExtensionSetup, time_limit};
use crate::agent::session::housekeeper::Housekeeper;
use crate::agent::session::model_selection::Models;
use crate::agent::session::observers::{SessionObserver, SessionObservers};
use crate::agent::session::session_agent::{InitialExtensions, idle_status};
use crate::agent::session::session_extensions::{
    append, check_count, enabled_extensions, import_extensions,
};
use crate::agent::session::session_naming::name_in_background;
use crate::agent::session::session_recipes;
use crate::agent::session::stored_session_data::StoredSessionData;
use crate::agent::turn::turn_channel::TurnChannel;
use crate::agent::turn::turn_count::TurnCount;
use crate::agent::turn::turn_start::{TurnInput, TurnStart, is_elicitation_response};
use crate::agent::turn::turn_state_lru::TurnStateLru;
use crate::agent::{Agent, Error, Event, EventSink, ExtensionResult, Mode, Stores, TurnReport};
use crate::builtin::{self, BuiltinContext, OwnServers, WorkspaceSlot};
use crate::conversation::{ImportReport, Message, Session, SessionType};
use crate::extension::config::key;
use crate::extension::sandbox::Level;
use crate::extension::{Containers, Context, ExtensionConfig, Sandboxing, State, Status};
use crate::mcp::transport::Transport;
use crate::metric_counters::METRICS;
use crate::part::{self, Part};
use crate::provider::{Catalog, InProcessProvider};
use crate::store::{NewSession, files, settings};
use crate::sys::TimeLimit;
use crate::sys::cancel::Cancel;
use crate::sys::fs::{FileCalls, lockable_folder};
use crate::sys::threads::share;
use crate::sys::{caught, lock};
use serde_json::{Map, Value};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// How many folders a session may have besides its working directory.
const MAX_DIRS: usize = 64;

/// The parameters of a new session.
#[derive(Default)]
pub struct Start {
    /// The working directory; empty for the home directory.
    pub working_dir: PathBuf,
    /// The recipe, if any.
    pub recipe: Option<SessionRecipe>,
    /// The extensions to use, unless the recipe names them; if absent, those that the configuration enables.
    pub extension_overrides: Option<Vec<Value>>,
    /// Extensions of the client, which are used beside the others.
    pub client_extensions: Vec<ExtensionConfig>,
    /// The folders that it works in besides the working directory.
    pub additional_dirs: Vec<PathBuf>,
    /// The least that walls around its extensions keep out, whatever the settings say.
    pub sandbox: Level,
    /// What starts the session.
    pub session_type: SessionType,
    /// The schedule that starts it.
    pub schedule_id: Option<String>,
    /// Its name; a model makes one if absent.
    pub name: Option<String>,
    /// The values of the recipe's parameters.
    pub recipe_values: Option<Map<String, Value>>,
}

/// All live agents.
pub struct Registry {
    stores: Stores,
    catalog: Box<dyn Catalog>,
    servers: OwnServers,
    offline: bool,
    has_user_interfaces: bool,
    cancel: Cancel,
    agents: Arc<AgentTable<Agent>>,
    turn_states: TurnStateLru,
    turns: TurnCount,
    pub(in crate::agent) observers: SessionObservers,
    housekeeper: Mutex<Option<Housekeeper>>,
    /// The lock that a restore of the files must have alone.
    _in_use: Option<File>,
}

impl Registry {
    /// A registry without agents, in a program with these parts: all registries of a program have the same ones.
    /// `offline` forbids extensions and providers on other machines.
    pub fn new(stores: Stores, parts: &'static [&'static Part], offline: bool) -> Self {
        part::set(parts);
        let cancel = Cancel::new();
        let policy = stores.activity.policy();
        let offline = offline || policy.is_some_and(|policy| policy.is_offline());
        let folder = lockable_folder(files::parent(&stores.paths.data)).ok();
        Registry {
            catalog: part::catalog(&stores, offline),
            stores,
            servers: OwnServers::default(),
            offline,
            has_user_interfaces: false,
            agents: Arc::new(AgentTable::new(cancel.clone())),
            cancel,
            turn_states: TurnStateLru::default(),
            turns: TurnCount::default(),
            observers: SessionObservers::default(),
            housekeeper: Mutex::default(),
            _in_use: folder.filter(|folder| FileCalls::lock_shared(folder).is_ok()),
        }
    }

    /// Declares to MCP servers that the clients show user interfaces (MCP Apps), unless `GOOSE_MCP_UI` is 0, or
    /// no part of the program shows them.
    pub fn with_user_interfaces(mut self) -> Self {
        self.has_user_interfaces = part::all().iter().any(|part| part.shows_user_interfaces);
        self
    }

    /// Adds providers of the program's own, which run in the process, to those of parts.
    ///
    /// # Panics
    /// Another provider has one of their names, or one of them has none.
    pub fn with_providers(mut self, own: impl IntoIterator<Item = InProcessProvider>) -> Self {
        self.catalog.add(own.into_iter().collect());
        self
    }

    /// Adds an MCP server of the program's own, which runs in the process: extensions of type `builtin` with this name
    /// use it. `connect` is called for each session that has one, and again when its connection was ended.
    ///
    /// # Panics
    /// The name is not a key of extensions (a-z, 0-9, `_`, `-`), another server has it, or sessions have begun.
    pub fn with_server(
        mut self,
        name: impl Into<String>,
        connect: impl Fn(&BuiltinContext<'_>) -> Arc<dyn Transport> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        let is_key = !name.is_empty() && key(&name) == name;
        assert!(is_key, "{name:?} is not a key of extensions");
        let is_new = !builtin::has(&name) && !self.servers.contains_key(&name);
        assert!(is_new, "two servers are called {name:?}");
        let servers = Arc::get_mut(&mut self.servers).expect("no session has begun");
        servers.insert(name, Box::new(connect));
        self
    }

    /// The files behind the sessions.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The catalog of providers and models.
    pub fn catalog(&self) -> &dyn Catalog {
        &*self.catalog
    }

    /// The stored sessions, for what needs no live agent.
    pub fn files(&self) -> SessionFiles<'_> {
        self.stores.session_files()
    }

    /// Chooses the models of sessions.
    pub fn models(&self) -> Models<'_> {
        Models {
            stores: &self.stores,
            catalog: &*self.catalog,
        }
    }

    /// What extensions are set up with.
    pub fn extension_setup(&self) -> ExtensionSetup<'_> {
        ExtensionSetup {
            stores: &self.stores,
            catalog: &*self.catalog,
            servers: &self.servers,
            offline: self.offline,
            has_user_interfaces: self.has_user_interfaces,
        }
    }

    /// As the end of a turn does: starts to name the session in the background, if it has no name and its agent is
    /// live.
    pub fn name_session(&self, id: &str) {
        if let Some(agent) = self.live_agent(id) {
            name_in_background(&agent, self.models(), &self.observers);
        }
    }

    /// The questions of a session's running turn.
    pub fn questions(&self, id: &str) -> Questions {
        Questions(self.live_agent(id))
    }

    /// Tells `observer` what becomes of sessions, for as long as there is another reference to it.
    pub fn observe<T: SessionObserver + 'static>(&self, observer: &Arc<T>) {
        let observer: Weak<T> = Arc::downgrade(observer);
        self.observers.add(observer);
    }

    /// Whether extensions and providers on other machines are forbidden.
    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// Cancelled when the server stops.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Creates a session and starts to activate its extensions; does not wait for them.
    ///
    /// # Errors
    /// When the working directory, the recipe or an extension's configuration is not valid, or the
    /// session cannot be written.
    pub fn start(&self, start: Start) -> Result<Session, Error> {
        let working_dir = absolute_or_home(start.working_dir)?;
        check_dir(&working_dir)?;
        check_dirs(&start.additional_dirs)?;
        let recipe = start.recipe.as_ref();
        if let Some(recipe) = recipe {
            recipe.recipe.check_for_start()?;
        }
        let mut imported = ImportReport::default();
        let mut extensions =
            self.initial_extensions(recipe, start.extension_overrides, &mut imported)?;
        let client_extensions = append(&mut extensions, start.client_extensions)?;
        let recipe_origin = recipe.and_then(|it| it.origin(&working_dir));
        let session = self.stores.sessions.create(NewSession {
            working_dir,
            extensions,
            imported,
            client_extensions,
            additional_dirs: start.additional_dirs,
            sandbox: start.sandbox,
            recipe: start.recipe.map(|it| it.recipe.into_value()),
            user_recipe_values: start.recipe_values,
            name: start.name,
            session_type: start.session_type,
            schedule_id: start.schedule_id,
            recipe_origin,
        })?;
        let recorded = self.stores.record_session(&session.id, "created");
        let started = recorded.and_then(|()| self.keep_or_start(&session, IfRunning::Keep));
        if let Err(error) = started {
            let _ = self.stores.sessions.delete(&session.id);
            return Err(error);
        }
        Ok(session)
    }

    /// The extensions of a new session besides those of its client: its recipe's, of which those from a stranger are
    /// active only if the user has them too, else those that are given, else those that the configuration enables.
    fn initial_extensions(
        &self,
        recipe: Option<&SessionRecipe>,
        given: Option<Vec<Value>>,
        imported: &mut ImportReport,
    ) -> Result<Vec<Value>, Error> {
        let config = &self.stores.config;
        let of_recipe = recipe.and_then(|it| it.recipe.extensions());
        let wanted = match (of_recipe, recipe.and_then(|it| it.source.untrusted())) {
            (Some(extensions), Some(from)) => {
                imported.from = from.to_owned();
                import_extensions(config, extensions, given.unwrap_or_default(), imported)?
            }
            (Some(extensions), None) => extensions.to_vec(),
            (None, _) => match given {
                Some(extensions) => extensions,
                None => {
                    let enabled = enabled_extensions(config)?;
                    enabled.iter().map(ExtensionConfig::to_value).collect()
                }
            },
        };
        check_count(wanted.len())?;
        let read = |config| ExtensionConfig::from_value(config).map(|config| config.to_value());
        let read: Result<Vec<Value>, String> = wanted.into_iter().map(read).collect();
        read.map_err(|reason| Error::Config { reason })
    }

    /// The session and, with `load`, the results of activating its extensions; starts the agent if it does
    /// not run. The messages of a running turn are left out if the page gets them all when it follows the turn.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn resume(
        &self,
        id: &str,
        load: bool,
        cancel: &Cancel,
    ) -> Result<(Session, Option<Vec<ExtensionResult>>), Error> {
        let (mut session, results) = if load {
            let (session, agent) = self.agent_for_stored(id, IfRunning::Keep)?;
            (session, Some(agent.wait(cancel)?.to_vec()))
        } else {
            (self.files().session(id)?, None)
        };
        session.conversation = self.stores.sessions.conversation(id)?;
        if let Some(messages) = &mut session.conversation {
            let counts = (self.observers).ask(|it| it.before_followed_turn(id, messages));
            let least = counts.flatten().min();
            messages.truncate(least.unwrap_or(usize::MAX));
        }
        self.models().show(&mut session);
        Ok((session, results))
    }

    /// Copies a stored session as [`SessionFiles::copy`] does. If it has an agent, the
    /// copy has one, too, as soon as it needs it.
    ///
    /// # Errors
    /// Those of the files.
    pub fn copy(&self, id: &str, until: Option<i64>) -> Result<String, Error> {
        let copy = self.files().copy(id, until)?;
        self.agents.add_copy(id, &copy);
        Ok(copy)
    }

    /// Ends the session's agent, if it runs, and starts a new one.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn restart(&self, id: &str, cancel: &Cancel) -> Result<Vec<ExtensionResult>, Error> {
        let (_, agent) = self.agent_for_stored(id, IfRunning::Replace)?;
        Ok(agent.wait(cancel)?.to_vec())
    }

    /// Ends the session's agent and its extensions, if it runs.
    pub fn stop(&self, id: &str) {
        self.agents.stop(id);
    }

    /// The running agent of a session; its extensions may still be starting. Makes one again that was put away,
    /// and starts no other.
    ///
    /// # Errors
    /// When there is no such session, or its agent was not started or has been stopped.
    pub fn agent(&self, id: &str) -> Result<Arc<Agent>, Error> {
        if let Some(agent) = self.agents.running(id) {
            agent.mark_used();
            return Ok(agent);
        }
        let (_, agent) = self.agent_for_stored(id, IfRunning::KeepStarted)?;
        Ok(agent)
    }

    /// The status of the extensions of a session, including those that failed. Sends nothing to the servers
    /// and resumes none.
    ///
    /// # Errors
    /// When there is no such session, or its agent does not run.
    pub fn status(&self, id: &str) -> Result<Vec<Status>, Error> {
        match self.agents.running(id) {
            Some(agent) => Ok(agent.status()),
            None if self.agents.is_put_away(id) => {
                Ok(idle_status(self.files().session(id)?.enabled_extensions()))
            }
            None => self.agent(id).map(|agent| agent.status()),
        }
    }

    /// How many sessions have an agent, with those that are put away, and how many active extensions these have.
    pub fn live_counts(&self) -> (usize, usize) {
        let agents = self.agents.all();
        let statuses = agents.iter().flat_map(|agent| agent.status());
        let active = statuses.filter(|status| status.state == State::Active);
        (self.agents.len(), active.count())
    }

    /// Runs a turn: appends the user's message and lets the model answer; returns when the turn is over. Errors become
    /// events, and the last event is [`Event::Finish`] or [`Event::Error`], also if `cancel` ended the turn.
    ///
    /// # Errors
    /// Why the turn ended early; the last event tells it, too. [`Error::Cancelled`] if `cancel` ended it.
    pub fn reply<'r>(
        &'r self,
        id: &str,
        input: TurnInput<'r>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        METRICS.turns.add(1);
        let _counted = self.turns.count();
        let begun = self.stores.activity.begin(Entry::new("turn", id));
        let outcome = match &begun {
            Ok(begun) => caught(format_args!("turn session={id}"), || {
                begun.within(|| self.run_turn(id, input, events, cancel))
            })
            .unwrap_or_else(|reason| Err(Error::Panicked { reason })),
            Err(reason) => Err(Error::config(reason.as_str())),
        };
        self.turn_states.release_surplus();
        let failed = (outcome.as_ref()).map_or(true, |report| report.failure.is_some());
        METRICS.failed_turns.add(u64::from(failed));
        if let Ok(begun) = begun {
            let detail = outcome.as_ref().err().map(Error::to_string);
            let how = if cancel.is_cancelled() {
                "cancelled"
            } else if failed {
                "failed"
            } else {
                "ok"
            };
            begun.end(how, &detail.unwrap_or_default(), None);
        }
        if let Err(error) = &outcome {
            let error = match error {
                Error::NoSession => format!("Failed to read session: {error}"),
                error => error.to_string(),
            };
            events.event(Event::Error { error: &error });
        }
        events.flush();
        outcome
    }

    fn run_turn<'r>(
        &'r self,
        id: &str,
        mut input: TurnInput<'r>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let (session, agent) = self.activate(id)?;
        let start = TurnStart {
            stores: &self.stores,
            models: self.models(),
            turn_states: &self.turn_states,
            turns: &self.turns,
            observers: &self.observers,
            agent: &agent,
        };
        let make_recipe = input.recipe.take();
        let make_recipe = make_recipe
            .unwrap_or_else(|| Box::new(|session| session_recipes::for_turn(session, self)));
        start.run(&session, input, make_recipe, events, cancel)
    }

    /// From now on no turn begins, but those of helpers in running ones. Returns how many run. Requests for others may
    /// `wait` before they are refused; the first one counts.
    pub fn drain(&self, wait: fn()) -> usize {
        self.turns.drain(wait)
    }

    /// Whether [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.turns.is_draining()
    }

    /// Whether a turn with this message of the user may begin. Answers to a running one always may be given.
    ///
    /// # Errors
    /// [`Error::Busy`] after [`drain`](Self::drain).
    pub fn check_open(&self, user: &Message) -> Result<(), Error> {
        if is_elicitation_response(user) || user.tool_responses().next().is_some() {
            return Ok(());
        }
        self.turns.wait();
        self.turns.check()
    }

    /// Ends all agents in parallel, and prevents new ones.
    pub fn close(&self) {
        let agents = self.agents.shut_down();
        if let Some(housekeeper) = lock(&self.housekeeper).take() {
            housekeeper.stop();
        }
        share(agents.len(), agents.len(), "stop", &|n| agents[n].close());
        self.observers.tell(|it| it.closed());
    }

    /// The session and its agent; starts the agent if it does not run.
    pub(in crate::agent) fn activate(&self, id: &str) -> Result<(Session, Arc<Agent>), Error> {
        self.agent_for_stored(id, IfRunning::Keep)
    }

    /// The agent of a session, which is made again if it was put away.
    ///
    /// # Errors
    /// When there is no such session, or its agent is ending.
    pub fn active_agent(&self, id: &str) -> Result<Arc<Agent>, Error> {
        self.activate(id).map(|(_, agent)| agent)
    }

    pub(in crate::agent) fn live_agent(&self, id: &str) -> Option<Arc<Agent>> {
        self.agents.get(id)
    }

    /// The stored session and an agent that matches it. No lock is held while the session is read, so it is
    /// read again once the agent is in the table, where later changes find it.
    pub(in crate::agent) fn agent_for_stored(
        &self,
        id: &str,
        mut if_running: IfRunning,
    ) -> Result<(Session, Arc<Agent>), Error> {
        let mut session = self.files().session(id)?;
        loop {
            let (agent, new) = self.keep_or_start(&session, if_running)?;
            if !new {
                return Ok((session, agent));
            }
            let now = self.files().session(id).inspect_err(|_| self.stop(id))?;
            if now.working_dir == session.working_dir
                && now.enabled_extensions() == session.enabled_extensions()
                && now.extension_data.container() == session.extension_data.container()
            {
                return Ok((now, agent));
            }
            session = now;
            if_running = IfRunning::Replace;
        }
    }

    /// The session's agent, and whether it is new: the running one, if it is kept, else a new one, which ends
    /// the running one first.
    fn keep_or_start(
        &self,
        session: &Session,
        if_running: IfRunning,
    ) -> Result<(Arc<Agent>, bool), Error> {
        if let (IfRunning::Keep | IfRunning::KeepStarted, Some(agent)) =
            (if_running, self.agents.running(&session.id))
        {
            agent.mark_used();
            return Ok((agent, false));
        }
        let (agent, new) =
            (self.agents).get_or_insert(&session.id, if_running, self.agent_maker(session))?;
        if new {
            self.ensure_housekeeper()
        } else {
            agent.mark_used()
        }
        Ok((agent, new))
    }

    /// Makes the session's agent. What it needs is read now, before the table of agents is locked.
    fn agent_maker(
        &self,
        session: &Session,
    ) -> impl FnOnce(Option<Arc<Agent>>, bool) -> Result<Arc<Agent>, Error> {
        let Stores { config, paths, .. } = &self.stores;
        let workspace = Arc::new(WorkspaceSlot::default());
        let data = StoredSessionData {
            sessions: self.stores.sessions.clone(),
            id: session.id.clone(),
            workspace: workspace.clone(),
        };
        let setup = self.extension_setup();
        let channel = Arc::new(TurnChannel::default());
        let observers = self.observers.clone();
        let timeout = time_limit(config, &settings::ELICITATION_TIMEOUT);
        let handlers = request_handlers(&session.id, channel.clone(), observers, timeout);
        let context = Context {
            request_handlers: Some(handlers),
            containers: Containers::read(session.extension_data.container(), config),
            more_roots: session.extension_data.additional_dirs(),
            sandboxing: Sandboxing::read(config, paths, session.extension_data.sandbox()),
            ..setup.context(&session.id, &session.working_dir, Arc::new(data))
        };
        let configs = session.enabled_extensions().to_vec();
        let imported = session.extension_data.imported().unwrap_or_default();
        // The model of the last turn answers sampling requests, until the next one begins.
        let had_turn = session.message_count > 0 && self.agents.is_put_away(&session.id);
        let last_model = had_turn.then(|| self.models().of(session).ok()).flatten();
        move |before, was_put_away| {
            let extensions = if was_put_away {
                InitialExtensions::Suspended(configs)
            } else {
                InitialExtensions::New(configs)
            };
            let agent = Agent::start(
                context,
                extensions,
                imported,
                workspace,
                before,
                channel,
                &self.cancel,
            )?;
            if let Some(model) = last_model.filter(|_| was_put_away) {
                let mode = Mode::of_session(session, &self.stores);
                agent.channel.begin_turn(&model, mode, true);
            }
            Ok(agent)
        }
    }

    /// Starts the housekeeper, if it does not run. If it cannot start, idle sessions keep their servers.
    fn ensure_housekeeper(&self) {
        let mut housekeeper = lock(&self.housekeeper);
        if housekeeper.is_none() && !self.cancel.is_cancelled() {
            let config = self.stores.config.clone();
            let idle_limit = move || {
                let limit = TimeLimit::from_secs(settings::SESSION_IDLE_SECS.count(&config)).get();
                (!limit.is_zero()).then_some(limit)
            };
            let observers = self.observers.clone();
            match Housekeeper::start(self.agents.clone(), observers, idle_limit) {
                Ok(started) => *housekeeper = Some(started),
                Err(error) => log::warn!("housekeeper thread not started reason={error}"),
            }
        }
    }
}

/// Checks the folders that a session works in besides its working directory.
pub(in crate::agent) fn check_dirs(dirs: &[PathBuf]) -> Result<(), Error> {
    if dirs.len() > MAX_DIRS {
        return Err(Error::config(format!(
            "a session has at most {MAX_DIRS} folders besides its working directory"
        )));
    }
    match (dirs.iter()).find(|dir| !(dir.is_absolute() && dir.is_dir())) {
        Some(path) => Err(Error::WorkingDir { path: path.clone() }),
        None => Ok(()),
    }
}

pub(in crate::agent) fn check_dir(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        Ok(())
    } else {
        Err(Error::WorkingDir {
            path: path.to_owned(),
        })
    }
}
