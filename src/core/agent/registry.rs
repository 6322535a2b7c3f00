//! The live agents of all sessions. Sessions are created, found, changed and ended here, so that the stored
//! session and its agent stay consistent.

use crate::agent::prompt::hints::Hints;
use crate::agent::prompt::prompt_templates::Prompts;
use crate::agent::recipes::SessionRecipe;
use crate::agent::session::agent_table::{AgentTable, IfRunning};
use crate::agent::session::housekeeper::Housekeeper;
use crate::agent::session::name_observers::NameObservers;
use crate::agent::session::session_agent::{InitialExtensions, idle_status};
use crate::agent::session::session_extensions::{MAX_EXTENSIONS, append};
use crate::agent::session::session_observers::SessionObservers;
use crate::agent::session::settings;
use crate::agent::session::stored_session_data::StoredSessionData;
use crate::agent::turn::turn_state_lru::TurnStateLru;
use crate::agent::{Agent, Error, ExtensionResult};
use crate::builtin::{SessionData, WorkspaceSlot};
use crate::conversation::{ImportReport, Session, SessionType};
use crate::extension::{
    self, Context, ExtensionConfig, State, Status, config, platform_extensions,
};
use crate::part::{self, Part};
use crate::provider::{self, Catalog};
use crate::store::{Config, NewSession, Paths, Permissions, Secrets, Sessions};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::sys::threads::share;
use serde_json::{Map, Value};
use std::env;
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The files that sessions need.
pub struct Stores {
    /// Their paths.
    pub paths: Arc<Paths>,
    /// Settings and the configured extensions.
    pub config: Config,
    /// Secrets, which the `env_keys` of extensions name.
    pub secrets: Arc<Secrets>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The permissions of tools.
    pub permissions: Permissions,
    /// Hint files of projects and of the user.
    pub hints: Hints,
    /// The prompts that the user has changed.
    pub prompts: Prompts,
}

impl Stores {
    /// The files in the folders of `paths`. Nothing is read or created yet.
    pub fn new(paths: &Paths) -> Self {
        Stores {
            paths: Arc::new(paths.clone()),
            config: Config::new(paths),
            secrets: Arc::new(Secrets::new(paths)),
            sessions: Arc::new(Sessions::new(paths)),
            permissions: Permissions::new(paths),
            hints: Hints::new(&paths.config),
            prompts: Prompts::new(&paths.config),
        }
    }
}

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
    catalog: Catalog,
    pub(in crate::agent) offline: bool,
    pub(in crate::agent) has_user_interfaces: bool,
    cancel: Cancel,
    agents: Arc<AgentTable<Agent>>,
    pub(in crate::agent) turn_states: TurnStateLru,
    pub(in crate::agent) session_observers: SessionObservers,
    pub(in crate::agent) name_observers: NameObservers,
    housekeeper: Mutex<Option<Housekeeper>>,
}

impl Registry {
    /// A registry without agents, in a program with these parts: all registries of a program have the same ones.
    /// `offline` forbids extensions and providers on other machines.
    pub fn new(stores: Stores, parts: &'static [&'static Part], offline: bool) -> Self {
        part::set(parts);
        let (config, secrets) = (stores.config.clone(), stores.secrets.clone());
        let cancel = Cancel::new();
        Registry {
            catalog: Catalog::new(config, secrets, offline).with(provider::in_process_providers()),
            stores,
            offline,
            has_user_interfaces: false,
            agents: Arc::new(AgentTable::new(cancel.clone())),
            cancel,
            turn_states: TurnStateLru::default(),
            session_observers: SessionObservers::default(),
            name_observers: NameObservers::default(),
            housekeeper: Mutex::default(),
        }
    }

    /// Declares to MCP servers that the clients show user interfaces (MCP Apps), unless `GOOSE_MCP_UI` is 0, or
    /// no part of the program shows them.
    pub fn with_user_interfaces(mut self) -> Self {
        self.has_user_interfaces = part::all().iter().any(|part| part.shows_user_interfaces);
        self
    }

    /// The files behind the sessions.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The catalog of providers and models.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
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
        let working_dir = if start.working_dir.as_os_str().is_empty() {
            home_dir()?
        } else {
            start.working_dir
        };
        // A relative path would change its meaning when the server starts elsewhere.
        let working_dir = path::absolute(&working_dir).unwrap_or(working_dir);
        check_dir(&working_dir)?;
        let recipe = start.recipe.as_ref();
        if let Some(recipe) = recipe {
            recipe.recipe.check_for_start()?;
        }
        let mut imported = ImportReport::default();
        let from_recipe = recipe.and_then(|it| it.recipe.extensions());
        let untrusted = recipe.and_then(|it| it.source.untrusted());
        let wanted = match (from_recipe, untrusted) {
            (Some(extensions), Some(from)) => {
                let more = start.extension_overrides.unwrap_or_default();
                imported.from = from.to_owned();
                self.import_extensions(extensions, more, &mut imported)?
            }
            (Some(extensions), None) => extensions.to_vec(),
            (None, _) => match start.extension_overrides {
                Some(extensions) => extensions,
                None => self.enabled()?,
            },
        };
        if wanted.len() > MAX_EXTENSIONS {
            let reason = format!("a session has at most {MAX_EXTENSIONS} extensions");
            return Err(Error::Config { reason });
        }
        let mut extensions = wanted
            .into_iter()
            .map(|config| ExtensionConfig::from_value(config).map(|config| config.to_value()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|reason| Error::Config { reason })?;
        let client_extensions = append(&mut extensions, start.client_extensions)?;
        let recipe_origin = recipe.and_then(|it| it.origin(&working_dir));
        let session = self.stores.sessions.create(NewSession {
            working_dir,
            extensions,
            imported,
            client_extensions,
            recipe: start.recipe.map(|it| it.recipe.into_value()),
            user_recipe_values: start.recipe_values,
            name: start.name,
            session_type: start.session_type,
            schedule_id: start.schedule_id,
            recipe_origin,
        })?;
        if let Err(error) = self.keep_or_start(&session, IfRunning::Keep) {
            let _ = self.stores.sessions.delete(&session.id);
            return Err(error);
        }
        Ok(session)
    }

    /// The extensions that the configuration enables. An invalid entry is left out and logged, so that it does
    /// not prevent sessions from starting.
    ///
    /// # Errors
    /// When `config.yaml` cannot be read.
    pub fn enabled(&self) -> Result<Vec<Value>, Error> {
        let mut enabled = Vec::new();
        let found = self.stores.config.extensions()?;
        for warning in &found.warnings {
            log::warn!("extension left out: {warning}");
        }
        for (key, mut entry) in found.entries {
            let enabled_field = entry
                .as_object_mut()
                .and_then(|e| e.shift_remove("enabled"));
            if enabled_field != Some(Value::Bool(true)) {
                continue;
            }
            match ExtensionConfig::from_value(entry) {
                Ok(config) => enabled.push(config.to_value()),
                Err(reason) => log::warn!("extension left out key={key:?} reason={reason:?}"),
            }
        }
        Ok(enabled)
    }

    /// The extensions of an import, `wanted`, that equal one that the user has configured, enabled or not, or
    /// one of `more`. The others are listed in `imported`.
    pub(in crate::agent) fn import_extensions(
        &self,
        wanted: &[Value],
        more: Vec<Value>,
        imported: &mut ImportReport,
    ) -> Result<Vec<Value>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut own = self.stores.config.extensions()?.entries;
        own.extend(platform_extensions::absent(|key| {
            own.iter().any(|(own, _)| own == key)
        }));
        let own = own.into_iter().map(|(_, mut entry)| {
            if let Some(entry) = entry.as_object_mut() {
                entry.shift_remove("enabled");
            }
            entry
        });
        let own = own.chain(more);
        let own: Vec<_> = own
            .filter_map(|entry| ExtensionConfig::from_value(entry).ok())
            .collect();
        let divided = extension::classify_imported(wanted, &own);
        imported.switched_off = divided.switched_off;
        imported.left_out.extend(divided.invalid);
        Ok(divided.active)
    }

    /// The session and, with `load`, the results of activating its extensions; starts the agent if it does
    /// not run.
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
            (self.session(id)?, None)
        };
        session.conversation = self.stores.sessions.conversation(id)?;
        self.show_model(&mut session);
        Ok((session, results))
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

    /// Changes the working directory of the session and restarts its agent.
    ///
    /// # Errors
    /// When there is no such session, or this is not a directory.
    pub fn update_working_dir(
        &self,
        id: &str,
        working_dir: &Path,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let working_dir = path::absolute(working_dir).unwrap_or_else(|_| working_dir.to_owned());
        check_dir(&working_dir)?;
        self.session(id)?;
        let change = |session: &mut Session| session.working_dir = working_dir;
        self.stores.sessions.update(id, change)?;
        self.restart(id, cancel).map(drop)
    }

    /// The session as it is stored, without its messages.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn session(&self, id: &str) -> Result<Session, Error> {
        self.stores.sessions.load(id)?.ok_or(Error::NoSession)
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
                Ok(idle_status(self.session(id)?.enabled_extensions()))
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

    /// Activates an extension in a running session and stores it with the session.
    ///
    /// # Errors
    /// When the agent does not run or the activation fails.
    pub fn add_extension(
        &self,
        id: &str,
        extension: &ExtensionConfig,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let key = extension.key();
        self.with_agent(id, |agent| {
            agent.extensions.add(extension, cancel)?;
            self.change_extensions(id, &key, |enabled| {
                let value = extension.to_value();
                match enabled.iter_mut().find(|other| has_key(other, &key)) {
                    Some(other) => *other = value,
                    None => enabled.push(value),
                }
            })
        })
    }

    /// Ends an extension of a running session and removes it from the session, if it has such an extension.
    ///
    /// # Errors
    /// When the agent does not run.
    pub fn remove_extension(&self, id: &str, name: &str) -> Result<(), Error> {
        let key = config::key(name);
        self.with_agent(id, |agent| {
            agent.extensions.remove(name);
            let forget = |enabled: &mut Vec<Value>| enabled.retain(|other| !has_key(other, &key));
            self.change_extensions(id, &key, forget)
        })
    }

    /// Changes the running agent and the stored session. Repeats the change if another agent replaced it,
    /// because that one may have read the session before the change.
    fn with_agent(
        &self,
        id: &str,
        change: impl Fn(&Agent) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let agent = self.agent(id)?;
            change(&agent)?;
            match self.live_agent(id) {
                Some(now) if !Arc::ptr_eq(&now, &agent) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Changes the enabled extensions; the one with this key no longer counts as disabled by an import.
    fn change_extensions(
        &self,
        id: &str,
        key: &str,
        change: impl FnOnce(&mut Vec<Value>),
    ) -> Result<(), Error> {
        self.stores.sessions.update(id, |session| {
            let mut enabled = session.enabled_extensions().to_vec();
            change(&mut enabled);
            session.set_enabled_extensions(enabled);
            if let Some(mut imported) = session.extension_data.imported() {
                imported
                    .switched_off
                    .retain(|off| config::key(&off.name) != key);
                session.extension_data.set_imported(&imported);
            }
        })?;
        Ok(())
    }

    /// Ends the session's agent with its turn, and deletes the stored session.
    ///
    /// # Errors
    /// When there is no such session, or another process runs a turn of it.
    pub fn delete(&self, id: &str) -> Result<(), Error> {
        self.stores.sessions.check_no_turn_in_other_process(id)?;
        // Deleted first: an agent that starts now either is stopped here, or does not find its session.
        let deleted = self.stores.sessions.delete(id)?;
        self.stop(id);
        for observer in self.session_observers.all() {
            observer.deleted(id);
        }
        if deleted {
            Ok(())
        } else {
            Err(Error::NoSession)
        }
    }

    /// Ends all agents in parallel, and prevents new ones.
    pub fn close(&self) {
        let agents = self.agents.shut_down();
        if let Some(housekeeper) = lock(&self.housekeeper).take() {
            housekeeper.stop();
        }
        share(agents.len(), agents.len(), "stop", &|n| agents[n].1.close());
        for observer in self.session_observers.all() {
            observer.closed();
        }
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
        let mut session = self.session(id)?;
        loop {
            let (agent, new) = self.keep_or_start(&session, if_running)?;
            if !new {
                return Ok((session, agent));
            }
            let now = self.session(id).inspect_err(|_| self.stop(id))?;
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
        let workspace = Arc::new(WorkspaceSlot::default());
        let sessions = self.stores.sessions.clone();
        let data = StoredSessionData::new(sessions, &session.id, workspace.clone());
        let context = Context {
            containers: self.containers(session.extension_data.container()),
            ..self.extension_context(&session.id, &session.working_dir, Arc::new(data))
        };
        let configs = session.enabled_extensions().to_vec();
        let imported = session.extension_data.imported().unwrap_or_default();
        let answer_timeout = self.elicitation_timeout();
        // The model of the last turn answers sampling requests, until the next one begins.
        let had_turn = session.message_count > 0 && self.agents.is_put_away(&session.id);
        let last_model = had_turn.then(|| self.model_of(session).ok()).flatten();
        let (agent, new) =
            self.agents
                .get_or_insert(&session.id, if_running, |before, was_put_away| {
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
                        answer_timeout,
                        &self.cancel,
                    )?;
                    if let Some(model) = last_model.filter(|_| was_put_away) {
                        let mode = self.mode_of(session);
                        agent.channel.begin_turn(&model, mode, true);
                    }
                    Ok(agent)
                })?;
        if new {
            self.ensure_housekeeper()
        } else {
            agent.mark_used()
        }
        Ok((agent, new))
    }

    /// What a session without a container provides for its extensions.
    pub fn extension_context(
        &self,
        id: &str,
        working_dir: &Path,
        data: Arc<dyn SessionData>,
    ) -> Context {
        let secrets = self.stores.secrets.clone();
        Context {
            session_id: id.to_owned(),
            working_dir: working_dir.to_owned(),
            secrets: Arc::new(move |name| match secrets.get_for_extension(name) {
                Ok(secret) => Ok(secret.map(|secret| secret.expose_text().into_owned())),
                Err(error) => Err(error.to_string()),
            }),
            paths: self.stores.paths.clone(),
            data,
            offline: self.offline,
            limits: self.bounds(),
            roots: self.roots(),
            user_interfaces: self.shows_user_interfaces(),
            log_level: self.log_level(),
            containers: self.containers(None),
            inherited: self.inherited(),
            inline_python: self.inline_python(),
            screening: self.screening(),
            pinning: self.pinning(),
            request_handler: None,
        }
    }

    /// Starts the housekeeper, if it does not run. If it cannot start, idle sessions keep their servers.
    fn ensure_housekeeper(&self) {
        let mut housekeeper = lock(&self.housekeeper);
        if housekeeper.is_none() && !self.cancel.is_cancelled() {
            let config = self.stores.config.clone();
            let idle_limit = move || settings::idle_limit(&config);
            let observers = self.session_observers.clone();
            match Housekeeper::start(self.agents.clone(), observers, idle_limit) {
                Ok(started) => *housekeeper = Some(started),
                Err(error) => log::warn!("housekeeper thread not started reason={error}"),
            }
        }
    }
}

/// The working directory of a session for which the client names none.
///
/// # Errors
/// When the user has no home directory.
pub(in crate::agent) fn home_dir() -> Result<PathBuf, Error> {
    env::home_dir().ok_or_else(|| Error::Config {
        reason: "`working_dir` is empty, and HOME names no directory that could be used; name a working directory"
            .to_owned(),
    })
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

fn has_key(config: &Value, key: &str) -> bool {
    config["name"]
        .as_str()
        .is_some_and(|name| config::key(name) == key)
}
