//! Operations on stored sessions that a running agent has to notice: rename, set a container, set recipe
//! values, fork, import.

use crate::agent::questions::permission_mode::Mode;
use crate::agent::registry::home_dir;
use crate::agent::session::import_notice::notice;
use crate::agent::session::session_agent::RUNNING_TURN_TIMEOUT;
use crate::agent::session::session_recipes;
use crate::agent::{Error, Registry};
use crate::conversation::{Export, ImportReport, MAX_NAME, Message, Session};
use crate::mcp::jsonrpc::RawJson;
use crate::store::JournalEntry;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use serde::Serialize;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::path;

/// The parameters of [`Registry::fork`].
#[derive(Clone, Copy, Debug)]
pub struct Fork {
    /// Whether to copy the session instead of truncating it.
    pub copy: bool,
    /// Unix time in seconds. The first message of this time or later, and all after it, are left out.
    pub until: Option<i64>,
}

/// A session as it is exported.
#[derive(Debug, Serialize)]
pub struct ExportedSession {
    /// The session with its messages.
    #[serde(flatten)]
    pub session: Session,
    /// The parts of its conversation that this version does not understand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable_messages: Vec<RawJson>,
}

impl Registry {
    /// The session with its stored messages.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn session_with_messages(&self, id: &str) -> Result<Session, Error> {
        let mut session = self.session(id)?;
        let messages = self
            .stores()
            .sessions
            .conversation(id)?
            .ok_or(Error::NoSession)?;
        session.message_count = messages.len();
        session.conversation = Some(messages);
        Ok(session)
    }

    /// The session with its conversation, for [`import`](Self::import): parts that are not messages are in a field of
    /// their own.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn export(&self, id: &str) -> Result<ExportedSession, Error> {
        let mut session = self.session(id)?;
        let entries = self.stores().sessions.entries_of(id)?;
        let (mut messages, mut unreadable_messages) = (Vec::new(), Vec::new());
        for entry in entries.ok_or(Error::NoSession)? {
            match entry {
                JournalEntry::Message(message) => messages.push(*message),
                JournalEntry::Unreadable(json) => unreadable_messages.push(json),
            }
        }
        session.message_count = messages.len();
        session.conversation = Some(messages);
        Ok(ExportedSession {
            session,
            unreadable_messages,
        })
    }

    /// Sets the name of the session. A model never replaces it.
    ///
    /// # Errors
    /// When there is no such session, or the name is empty or longer than [`MAX_NAME`].
    pub fn rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let name = name.trim();
        if name.is_empty() {
            return Err(invalid("a session's name must not be empty"));
        }
        if name.chars().count() > MAX_NAME {
            return Err(invalid(format!(
                "a session's name has at most {MAX_NAME} characters"
            )));
        }
        self.stores().sessions.update(id, |session| {
            session.name = name.to_owned();
            session.user_set_name = true;
        })?;
        self.name_observers.named(id, name);
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
            self.containers(None).check_name(name).map_err(invalid)?;
        }
        let change = |session: &mut Session| session.extension_data.set_container(container);
        self.session(id)?;
        self.stores().sessions.update(id, change)?;
        // An agent that starts now reads the stored container.
        match self.live_agent(id).filter(|agent| !agent.is_ending()) {
            Some(agent) if agent.extensions.container() != container => {
                self.restart(id, cancel).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Stores the values for the parameters of the session's recipe. Returns the rendered recipe, or the
    /// unrendered one while values are missing.
    ///
    /// # Errors
    /// When there is no such session, it has no recipe, or a value does not fit. Nothing is stored then.
    pub fn set_recipe_values(&self, id: &str, values: Map<String, Value>) -> Result<Value, Error> {
        let mut session = self.session(id)?;
        session.user_recipe_values = Some(values.clone());
        let Some(recipe) = session_recipes::apply(&session)? else {
            return Err(invalid("the session was not started from a recipe"));
        };
        let keep = |session: &mut Session| session.user_recipe_values = Some(values);
        self.stores().sessions.update(id, keep)?;
        Ok(recipe)
    }

    /// Copies or truncates the session; returns the id of the result.
    ///
    /// A session can be copied during a turn; the copy has the messages so far. It can be truncated only when
    /// no turn is running, in this process or another; a running agent notices it before it appends the next
    /// message.
    ///
    /// # Errors
    /// When there is no such session, a turn is running, or the copy cannot be stored.
    pub fn fork(&self, id: &str, fork: Fork) -> Result<String, Error> {
        let sessions = &self.stores().sessions;
        if fork.copy {
            let session = self.session(id)?;
            let mut entries = sessions.entries_of(id)?.ok_or(Error::NoSession)?;
            let mut copy = Session {
                session_type: Default::default(),
                schedule_id: None,
                // The copy has cost nothing.
                accumulated_total_tokens: None,
                accumulated_input_tokens: None,
                accumulated_output_tokens: None,
                ..session
            };
            if let Some(count) = entries_before(&entries, fork.until) {
                entries.truncate(count);
                // The counts cover the messages that are left out.
                copy.total_tokens = None;
                copy.input_tokens = None;
                copy.output_tokens = None;
                copy.counted_messages = None;
            }
            return Ok(sessions.add(copy, entries)?.id);
        }
        let agent = self.live_agent(id);
        let _working = match &agent {
            Some(agent) => Some(agent.begin_turn(self.cancel())?),
            None => None,
        };
        let _lock = sessions.lock_turn(id, RUNNING_TURN_TIMEOUT)?;
        let mut journal = sessions.journal(id)?;
        let mut entries = sessions.entries_of(id)?.ok_or(Error::NoSession)?;
        if let Some(count) = entries_before(&entries, fork.until) {
            entries.truncate(count);
            journal.replace_with_entries(entries)?;
            // The counts cover the messages that are left out.
            sessions.end_turn(&mut journal, |session| session.counted_messages = Some(0))?;
        }
        Ok(id.to_owned())
    }

    /// Creates a session from an export, with its messages (see [`Session::from_export`]).
    ///
    /// An import runs nothing by itself: its extensions are active only if the user has configured equal ones,
    /// and its recipe is kept only if it is valid ([`check_imported`](crate::agent::recipes::Recipes::check_imported)). The
    /// session stores what was left out ([`ImportReport`]), and its last message tells the user. Its mode is kept only
    /// if it is stricter than the user's.
    ///
    /// # Errors
    /// When the text is not an exported session, the configuration cannot be read, or the session cannot be
    /// stored.
    pub fn import(&self, text: &str) -> Result<Session, Error> {
        let Export {
            mut session,
            mut messages,
            left_out,
        } = Session::from_export(text).map_err(invalid)?;
        if session.working_dir.as_os_str().is_empty() {
            session.working_dir = home_dir()?;
        }
        session.working_dir = path::absolute(&session.working_dir).unwrap_or(session.working_dir);
        let mut imported = ImportReport {
            from: "an imported session".to_owned(),
            left_out,
            ..ImportReport::default()
        };
        if let Some(recipe) = session.recipe.take() {
            match session_recipes::of_program().and_then(|it| it.check_imported(&recipe)) {
                Ok(()) => session.recipe = Some(recipe),
                Err(error) => {
                    let reason = printable(&error.to_string(), 500);
                    imported.left_out.push(format!("the recipe: {reason}"));
                }
            }
        }
        if let Some(mode) = session.goose_mode.take() {
            let mode = Mode::named(&mode);
            match mode.cmp(&self.mode_of(&session)) {
                Ordering::Greater => session.goose_mode = Some(mode.as_str().to_owned()),
                Ordering::Equal => {}
                Ordering::Less => imported
                    .left_out
                    .push(format!("the mode {}", mode.as_str())),
            }
        }
        let wanted = session.enabled_extensions();
        let (wanted, more) = wanted.split_at(
            wanted
                .len()
                .min(crate::agent::session::session_extensions::MAX_EXTENSIONS),
        );
        if !more.is_empty() {
            let more = format!("the extensions after the first {}", wanted.len());
            imported.left_out.push(more);
        }
        let extensions = self.import_extensions(wanted, Vec::new(), &mut imported)?;
        session.set_enabled_extensions(extensions);
        imported.told = !imported.is_empty();
        session.extension_data.set_imported(&imported);
        if !imported.is_empty() {
            messages.push(notice(&imported));
        }
        let entries = messages.into_iter().map(JournalEntry::from).collect();
        let made = self.stores().sessions.add(session, entries)?;
        self.session_with_messages(&made.id)
    }
}

/// How many entries precede the first message of the time `until` or later; `None` if there is no such message.
fn entries_before(entries: &[JournalEntry], until: Option<i64>) -> Option<usize> {
    let is_late = |message: &Message| until.is_some_and(|until| message.created >= until);
    (entries.iter()).position(|entry| entry.message().is_some_and(is_late))
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::Config {
        reason: reason.to_string(),
    }
}
