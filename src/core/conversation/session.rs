//! A session: its working directory, extensions, recipe, model and token counts.

use super::{ImportReport, Message};
use crate::extension::sandbox::Level;
use crate::mcp::jsonrpc::RawJson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// A session, in the JSON shape and field order of Goose's API (`Session` of its OpenAPI document).
///
/// Missing fields, nulls and a type that only later versions know take their defaults, so that all files load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// `YYYYMMDD_N`: the day of its creation, in UTC, and a number from 1.
    #[serde(deserialize_with = "null_as_default")]
    pub id: String,
    /// The working directory of tools and extensions.
    #[serde(deserialize_with = "null_as_default")]
    pub working_dir: PathBuf,
    /// The name that lists show.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Whether the user chose the name; such a name is never replaced.
    #[serde(deserialize_with = "null_as_default")]
    pub user_set_name: bool,
    /// What started it.
    #[serde(deserialize_with = "known_or_default")]
    pub session_type: SessionType,
    /// RFC 3339, UTC.
    #[serde(deserialize_with = "null_as_default")]
    pub created_at: String,
    /// RFC 3339, UTC.
    #[serde(deserialize_with = "null_as_default")]
    pub updated_at: String,
    /// The data that extensions store with the session.
    #[serde(deserialize_with = "null_as_default")]
    pub extension_data: ExtensionData,
    /// Tokens of the last request and its answer.
    pub total_tokens: Option<i64>,
    /// Input tokens of the last request.
    pub input_tokens: Option<i64>,
    /// Output tokens of the last answer.
    pub output_tokens: Option<i64>,
    /// Tokens of all requests and answers.
    pub accumulated_total_tokens: Option<i64>,
    /// Input tokens of all requests and answers.
    pub accumulated_input_tokens: Option<i64>,
    /// Output tokens of all requests and answers.
    pub accumulated_output_tokens: Option<i64>,
    /// What all requests and answers have cost in US dollars, as far as their prices are known. Part of Goose's API
    /// after 1.40.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulated_cost: Option<f64>,
    /// When the user put it away, RFC 3339, UTC. Part of Goose's API after 1.33, as is the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<String>,
    /// The project that a client has put it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The schedule that started it.
    pub schedule_id: Option<String>,
    /// The recipe it was started from.
    pub recipe: Option<Value>,
    /// The values given for the recipe's parameters.
    pub user_recipe_values: Option<Map<String, Value>>,
    /// The messages, if they were loaded.
    pub conversation: Option<Vec<Message>>,
    /// How many messages there are, whether they are loaded or not.
    #[serde(deserialize_with = "null_as_default")]
    pub message_count: usize,
    /// The provider in use.
    pub provider_name: Option<String>,
    /// The model in use, with its limits.
    pub model_config: Option<Value>,
    /// Which tool calls need the user's approval: `auto`, `approve`, `smart_approve` or `chat`. If absent, the
    /// setting `GOOSE_MODE` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goose_mode: Option<String>,
    /// How many messages the tokens of the last request and its answer cover; 0 if they cover no part of the
    /// current conversation, absent if another program stored them. It is stored with the session, but is not
    /// part of Goose's API.
    #[serde(skip_serializing)]
    pub counted_messages: Option<usize>,
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn known_or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SessionType, D::Error> {
    let stored = RawJson::deserialize(deserializer)?;
    Ok(crate::json::from_str(stored.get()).unwrap_or_default())
}

/// What started a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionType {
    /// The user.
    #[default]
    User,
    /// A schedule.
    Scheduled,
    /// Another session, as a helper.
    SubAgent,
    /// gosling itself; such sessions are not listed.
    Hidden,
    /// A terminal.
    Terminal,
}

/// The data that extensions store with a session: JSON under versioned keys, passed on unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExtensionData(pub Map<String, Value>);

/// Where a session's recipe comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecipeOrigin {
    /// The folder of its file.
    pub folder: Option<PathBuf>,
    /// Whether the user trusts it to run commands and to name files anywhere.
    pub trusted: bool,
}

/// An explicit empty list of enabled extensions, as Goose stores it.
impl Default for ExtensionData {
    fn default() -> Self {
        let mut data = Self(Map::new());
        data.set_enabled(Vec::new());
        data
    }
}

impl ExtensionData {
    const ENABLED: &'static str = "enabled_extensions.v0";
    const LIST: &'static str = "extensions";
    const CONTAINER: &'static str = "container.v0";
    /// The images that models of the session refused, by model.
    pub(crate) const REFUSED_IMAGES: &'static str = "refused_images.v0";
    /// The turns and failures so far, where a lead and a worker model share the session.
    pub(crate) const LEAD_WORKER: &'static str = "lead_worker.v0";
    const RECIPE_ORIGIN: &'static str = "recipe_origin.v0";
    const ID: &'static str = "container_id";
    const CLIENT_EXTENSIONS: &'static str = "client_extensions.v0";
    const IMPORTED: &'static str = "imported.v0";
    const OWNER: &'static str = "owner.v0";
    const SANDBOX: &'static str = "sandbox.v0";
    const MORE_DIRS: &'static str = "additional_directories.v0";

    /// The configurations of the enabled extensions, in the order they were enabled.
    pub fn enabled(&self) -> &[Value] {
        let state = self.0.get(Self::ENABLED);
        let list = state.and_then(|state| state[Self::LIST].as_array());
        list.map_or(&[], Vec::as_slice)
    }

    /// Replaces the configurations of the enabled extensions; everything else stays.
    pub fn set_enabled(&mut self, extensions: Vec<Value>) {
        let state = self.0.entry(Self::ENABLED).or_insert(Value::Null);
        if !state.is_object() {
            *state = json!({});
        }
        state[Self::LIST] = extensions.into();
    }

    /// The folders that the session works in besides its working directory.
    pub fn additional_dirs(&self) -> Vec<PathBuf> {
        self.read(Self::MORE_DIRS).unwrap_or_default()
    }

    /// Replaces them.
    pub fn set_additional_dirs(&mut self, dirs: &[PathBuf]) {
        self.set(Self::MORE_DIRS, (!dirs.is_empty()).then(|| json!(dirs)));
    }

    /// The least that walls around the session's extensions keep out; all they can if that is not understood.
    pub fn sandbox(&self) -> Level {
        let stored = self.0.get(Self::SANDBOX).map(crate::json::from_value);
        stored.map_or(Level::Off, |level| level.unwrap_or(Level::Strict))
    }

    pub(crate) fn set_sandbox(&mut self, level: Level) {
        let level = (level != Level::Off).then(|| json!(level));
        self.set(Self::SANDBOX, level);
    }

    fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        crate::json::from_value(self.0.get(key)?).ok()
    }

    fn set(&mut self, key: &str, value: Option<Value>) {
        match value {
            Some(value) => drop(self.0.insert(key.to_owned(), value)),
            None => drop(self.0.shift_remove(key)),
        }
    }

    /// The stored container of the session's extensions. A value that is not text is returned as JSON, so that
    /// it does not count as no container.
    pub fn container(&self) -> Option<String> {
        let state = self
            .0
            .get(Self::CONTAINER)
            .filter(|state| !state.is_null())?;
        match state.get(Self::ID) {
            Some(Value::String(id)) => Some(id.clone()),
            Some(Value::Null) => None,
            _ => Some(state.to_string()),
        }
    }

    /// Sets the container of the session's extensions; `None` runs them on the host.
    pub fn set_container(&mut self, id: Option<&str>) {
        self.set(Self::CONTAINER, id.map(|id| json!({ (Self::ID): id })));
    }

    /// The keys under which extensions store data.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        let known = [
            Self::ENABLED,
            Self::CONTAINER,
            Self::REFUSED_IMAGES,
            Self::LEAD_WORKER,
            Self::RECIPE_ORIGIN,
            Self::CLIENT_EXTENSIONS,
            Self::OWNER,
            Self::SANDBOX,
        ];
        let keys = self.0.keys().map(String::as_str);
        keys.filter(move |key| !known.contains(key))
    }

    /// Where the session's recipe comes from; untrusted if that is not stored.
    pub fn recipe_origin(&self) -> RecipeOrigin {
        self.read(Self::RECIPE_ORIGIN).unwrap_or_default()
    }

    /// Stores where the session's recipe comes from.
    pub fn set_recipe_origin(&mut self, origin: &RecipeOrigin) {
        if let Ok(origin) = crate::json::to_value(origin) {
            self.set(Self::RECIPE_ORIGIN, Some(origin));
        }
    }

    /// The names of the enabled extensions that a client has brought along. They end with its next opening of
    /// the session.
    pub fn client_extensions(&self) -> Vec<String> {
        self.read(Self::CLIENT_EXTENSIONS).unwrap_or_default()
    }

    /// Replaces the names of the extensions that a client has brought along.
    pub fn set_client_extensions(&mut self, names: &[String]) {
        let names = (!names.is_empty()).then(|| names.into());
        self.set(Self::CLIENT_EXTENSIONS, names);
    }

    /// The name of the key whose client has begun the session; `None` for that of the server, and without one.
    pub fn owner(&self) -> Option<&str> {
        self.0.get(Self::OWNER)?.as_str()
    }

    /// Stores whose client begins the session.
    pub(crate) fn set_owner(&mut self, key: Option<&str>) {
        let key = key.filter(|name| *name != crate::http::SERVER);
        self.set(Self::OWNER, key.map(Value::from));
    }

    /// The report of the import that created the session.
    pub fn imported(&self) -> Option<ImportReport> {
        self.read(Self::IMPORTED)
    }

    /// Replaces the report of the import.
    pub fn set_imported(&mut self, imported: &ImportReport) {
        let report = crate::json::to_value(imported).ok();
        self.set(Self::IMPORTED, report.filter(|_| !imported.is_empty()));
    }
}

impl Session {
    /// Whether lists, searches and sums contain it: sessions of users and schedules that have messages.
    pub fn is_listed(&self) -> bool {
        let type_is_listed = matches!(
            self.session_type,
            SessionType::User | SessionType::Scheduled
        );
        type_is_listed && self.message_count > 0
    }

    /// The configurations of the enabled extensions, in the order they were enabled.
    pub fn enabled_extensions(&self) -> &[Value] {
        self.extension_data.enabled()
    }

    /// Replaces the configurations of the enabled extensions.
    pub fn set_enabled_extensions(&mut self, extensions: Vec<Value>) {
        self.extension_data.set_enabled(extensions);
    }
}

#[cfg(test)]
mod tests;
