//! `session/new`, `load`, `resume`, `list`, `close` and `delete`.

use super::{ConnectionState, TurnUpdates};
use crate::agent::command_list::{self, CommandType};
use crate::agent::{self, Start, checklist};
use crate::conversation::{Session, TokenState};
use crate::error_objects::{error_object, invalid_params};
use crate::extension::State;
use crate::extension::sandbox::Level;
use crate::mcp::jsonrpc::ErrorObject;
use crate::mcp_servers::McpServer;
use crate::open_session::{OpenSession, UntoldFailures};
use crate::sys::cancel::Cancel;
use crate::sys::clock::Utc;
use crate::text::printable;
use crate::{replay, updates};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How many sessions a page of the list has.
const PAGE: usize = 100;
/// How long a cancelled turn may take to end before its session is closed.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);
/// How many updates of a replay are queued at a time.
const REPLAY_BATCH: usize = 64;
/// How long after the start of its agent a session waits for extensions.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(10);
/// The titles of the lists of extensions that the user is told about.
const FAILED_EXTENSIONS: &str = "Extensions that did not start";
const STARTING_EXTENSIONS: &str =
    "Extensions that are still starting; their tools come once they have started";
/// The longest reason of a failed extension, in characters.
const MAX_REASON: usize = 1_000;

/// The parameters of `session/new`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    cwd: String,
    #[serde(default, deserialize_with = "null_as_none")]
    additional_directories: Vec<PathBuf>,
    #[serde(default, deserialize_with = "null_as_none")]
    mcp_servers: Vec<McpServer>,
    /// What Goose's clients add.
    #[serde(default, rename = "_meta")]
    meta: Value,
}

/// The parameters of `session/load` and `session/resume`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenStored {
    session_id: String,
    cwd: String,
    #[serde(default, deserialize_with = "null_as_none")]
    additional_directories: Vec<PathBuf>,
    #[serde(default, deserialize_with = "null_as_none")]
    mcp_servers: Vec<McpServer>,
}

/// The parameters of `session/list`.
#[derive(Deserialize)]
pub(crate) struct ListSessions {
    cwd: Option<String>,
    cursor: Option<String>,
    /// What Goose's clients add: the types of sessions that they want, and a text to search for.
    #[serde(default, rename = "_meta")]
    meta: Value,
}

/// The parameters of a method that names a session and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionOnly {
    pub(crate) session_id: String,
}

/// A session that was opened: the result of the request, and what has to be told afterwards.
pub(crate) struct Opened {
    pub(crate) result: Value,
    session: Arc<OpenSession>,
}

impl ConnectionState {
    pub(crate) fn new_session(
        self: &Arc<Self>,
        method: &str,
        params: NewSession,
        cancel: &Cancel,
    ) -> Result<Opened, ErrorObject> {
        let cwd = absolute(method, &params.cwd)?;
        let sandbox: Option<Level> = crate::json::from_value(&params.meta["sandbox"])
            .map_err(|error| invalid_params(method, &format!("`_meta.sandbox`: {error}")))?;
        let mut brought = self.bring(params.mcp_servers, cancel);
        let folder = cwd.clone();
        let started = self.registry.start(Start {
            recipe: self.wanted_recipe(&params.meta, &cwd)?,
            working_dir: cwd,
            client_extensions: std::mem::take(&mut brought.extensions),
            additional_dirs: params.additional_directories,
            sandbox: sandbox.unwrap_or_default(),
            extension_overrides: self.wanted_extensions(&params.meta)?,
            ..Start::default()
        });
        let session = started.map_err(|error| open_error(method, &folder, error))?;
        self.live.tools.set(&session.id, self, &mut brought);
        let of_recipe = self.complete_recipe(&session, cancel).inspect_err(|_| {
            // The client does not know it.
            if let Err(error) = self.registry.delete(&session.id) {
                log::warn!("session without its recipe not deleted reason={error}");
            }
        })?;
        let mut result = self.state_of(&session);
        result["sessionId"] = session.id.as_str().into();
        let told = self.add_goose_state(&mut result, &session, cancel);
        for (name, value) in of_recipe.as_object().into_iter().flatten() {
            result["_meta"][name] = value.clone();
        }
        let session = self.remember(&session.id, session.working_dir);
        tell_later(&session, brought.failures, told);
        Ok(Opened { result, session })
    }

    /// Opens a stored session; with `session/load`, sends its messages first.
    pub(crate) fn open_stored(
        self: &Arc<Self>,
        method: &str,
        params: OpenStored,
        cancel: &Cancel,
    ) -> Result<Opened, ErrorObject> {
        let cwd = absolute(method, &params.cwd)?;
        let id = &params.session_id;
        let mut brought = self.bring(params.mcp_servers, cancel);
        let extensions = std::mem::take(&mut brought.extensions);
        let more = &params.additional_directories;
        let opened = self.registry.open(id, &cwd, more, extensions);
        let session = opened.map_err(|error| open_error(method, &cwd, error))?;
        self.live.tools.set(id, self, &mut brought);
        let opened = self.remember(id, cwd.clone());
        let replays = method == "session/load";
        match self
            .live
            .of(id)
            .filter(|_| self.client().is_goose && replays)
        {
            Some(turn) => {
                let follower = TurnUpdates::new(self, &opened, &turn.cancel);
                turn.join(follower, || self.replay(id, &cwd, cancel))?;
            }
            None if replays => drop(self.replay(id, &cwd, cancel)?),
            None => {}
        }
        let mut result = self.state_of(&session);
        let told = self.add_goose_state(&mut result, &session, cancel);
        let session = opened;
        tell_later(&session, brought.failures, told);
        Ok(Opened { result, session })
    }

    /// Sends the stored messages of a session; returns their ids.
    fn replay(&self, id: &str, cwd: &Path, cancel: &Cancel) -> Result<Vec<String>, ErrorObject> {
        let stored = self.registry.files().session_with_messages(id);
        let stored = stored.map_err(error_object)?;
        let messages = stored.conversation.unwrap_or_default();
        let mut batch = Vec::new();
        let is_goose = self.client().is_goose;
        let opened = self.opened(id);
        let running = |call: &str| opened.as_ref().and_then(|it| it.status_of(call));
        let mut send = |message| {
            batch.push(message);
            if batch.len() < REPLAY_BATCH {
                return true;
            }
            let messages = std::mem::take(&mut batch);
            self.outbox.send_when_room(messages, cancel)
        };
        replay::replay(id, cwd, &messages, is_goose, &running, &mut send);
        self.outbox.send_when_room(batch, cancel);
        Ok(messages
            .into_iter()
            .filter_map(|message| message.id)
            .collect())
    }

    /// The modes and options of a session, for the answer that opens it.
    pub(crate) fn state_of(&self, session: &Session) -> Value {
        json!({
            "modes": self.modes(session),
            "configOptions": self.config_options(session, None),
        })
    }

    /// What follows the answer to the opening of a session, since some clients drop updates before it: the
    /// commands, the checklist, extensions that did not start, and the provider's models.
    pub(crate) fn after_opening(&self, opened: Opened, cancel: &Cancel) {
        let session = opened.session;
        let commands = commands(&self.registry);
        let update = json!({
            "sessionUpdate": "available_commands_update", "availableCommands": commands,
        });
        self.send_update(&session.id, &update);
        self.send_usage(&session);
        self.send_plan(&session);
        // Without notices, the user is told in the next turn.
        if self.client().notices {
            for limit in [Some(START_LIMIT), None] {
                for (title, list) in self.untold_failures(&session, limit, cancel) {
                    let update = updates::notice("warning", title, Some(&list));
                    self.send_update(&session.id, &update);
                }
            }
        }
        self.send_listed_models(&session, cancel);
    }

    /// Sends the tokens of a session that has some.
    fn send_usage(&self, session: &OpenSession) {
        let Ok(stored) = self.registry.files().session(&session.id) else {
            return;
        };
        let tokens = TokenState::of(&stored);
        let size = stored.model_config.as_ref();
        let size = size.and_then(|model| model["context_limit"].as_u64());
        if let Some(size) = size.filter(|_| tokens.total_tokens > 0) {
            self.send_update(&session.id, &updates::usage(&tokens, size));
            if self.client().goose_updates {
                let update = updates::goose_usage(&tokens, size);
                let message = updates::notification_of(updates::GOOSE_UPDATE, &session.id, &update);
                self.outbox.send(message);
            }
        }
    }

    fn send_plan(&self, session: &OpenSession) {
        let Ok(stored) = self.registry.files().session(&session.id) else {
            return;
        };
        if let Some(list) = checklist::of_session(&stored) {
            self.send_update(&session.id, &crate::plan::update(list));
        }
    }

    /// Waits for the extensions, until `limit` after the start of the agent at most. Returns lists in Markdown with
    /// their titles, of those that did not start or are still starting, as far as the user has not been told.
    pub(crate) fn untold_failures(
        &self,
        session: &OpenSession,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Vec<(&'static str, String)> {
        let Some(untold) = session.take_untold_failures() else {
            return Vec::new();
        };
        let agent = self.registry.agent(&session.id);
        let ended = agent.and_then(|it| Ok(it.wait_within(limit, cancel)?.is_some()));
        if cancel.is_cancelled() {
            session.has_failures_to_tell(untold);
            return Vec::new();
        }
        let mut failed = untold.unusable;
        let mut starting = Vec::new();
        if let Ok(ended) = ended
            && let Ok(all) = self.registry.status(&session.id)
        {
            let of = |state| all.iter().filter(move |it| it.state == state);
            if ended {
                let reasons = of(State::Failed).map(|it| it.error.as_ref().unwrap_or(&it.name));
                failed.extend(reasons.cloned());
            } else {
                session.has_failures_to_tell(UntoldFailures {
                    told_starting: true,
                    ..UntoldFailures::default()
                });
                if !untold.told_starting {
                    starting.extend(of(State::Starting).map(|it| it.name.clone()));
                }
            }
        }
        let lists = [(FAILED_EXTENSIONS, failed), (STARTING_EXTENSIONS, starting)];
        let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
        let in_markdown = |items: Vec<String>| {
            let lines = items
                .iter()
                .map(|item| format!("- {}\n", printable(item, MAX_REASON)));
            lines.collect()
        };
        lists
            .map(|(title, items)| (title, in_markdown(items)))
            .collect()
    }

    pub(crate) fn list_sessions(&self, params: &ListSessions) -> Result<Value, ErrorObject> {
        let store = &self.registry.stores().sessions;
        let mut sessions = store.list().map_err(error_object)?;
        sessions.retain(|session| session.is_listed);
        let cwd = params.cwd.as_deref();
        let cwd = cwd.map(|cwd| absolute("session/list", cwd)).transpose()?;
        let text = params.meta["query"].as_str().map(str::to_lowercase);
        if let Some(cursor) = &params.cursor {
            let after = cursor.split_once(' ').ok_or_else(unknown_cursor)?;
            let is_id = |id: &str| id.bytes().all(|b| b.is_ascii_digit() || b == b'_');
            if Utc::parse(after.0).is_none() || !is_id(after.1) {
                return Err(unknown_cursor());
            }
            // A session of the last page may have changed since and have moved to the front.
            sessions.retain(|session| session.place(after.0, after.1).is_gt());
        }
        let found = store.read(sessions).filter(|session| {
            let has_name = |text: &String| session.name.to_lowercase().contains(text);
            text.as_ref().is_none_or(has_name)
                && cwd.as_ref().is_none_or(|cwd| session.working_dir == *cwd)
        });
        let mut found: Vec<_> = found.take(PAGE + 1).collect();
        let more = found.len() > PAGE;
        found.truncate(PAGE);
        let shown: Vec<Value> = found.iter().map(|session| describe(session)).collect();
        let mut result = json!({ "sessions": shown });
        if more && let Some(last) = found.last() {
            result["nextCursor"] = format!("{} {}", last.updated_at, last.id).into();
        }
        Ok(result)
    }

    /// Cancels the session's turn and ends its agent.
    pub(crate) fn close_session(&self, params: &SessionOnly) -> Result<Value, ErrorObject> {
        let id = &params.session_id;
        self.session(id)?;
        self.end_session(id);
        Ok(json!({}))
    }

    /// Ends the session's turn and agent.
    pub(crate) fn end_session(&self, id: &str) {
        // A turn that has just begun would start the agent again.
        if let Some(session) = self.forget(id) {
            session.end_turn(TURN_TIMEOUT);
        }
        self.live.tools.forget(id);
        self.registry.stop(id);
    }

    /// Deletes a session with its messages. It is no error if there is no such session.
    pub(crate) fn delete_session(&self, params: &SessionOnly) -> Result<Value, ErrorObject> {
        let id = &params.session_id;
        self.end_session(id);
        match self.registry.delete(id) {
            Ok(()) | Err(agent::Error::NoSession) => Ok(json!({})),
            Err(error) => Err(error_object(error)),
        }
    }
}

/// Lets the user be told which extensions did not start, unless the answer tells it. `unusable` are the client's MCP
/// servers that cannot be used.
fn tell_later(session: &OpenSession, unusable: Vec<String>, is_told: bool) {
    if !is_told || !unusable.is_empty() {
        session.has_failures_to_tell(UntoldFailures {
            unusable,
            told_starting: false,
        });
    }
}

/// The session in a list. What Goose's clients show beside that is in `_meta`.
pub(crate) fn describe(session: &Session) -> Value {
    let model = session.model_config.as_ref();
    let mut shown = json!({
        "sessionId": session.id,
        "cwd": session.working_dir,
        "title": session.name,
        "updatedAt": session.updated_at,
        "_meta": {
            "messageCount": session.message_count,
            "createdAt": session.created_at,
            "lastMessageAt": session.updated_at,
            "providerId": session.provider_name,
            "modelId": model.map(|config| &config["model_name"]),
            "sessionType": session.session_type,
            "userSetName": session.user_set_name,
            "hasRecipe": session.recipe.is_some(),
        },
    });
    let more = [
        ("archivedAt", &session.archived_at),
        ("projectId", &session.project_id),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            shown["_meta"][name] = value.as_str().into();
        }
    }
    let more = session.extension_data.additional_dirs();
    if !more.is_empty() {
        shown["additionalDirectories"] = json!(more);
    }
    shown
}

/// Some clients send null for a list without entries.
fn null_as_none<'de, D, T>(d: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

fn unknown_cursor() -> ErrorObject {
    invalid_params("session/list", "`cursor` is not one of this agent")
}

/// The slash commands of the session.
pub(crate) fn commands(registry: &agent::Registry) -> Vec<Value> {
    let all = command_list::list(&registry.stores().config);
    let all = all.unwrap_or_else(|error| {
        log::warn!("slash commands not listed reason={error}");
        Vec::new()
    });
    let describe = |command: command_list::Command| {
        let hint = match (command.command.as_str(), command.command_type) {
            ("prompts", _) => Some("extension"),
            ("prompt", _) => Some("NAME KEY=VALUE …"),
            (_, CommandType::Recipe) => Some("the value of its parameter, if it has one"),
            _ => None,
        };
        let mut shown = json!({
            "name": command.command,
            "description": command.help,
            // Goose's clients show no others.
            "_meta": {"commandType": command.command_type},
        });
        if let Some(hint) = hint {
            shown["input"] = json!({ "hint": hint });
        }
        shown
    };
    all.into_iter().map(describe).collect()
}

fn absolute(method: &str, cwd: &str) -> Result<PathBuf, ErrorObject> {
    let path = Path::new(cwd);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    Err(invalid_params(method, "`cwd` must be an absolute path"))
}

fn open_error(method: &str, cwd: &Path, error: agent::Error) -> ErrorObject {
    match error {
        agent::Error::WorkingDir { ref path } => {
            let field = if path == cwd {
                "cwd"
            } else {
                "additionalDirectories"
            };
            invalid_params(method, &format!("`{field}`: {error}"))
        }
        error => error_object(error),
    }
}
