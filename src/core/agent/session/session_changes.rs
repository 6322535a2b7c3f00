//! Changes of stored sessions that a running agent has to notice.

use crate::activity::Entry;
use crate::agent::questions::permission_mode::Mode;
use crate::agent::registry::{check_dir, check_dirs};
use crate::agent::session::agent_table::IfRunning;
use crate::agent::session::export_copy_import::{absolute, entries_before};
use crate::agent::session::session_agent::{Agent, RUNNING_TURN_TIMEOUT};
use crate::agent::session::session_extensions::append;
use crate::agent::turn::model_history;
use crate::agent::turn::turn_output::random_id;
use crate::agent::{Error, Registry};
use crate::conversation::{DisabledExtension, MAX_NAME, Message, Role, Session};
use crate::extension::{Containers, ExtensionConfig, config};
use crate::sys::cancel::Cancel;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Registry {
    /// Opens a stored session for a client, in the client's working directory and the folders `more`, and with its
    /// extensions beside the session's own ones; they replace those that a client brought along before. Starts the
    /// agent if it does not run, and replaces it if one of these has changed; does not wait for the extensions.
    ///
    /// # Errors
    /// When there is no such session, the path is not a directory, the session would have too many extensions,
    /// or something would change while a turn is running.
    pub fn open(
        &self,
        id: &str,
        working_dir: &Path,
        more: &[PathBuf],
        client: Vec<ExtensionConfig>,
    ) -> Result<Session, Error> {
        check_dir(working_dir)?;
        check_dirs(more)?;
        let session = self.files().session(id)?;
        let earlier = session.extension_data.client_extensions();
        let is_own = |extension: &&Value| {
            let name = extension["name"].as_str().unwrap_or_default();
            earlier.iter().all(|earlier| earlier != name)
        };
        let own = session.enabled_extensions().iter().filter(is_own);
        let mut extensions: Vec<Value> = own.cloned().collect();
        let names = append(&mut extensions, client)?;
        if session.working_dir == working_dir
            && session.enabled_extensions() == extensions
            && session.extension_data.additional_dirs() == more
        {
            return Ok(self.activate(id)?.0);
        }
        // A turn that is running in this process or another keeps what it has.
        let agent = self.live_agent(id);
        let no_cancel = Cancel::new();
        let turn_guard = (agent.as_ref().map(|it| it.begin_turn(&no_cancel))).transpose()?;
        self.stores().sessions.check_no_turn_in_other_process(id)?;
        self.stores().sessions.update(id, |session| {
            session.working_dir = working_dir.to_owned();
            session.set_enabled_extensions(extensions);
            session.extension_data.set_client_extensions(&names);
            session.extension_data.set_additional_dirs(more);
        })?;
        drop(turn_guard);
        Ok(self.agent_for_stored(id, IfRunning::Replace)?.0)
    }

    /// Sets the name of the session. A model never replaces it.
    ///
    /// # Errors
    /// When there is no such session, or the name is empty or longer than [`MAX_NAME`].
    pub fn rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::config("a session's name must not be empty"));
        }
        if name.chars().count() > MAX_NAME {
            return Err(Error::config(format!(
                "a session's name has at most {MAX_NAME} characters"
            )));
        }
        self.stores().sessions.update(id, |session| {
            session.name = name.to_owned();
            session.user_set_name = true;
        })?;
        self.observers.tell(|it| it.named(id, name));
        Ok(())
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
        let working_dir = absolute(working_dir);
        check_dir(&working_dir)?;
        self.files().session(id)?;
        let change = |session: &mut Session| session.working_dir = working_dir;
        self.stores().sessions.update(id, change)?;
        self.restart(id, cancel).map(drop)
    }

    /// Sets the mode of a session. A running turn follows it from its next tool calls on.
    ///
    /// # Errors
    /// When there is no such session, or it cannot be written.
    pub fn set_mode(&self, id: &str, mode: Mode) -> Result<(), Error> {
        self.files().session(id)?;
        self.stores().activity.record(&Entry {
            subject: "goose_mode",
            arguments: format!("{:?}", mode.as_str()).as_bytes(),
            outcome: "set",
            ..Entry::new("setting", id)
        })?;
        self.stores().sessions.update(id, |session| {
            session.goose_mode = Some(mode.as_str().to_owned());
        })?;
        if let Some(agent) = self.live_agent(id) {
            agent.channel.set_mode(mode);
        }
        Ok(())
    }

    /// Sets the container in which the session's extensions run; `None` runs them on the host. A running agent
    /// is restarted, unless it uses this container already. An agent that does not run is not started.
    ///
    /// # Errors
    /// When there is no such session, or the name or id of the container is not valid.
    pub fn set_container(
        &self,
        id: &str,
        container: Option<&str>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if let Some(name) = container {
            let containers = Containers::read(None, &self.stores().config);
            containers.check_name(name).map_err(Error::config)?;
        }
        let change = |session: &mut Session| session.extension_data.set_container(container);
        self.files().session(id)?;
        self.stores().sessions.update(id, change)?;
        // An agent that starts now reads the stored container.
        match self.live_agent(id).filter(|agent| !agent.is_ending()) {
            Some(agent) if agent.extensions.container() != container => {
                self.restart(id, cancel).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Removes the first message of the time `until` (Unix time in seconds) or later, and all after it, when no turn is
    /// running, in this process or another. A running agent notices it before it appends the next message.
    ///
    /// # Errors
    /// When there is no such session, a turn is running, or the messages cannot be stored.
    pub fn truncate(&self, id: &str, until: Option<i64>) -> Result<(), Error> {
        let sessions = &self.stores().sessions;
        let agent = self.live_agent(id);
        let _working = (agent.as_ref().map(|it| it.begin_turn(self.cancel()))).transpose()?;
        let _lock = sessions.lock_turn(id, RUNNING_TURN_TIMEOUT)?;
        let mut journal = sessions.journal(id)?;
        let mut entries = sessions.entries_of(id)?.ok_or(Error::NoSession)?;
        if let Some(count) = entries_before(&entries, until) {
            entries.truncate(count);
            journal.replace(entries)?;
            // The counts cover the messages that are left out.
            sessions.end_turn(&mut journal, |session| session.counted_messages = Some(0))?;
        }
        Ok(())
    }

    /// Adds a message of the user to the turn that runs. It is stored at once, and reaches the model with the next
    /// request of the turn, or begins another one in it; what a cancelled turn leaves waits for the next turn. Returns
    /// the id of the message.
    ///
    /// # Errors
    /// [`Error::NoTurn`] when no turn of the session asks a model in this process, [`Error::Config`] when there is
    /// nothing for the model in the message, and when it cannot be stored.
    pub fn steer(&self, id: &str, mut message: Message) -> Result<String, Error> {
        self.files().session(id)?;
        message.metadata.steer = true;
        if message.role != Role::User || model_history::shown(&message).is_none() {
            return Err(Error::config("the message has nothing for the model"));
        }
        let id_of_message = message.id.clone();
        let id_of_message = id_of_message.unwrap_or_else(|| random_id("steer_"));
        message.id = Some(id_of_message.clone());
        let sessions = &self.stores().sessions;
        let store = || Ok(sessions.journal(id)?.append_waiting(message)?);
        let agent = self.live_agent(id).ok_or(Error::NoTurn)?;
        let stored = agent.channel.steering.add(store)?;
        stored.map(|()| id_of_message).ok_or(Error::NoTurn)
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
        self.stores().sessions.update(id, |session| {
            let mut enabled = session.enabled_extensions().to_vec();
            change(&mut enabled);
            session.set_enabled_extensions(enabled);
            if let Some(mut imported) = session.extension_data.imported() {
                let is_other = |off: &DisabledExtension| config::key(&off.name) != key;
                imported.switched_off.retain(is_other);
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
        self.stores().sessions.check_no_turn_in_other_process(id)?;
        if !matches!(self.stores().sessions.load(id), Ok(None)) {
            self.stores().record_session(id, "deleted")?;
        }
        // First, as Windows does not rename a folder below which a file is open.
        self.stop(id);
        let deleted = self.stores().sessions.delete(id)?;
        // An agent that has started since; a later one does not find its session.
        self.stop(id);
        self.observers.tell(|it| it.deleted(id));
        deleted.then_some(()).ok_or(Error::NoSession)
    }
}

fn has_key(config: &Value, key: &str) -> bool {
    config["name"]
        .as_str()
        .is_some_and(|name| config::key(name) == key)
}
