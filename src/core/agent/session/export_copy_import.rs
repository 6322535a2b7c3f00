//! What is done with stored sessions alone, whether their agents run or not: read, export, copy, import.

use crate::agent::questions::permission_mode::Mode;
use crate::agent::session::import_notice::notice;
use crate::agent::session::session_extensions::{MAX_EXTENSIONS, import_extensions};
use crate::agent::session::session_recipes;
use crate::agent::{Error, Stores};
use crate::conversation::{Export, ImportReport, Message, Session};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::Root;
use crate::store::JournalEntry;
use crate::text::printable;
use serde::Serialize;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::env;
use std::path::{self, Path, PathBuf};

/// The stored sessions.
#[derive(Clone, Copy)]
pub struct SessionFiles<'s> {
    pub(in crate::agent) stores: &'s Stores,
}

/// A session as it is exported.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ExportedSession {
    /// The session with its messages.
    #[serde(flatten)]
    pub session: Session,
    /// The parts of its conversation that this version does not understand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable_messages: Vec<RawJson>,
}

impl SessionFiles<'_> {
    /// The session as it is stored, without its messages.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn session(self, id: &str) -> Result<Session, Error> {
        self.stores.sessions.load(id)?.ok_or(Error::NoSession)
    }

    /// The session with its stored messages.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn session_with_messages(self, id: &str) -> Result<Session, Error> {
        let mut session = self.session(id)?;
        let messages = self.stores.sessions.conversation(id)?;
        let messages = messages.ok_or(Error::NoSession)?;
        session.message_count = messages.len();
        session.conversation = Some(messages);
        Ok(session)
    }

    /// The session with its conversation, for [`import`](Self::import): parts that are not messages are in a field of
    /// their own.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub fn export(self, id: &str) -> Result<ExportedSession, Error> {
        let mut session = self.session(id)?;
        self.stores.record_session(id, "exported")?;
        let entries = self.stores.sessions.entries_of(id)?;
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

    /// Stores the values for the parameters of the session's recipe. Returns the rendered recipe, or the
    /// unrendered one while values are missing.
    ///
    /// # Errors
    /// When there is no such session, it has no recipe, or a value does not fit. Nothing is stored then.
    pub fn set_recipe_values(self, id: &str, values: Map<String, Value>) -> Result<Value, Error> {
        let mut session = self.session(id)?;
        session.user_recipe_values = Some(values.clone());
        let Some(recipe) = session_recipes::apply(&session)? else {
            return Err(Error::config("the session was not started from a recipe"));
        };
        let keep = |session: &mut Session| session.user_recipe_values = Some(values);
        self.stores.sessions.update(id, keep)?;
        Ok(recipe)
    }

    /// Copies the session, also during a turn, whose messages so far the copy has; returns the id of the copy. The
    /// first message of the time `until` (Unix time in seconds) or later, and all after it, are left out.
    ///
    /// # Errors
    /// When there is no such session, or the copy cannot be stored.
    pub fn copy(self, id: &str, until: Option<i64>) -> Result<String, Error> {
        let sessions = &self.stores.sessions;
        let session = self.session(id)?;
        let mut entries = sessions.entries_of(id)?.ok_or(Error::NoSession)?;
        let mut copy = Session {
            session_type: Default::default(),
            schedule_id: None,
            // The copy has cost nothing.
            accumulated_total_tokens: None,
            accumulated_input_tokens: None,
            accumulated_output_tokens: None,
            accumulated_cost: None,
            archived_at: None,
            ..session
        };
        // Whoever opens the copy says which folders it may have.
        copy.extension_data.set_additional_dirs(&[]);
        if let Some(count) = entries_before(&entries, until) {
            entries.truncate(count);
            // The counts cover the messages that are left out.
            copy.total_tokens = None;
            copy.input_tokens = None;
            copy.output_tokens = None;
            copy.counted_messages = None;
        }
        self.stores.record_session(id, "copied")?;
        Ok(sessions.add(copy, entries)?.id)
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
    pub fn import(self, text: &str) -> Result<Session, Error> {
        let Export {
            mut session,
            mut messages,
            left_out,
        } = Session::from_export(text).map_err(Error::config)?;
        session.working_dir = absolute_or_home(session.working_dir)?;
        let mut imported = ImportReport {
            from: "an imported session".to_owned(),
            left_out,
            ..ImportReport::default()
        };
        // Windows would sign in there, as whoever exported the session wants it.
        let is_elsewhere = |root: Root| !root.uri.starts_with("file:///");
        if Root::of(&session.working_dir).is_some_and(is_elsewhere) {
            let elsewhere = "the working directory on another machine";
            imported.left_out.push(elsewhere.to_owned());
            session.working_dir = absolute_or_home(PathBuf::new())?;
        }
        session.extension_data.set_additional_dirs(&[]);
        keep_valid_recipe(&mut session, &mut imported);
        self.keep_stricter_mode(&mut session, &mut imported);
        let wanted = session.enabled_extensions();
        let (wanted, more) = wanted.split_at(wanted.len().min(MAX_EXTENSIONS));
        if !more.is_empty() {
            let more = format!("the extensions after the first {}", wanted.len());
            imported.left_out.push(more);
        }
        let extensions = import_extensions(&self.stores.config, wanted, Vec::new(), &mut imported)?;
        session.set_enabled_extensions(extensions);
        imported.told = !imported.is_empty();
        session.extension_data.set_imported(&imported);
        if !imported.is_empty() {
            messages.push(notice(&imported));
        }
        let entries = messages.into_iter().map(JournalEntry::from).collect();
        let made = self.stores.sessions.add(session, entries)?;
        if let Err(error) = self.stores.record_session(&made.id, "imported") {
            let _ = self.stores.sessions.delete(&made.id);
            return Err(error);
        }
        self.session_with_messages(&made.id)
    }

    fn keep_stricter_mode(self, session: &mut Session, imported: &mut ImportReport) {
        let Some(mode) = session.goose_mode.take() else {
            return;
        };
        let mode = Mode::named(&mode);
        match mode.cmp(&Mode::of_session(session, self.stores)) {
            Ordering::Greater => session.goose_mode = Some(mode.as_str().to_owned()),
            Ordering::Equal => {}
            Ordering::Less => imported
                .left_out
                .push(format!("the mode {}", mode.as_str())),
        }
    }
}

fn keep_valid_recipe(session: &mut Session, imported: &mut ImportReport) {
    let Some(recipe) = &session.recipe else {
        return;
    };
    if let Err(error) = session_recipes::of_program().and_then(|it| it.check_imported(recipe)) {
        let reason = printable(&error.to_string(), 500);
        imported.left_out.push(format!("the recipe: {reason}"));
        session.recipe = None;
    }
}

/// How many entries precede the first message of the time `until` or later; `None` if there is no such message.
pub(in crate::agent) fn entries_before(
    entries: &[JournalEntry],
    until: Option<i64>,
) -> Option<usize> {
    let is_late = |message: &Message| until.is_some_and(|until| message.created >= until);
    (entries.iter()).position(|entry| entry.message().is_some_and(is_late))
}

/// The working directory of a session, or the home directory if the client names none. A relative path would change
/// its meaning when the server starts elsewhere.
///
/// # Errors
/// When the user has no home directory.
pub(in crate::agent) fn absolute_or_home(working_dir: PathBuf) -> Result<PathBuf, Error> {
    const NO_HOME: &str = "`working_dir` is empty, and HOME names no usable one; name a directory";
    let is_named = !working_dir.as_os_str().is_empty();
    let dir = is_named.then_some(working_dir).or_else(env::home_dir);
    Ok(absolute(&dir.ok_or_else(|| Error::config(NO_HOME))?))
}

/// The absolute path, or the given one if the current directory is gone.
pub(in crate::agent) fn absolute(dir: &Path) -> PathBuf {
    path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}
