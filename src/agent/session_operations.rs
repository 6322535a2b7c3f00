//! Changes to stored sessions that a running agent must not miss: names, copies, recipe values.

use super::session_agent::MOMENT;
use super::turn_output::random_id;
use super::{Error, Registry};
use crate::conversation::{Export, ImportReport, MAX_NAME, Message, Metadata, Role, Session};
use crate::extension::Container;
use crate::recipe::{self, Recipe};
use crate::sys::cancel::Cancel;
use crate::text::printable;
use serde_json::{Map, Value};
use std::env;
use std::path::{self, PathBuf};

/// What a fork is to be.
#[derive(Clone, Copy, Debug)]
pub struct Fork {
    /// Another session, rather than this one changed.
    pub copy: bool,
    /// The messages of this Unix time in seconds and all after them are left out.
    pub until: Option<i64>,
}

impl Registry {
    /// The session with its messages, as far as they are stored.
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

    /// Gives the session a name that is never replaced by one that a model finds.
    ///
    /// # Errors
    /// When there is no such session, or the name is empty or longer than [`MAX_NAME`].
    pub fn rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let name = name.trim();
        if name.is_empty() {
            return Err(refused("a session's name must not be empty"));
        }
        if name.chars().count() > MAX_NAME {
            return Err(refused(format!(
                "a session's name has at most {MAX_NAME} characters"
            )));
        }
        self.stores().sessions.update(id, |session| {
            session.name = name.to_owned();
            session.user_set_name = true;
        })?;
        Ok(())
    }

    /// Has the session's extensions run in a container, or outside again, from now on: its agent starts
    /// anew, so that none is left in the other place, as after a change of the working directory. An agent
    /// that does not run is not started, and one that works there already goes on.
    ///
    /// # Errors
    /// When there is no such session, or this can be no container's name or id.
    pub fn set_container(
        &self,
        id: &str,
        container: Option<&str>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let container = container.map(Container::named);
        let container = container.transpose().map_err(refused)?;
        let container = container.as_ref().map(Container::as_str);
        let change = |session: &mut Session| session.extension_data.set_container(container);
        self.session(id)?;
        self.stores().sessions.update(id, change)?;
        // One that starts meanwhile sees what is stored.
        match self.live(id).filter(|agent| !agent.is_ending()) {
            Some(agent) if agent.extensions.container() != container => {
                self.restart(id, cancel).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Stores the values for the parameters of the session's recipe, and gives the recipe with them
    /// filled in, or as it is while some are missing.
    ///
    /// # Errors
    /// When there is no such session, it has no recipe, or a value does not fit; none is stored then.
    pub fn set_recipe_values(&self, id: &str, values: Map<String, Value>) -> Result<Value, Error> {
        let mut session = self.session(id)?;
        session.user_recipe_values = Some(values.clone());
        let Some(recipe) = recipe::apply(&session)? else {
            return Err(refused("the session was not started from a recipe"));
        };
        let keep = |session: &mut Session| session.user_recipe_values = Some(values);
        self.stores().sessions.update(id, keep)?;
        Ok(recipe)
    }

    /// Copies the session, or cuts it short, and gives the id of the session that came of it.
    ///
    /// A copy has the messages so far, also of a session at work. Only a session that is not at work,
    /// here or in another process, can be cut short; a running agent sees that it was before it appends
    /// the next message.
    ///
    /// # Errors
    /// When there is no such session, it is at work, or the copy cannot be stored.
    pub fn fork(&self, id: &str, fork: Fork) -> Result<String, Error> {
        let sessions = &self.stores().sessions;
        if fork.copy {
            let session = self.session(id)?;
            let mut messages = sessions.conversation(id)?.ok_or(Error::NoSession)?;
            let mut copy = Session {
                session_type: Default::default(),
                schedule_id: None,
                // What was spent was spent once.
                accumulated_total_tokens: None,
                accumulated_input_tokens: None,
                accumulated_output_tokens: None,
                ..session
            };
            if let Some(kept) = kept(messages.iter(), fork.until) {
                messages.truncate(kept);
                // They were counted with what is left out.
                (copy.total_tokens, copy.input_tokens, copy.output_tokens) = (None, None, None);
                copy.counted_messages = None;
            }
            return Ok(sessions.add(copy, messages)?.id);
        }
        let agent = self.live(id);
        let _working = match &agent {
            Some(agent) => Some(agent.begin(self.cancel())?),
            None => None,
        };
        let _lock = sessions.lock_turn(id, MOMENT)?;
        let mut journal = sessions.journal(id)?;
        let all = journal.messages();
        if let Some(kept) = kept(all.iter().map(AsRef::as_ref), fork.until) {
            let messages = all[..kept].iter().map(|message| (**message).clone());
            journal.replace(messages.collect())?;
            // The tokens were counted with what is left out.
            sessions.end_turn(&mut journal, |session| session.counted_messages = Some(0))?;
        }
        Ok(id.to_owned())
    }

    /// Makes a session of what [`Session::from_export`] reads, with its messages.
    ///
    /// What comes from outside runs nothing: its extensions are active only if the user has configured
    /// ones that do the same, and its recipe is there only if it passes [`Recipe::check`]. What was not
    /// taken over is kept with the session ([`ImportReport`]), and a last message tells the user.
    ///
    /// # Errors
    /// When the text is no exported session, the configuration cannot be read, or the session cannot be
    /// stored.
    pub fn import(&self, text: &str) -> Result<Session, Error> {
        let Export {
            mut session,
            mut messages,
            left_out,
        } = Session::from_export(text).map_err(refused)?;
        if session.working_dir.as_os_str().is_empty() {
            session.working_dir = env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        }
        session.working_dir = path::absolute(&session.working_dir).unwrap_or(session.working_dir);
        let mut imported = ImportReport {
            from: "an imported session".to_owned(),
            left_out,
            ..ImportReport::default()
        };
        if let Some(recipe) = session.recipe.take() {
            match check(&recipe) {
                Ok(()) => session.recipe = Some(recipe),
                Err(error) => {
                    let reason = printable(&error.to_string(), 500);
                    imported.left_out.push(format!("the recipe: {reason}"));
                }
            }
        }
        let wanted = session.enabled_extensions();
        let (wanted, more) = wanted.split_at(wanted.len().min(super::registry::MAX_EXTENSIONS));
        if !more.is_empty() {
            let more = format!("the extensions after the first {}", wanted.len());
            imported.left_out.push(more);
        }
        let extensions = self.take_over(wanted, Vec::new(), &mut imported)?;
        session.set_enabled_extensions(extensions);
        imported.told = !imported.is_empty();
        session.extension_data.set_imported(&imported);
        if !imported.is_empty() {
            messages.push(notice(&imported));
        }
        let made = self.stores().sessions.add(session, messages)?;
        self.session_with_messages(&made.id)
    }
}

fn check(recipe: &Value) -> Result<(), recipe::Error> {
    let given = recipe.as_object().cloned().unwrap_or_default();
    Recipe::from_object(given)?.check()
}

/// What was not taken over of an import, as a message to the user.
pub(super) fn notice(imported: &ImportReport) -> Message {
    Message::text(Role::Assistant, imported.notice())
        .with_id(random_id("msg_"))
        .seen_by(Metadata::USER_ONLY)
}

/// How many messages come before the moment `until`; `None` if all do.
fn kept<'a>(mut messages: impl Iterator<Item = &'a Message>, until: Option<i64>) -> Option<usize> {
    let until = until?;
    messages.position(|message| message.created >= until)
}

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::Config {
        reason: reason.to_string(),
    }
}
