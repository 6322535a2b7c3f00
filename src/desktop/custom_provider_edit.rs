//! Creating, changing and deleting custom providers for clients. The key goes to the secrets, never into the file.

use crate::provider::catalog::{Catalog, DEFAULT_CONTEXT};
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::{self, Secrets, files};
use gosling_providers::catalog::custom_providers::{
    CustomProvider, CustomProviders, MAX_FILE, MAX_FILES, MAX_HEADERS, MAX_MODELS, MAX_NAME,
    engine_named,
};
use gosling_shared::{is_token, read_object};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The longest URL, key or header value, in bytes.
const MAX_VALUE: usize = 4096;

/// The longest id that is made from a display name, in bytes, without prefix and number.
const MAX_ID: usize = 64;

/// What a client sends of a provider (`UpdateCustomProviderRequest` of Goose's OpenAPI document). It does not
/// implement `Debug`, because it contains the key.
#[derive(Deserialize)]
pub(crate) struct CustomProviderRequest {
    /// The wire protocol, such as `openai_compatible`.
    pub(crate) engine: String,
    /// The name for users.
    pub(crate) display_name: String,
    /// The URL of the server.
    pub(crate) api_url: String,
    /// The key; empty for none, or to keep the stored one.
    pub(crate) api_key: String,
    /// The names of models.
    pub(crate) models: Vec<String>,
    /// Further header fields of every request; absent to keep them.
    pub(crate) headers: Option<BTreeMap<String, String>>,
    /// Whether the provider needs the key; absent to decide by whether there is one.
    pub(crate) requires_auth: Option<bool>,
    /// Whether the server streams.
    pub(crate) supports_streaming: Option<bool>,
    /// The path of chat completions below the URL. Part of Goose's API after 1.24, as what follows.
    #[serde(default)]
    pub(crate) base_path: Option<String>,
    /// The provider of the catalog that it was made from.
    #[serde(default)]
    pub(crate) catalog_provider_id: Option<String>,
    /// Whether the model gets its thinking back.
    #[serde(default)]
    pub(crate) preserves_thinking: Option<bool>,
}

/// Why a custom provider cannot be created, read, changed or deleted.
#[derive(Debug)]
pub(crate) enum CustomProviderError {
    /// A field of the request is invalid.
    Invalid {
        /// Its name.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// No file describes a provider with this id.
    NotFound {
        /// The requested id.
        id: String,
    },
    /// There are as many files as gosling reads.
    TooMany,
    /// A file cannot be read or written.
    Store(store::Error),
}

impl fmt::Display for CustomProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { field, reason } => write!(f, "`{field}` {reason}"),
            Self::NotFound { id } => write!(f, "there is no custom provider '{id}'"),
            Self::TooMany => write!(
                f,
                "there are {MAX_FILES} custom providers already; delete one that is not needed"
            ),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CustomProviderError {}

impl From<store::Error> for CustomProviderError {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

type Result<T> = std::result::Result<T, CustomProviderError>;

fn invalid(field: &'static str, reason: impl Into<String>) -> CustomProviderError {
    let reason = reason.into();
    CustomProviderError::Invalid { field, reason }
}

impl CustomProviderRequest {
    /// The name of the wire protocol in files.
    fn check(&self) -> Result<&'static str> {
        let engine = engine_named(&self.engine).ok_or_else(|| {
            let reason = "is not openai_compatible, openai_responses_compatible, anthropic_compatible \
                 or ollama_compatible";
            invalid("engine", reason)
        })?;
        let name = self.display_name.trim();
        if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
            let reason =
                format!("is empty, longer than {MAX_NAME} bytes, or has control characters");
            return Err(invalid("display_name", reason));
        }
        check_url(&self.api_url)?;
        if self.api_key.len() > MAX_VALUE || self.api_key.contains(char::is_control) {
            let reason = format!("is longer than {MAX_VALUE} bytes or has control characters");
            return Err(invalid("api_key", reason));
        }
        if self.models.len() > MAX_MODELS {
            let reason = format!("has more than {MAX_MODELS} names");
            return Err(invalid("models", reason));
        }
        let texts = [&self.base_path, &self.catalog_provider_id];
        let is_bad = |text: &&String| text.len() > MAX_VALUE || text.contains(char::is_control);
        if texts.into_iter().flatten().any(|text| is_bad(&text)) {
            let reason = format!("is longer than {MAX_VALUE} bytes or has control characters");
            return Err(invalid("base_path", reason));
        }
        let is_bad = |name: &String| {
            name.trim().is_empty() || name.len() > MAX_NAME || name.contains(char::is_control)
        };
        if let Some(at) = self.models.iter().position(is_bad) {
            let reason = format!(
                "has an invalid name at {at}: empty, longer than {MAX_NAME} bytes, or with control characters"
            );
            return Err(invalid("models", reason));
        }
        self.headers.as_ref().map_or(Ok(()), check_headers)?;
        Ok(engine)
    }

    /// Writes the fields of this request into the content of a file; everything else stays.
    fn write_to(&self, fields: &mut Map<String, Value>, engine: &str) {
        let before = fields.get("models").cloned().unwrap_or_default();
        let before = before.as_array().map_or(&[][..], Vec::as_slice);
        let models = self.models.iter().map(|name| {
            let name = name.trim();
            let known = before.iter().find(|model| model["name"] == name);
            known.cloned().unwrap_or_else(|| {
                json!({
                    "name": name, "context_limit": DEFAULT_CONTEXT, "input_token_cost": null,
                    "output_token_cost": null, "currency": null, "supports_cache_control": null,
                })
            })
        });
        let models: Vec<Value> = models.collect();
        let mut set = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        set("engine", engine.into());
        set("display_name", self.display_name.trim().into());
        set("base_url", self.api_url.trim().into());
        set("models", models.into());
        if let Some(headers) = &self.headers {
            set("headers", json!(headers));
        }
        if let Some(streams) = self.supports_streaming {
            set("supports_streaming", streams.into());
        }
        if let Some(path) = &self.base_path {
            set("base_path", path.trim().into());
        }
        if let Some(id) = &self.catalog_provider_id {
            set("catalog_provider_id", id.as_str().into());
        }
        if let Some(preserves) = self.preserves_thinking {
            set("preserves_thinking", preserves.into());
        }
    }
}

/// Refuses what is no URL of a server, and a URL with a password, which would be in the file.
fn check_url(url: &str) -> Result<()> {
    let url = url.trim();
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .ok_or_else(|| invalid("api_url", "does not begin with http:// or https://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        let reason = "has a user name or password; send the key as `api_key`";
        return Err(invalid("api_url", reason));
    }
    let is_bad = |c: char| c.is_whitespace() || c.is_control();
    if authority.is_empty() || url.len() > MAX_VALUE || url.contains(is_bad) {
        let reason = format!("has no host, has blanks, or is longer than {MAX_VALUE} bytes");
        return Err(invalid("api_url", reason));
    }
    Ok(())
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<()> {
    if headers.len() > MAX_HEADERS {
        let reason = format!("has more than {MAX_HEADERS} fields");
        return Err(invalid("headers", reason));
    }
    for (name, value) in headers {
        if !is_token(name) || name.len() > MAX_NAME {
            return Err(invalid("headers", format!("has an invalid name: {name:?}")));
        }
        if value.len() > MAX_VALUE || value.contains(char::is_control) {
            let reason = format!(
                "has a value for {name} that is longer than {MAX_VALUE} bytes or has control characters"
            );
            return Err(invalid("headers", reason));
        }
    }
    Ok(())
}

/// Changes the files of the user's own providers, and their keys.
pub(crate) struct CustomProviderEditor<'a> {
    pub(crate) catalog: &'a dyn Catalog,
    pub(crate) customs: CustomProviders,
    pub(crate) secrets: &'a Secrets,
}

impl CustomProviderEditor<'_> {
    /// The description of a custom provider, as its file has it (`DeclarativeProviderConfig` of Goose's OpenAPI
    /// document). It contains no key.
    ///
    /// # Errors
    /// [`CustomProviderError::NotFound`], [`CustomProviderError::Store`].
    pub(crate) fn get(&self, id: &str) -> Result<Map<String, Value>> {
        let (path, custom) = self.existing(id)?;
        let mut fields = read_fields(&path, id)?;
        let engine = custom.engine().unwrap_or("openai");
        fields.insert("engine".to_owned(), engine.into());
        for (name, value) in [("models", json!([])), ("api_key_env", "".into())] {
            fields.entry(name).or_insert(value);
        }
        Ok(fields)
    }

    /// Creates a custom provider and stores its key; returns its id.
    ///
    /// # Errors
    /// [`CustomProviderError`]; nothing is stored then.
    pub(crate) fn create(&self, request: &CustomProviderRequest) -> Result<String> {
        let engine = request.check()?;
        let needs_key = request.requires_auth.unwrap_or(!request.api_key.is_empty());
        if needs_key && request.api_key.trim().is_empty() {
            let reason = "is empty; send the key, or `requires_auth` as false";
            return Err(invalid("api_key", reason));
        }
        let _lock = self.lock_folder()?;
        if self.customs.paths().len() >= MAX_FILES {
            return Err(CustomProviderError::TooMany);
        }
        let id = self.free_id(&request.display_name);
        let key_name = if needs_key {
            key_name_for(&id)
        } else {
            String::new()
        };
        let name = request.display_name.trim();
        let description = format!("Custom {name} provider");
        let fields = json!({
            "name": id, "engine": engine, "display_name": name, "description": description,
            "api_key_env": key_name, "base_url": "", "models": [], "headers": null,
            "timeout_seconds": null, "supports_streaming": null, "requires_auth": needs_key,
        });
        let Value::Object(mut fields) = fields else {
            return Err(invalid("display_name", "has no JSON form"));
        };
        request.write_to(&mut fields, engine);
        let path = self.path_of(&id);
        write(&path, &fields)?;
        if needs_key {
            let stored = self.secrets.set(&key_name, &request.api_key.trim().into());
            stored.inspect_err(|_| drop(fs::remove_file(&path)))?;
        }
        Ok(id)
    }

    /// Changes a custom provider. An empty key keeps the stored one.
    ///
    /// # Errors
    /// [`CustomProviderError`]; nothing is changed then.
    pub(crate) fn update(&self, id: &str, request: &CustomProviderRequest) -> Result<()> {
        let _lock = self.existing(id).and_then(|_| self.lock_folder())?;
        let (path, custom) = self.existing(id)?;
        let engine = request.check()?;
        let before = read_fields(&path, id)?;
        let old_key = custom.key_name().map(str::to_owned);
        let needs_key = match request.requires_auth {
            Some(needs) => needs,
            None => old_key.is_some() || !request.api_key.is_empty(),
        };
        let key_name = match &old_key {
            _ if !needs_key => String::new(),
            Some(name) => name.clone(),
            None => key_name_for(id),
        };
        let key = request.api_key.trim();
        if needs_key && old_key.is_none() && key.is_empty() {
            let reason =
                "is empty, and no key is stored; send the key, or `requires_auth` as false";
            return Err(invalid("api_key", reason));
        }
        let mut fields = before.clone();
        request.write_to(&mut fields, engine);
        fields.insert("api_key_env".to_owned(), key_name.as_str().into());
        if request.requires_auth.is_some() || old_key.is_none() {
            fields.insert("requires_auth".to_owned(), needs_key.into());
        }
        write(&path, &fields)?;
        let stored = if !needs_key {
            self.remove_key(&custom)
        } else if !key.is_empty() {
            self.secrets.set(&key_name, &key.into())
        } else {
            Ok(())
        };
        if let Err(error) = stored {
            write(&path, &before)?;
            return Err(error.into());
        }
        Ok(())
    }

    /// Deletes a custom provider with its key, unless another provider uses the same key.
    ///
    /// # Errors
    /// [`CustomProviderError::NotFound`], [`CustomProviderError::Store`].
    pub(crate) fn delete(&self, id: &str) -> Result<()> {
        let _lock = self.existing(id).and_then(|_| self.lock_folder())?;
        let (path, custom) = self.existing(id)?;
        // The key first: after a crash, the deletion can be repeated.
        self.remove_key(&custom)?;
        let removed = files::if_exists(fs::remove_file(&path));
        removed.map_err(store::Error::io("remove", &path))?;
        files::sync_names(files::parent(&path))?;
        self.catalog.forget(id);
        Ok(())
    }

    /// A custom provider with its file.
    fn existing(&self, id: &str) -> Result<(PathBuf, CustomProvider)> {
        let (customs, unused) = self.customs.read_all();
        let mut customs = customs.into_iter();
        if let Some(custom) = customs.find(|(_, custom)| custom.name == id) {
            return Ok(custom);
        }
        Err(match unused.into_iter().find(|file| file.is_for(id)) {
            Some(file) => store::Error::broken_at(&file.path, (0, 0), file.reason).into(),
            None => CustomProviderError::NotFound { id: id.to_owned() },
        })
    }

    fn lock_folder(&self) -> Result<FileLock> {
        let folder = self.customs.path();
        files::ensure_dir(folder)?;
        Ok(FileLock::acquire(&folder.join(".lock"), LOCK_TIMEOUT)?)
    }

    fn path_of(&self, id: &str) -> PathBuf {
        let folder = self.customs.path();
        folder.join(format!("{id}.json"))
    }

    /// Removes the key of a provider from the secrets, unless another provider uses a key of this name.
    fn remove_key(&self, custom: &CustomProvider) -> store::Result<()> {
        let Some(name) = custom.key_name() else {
            return Ok(());
        };
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        let mut builtin = self.catalog.settings().into_iter();
        let others = self.customs.read().into_iter();
        let mut others = others.filter(|other| other.name != custom.name);
        let is_shared = builtin.any(|setting| is_same(setting.name))
            || others.any(|other| other.key_name().is_some_and(is_same));
        if !is_shared {
            self.secrets.remove(name)?;
        }
        Ok(())
    }

    /// An id from the display name that no file and no provider has.
    fn free_id(&self, display_name: &str) -> String {
        let customs = self.customs.read();
        let is_free = |id: &String| {
            let is_taken = customs.iter().any(|other| other.name == *id);
            fs::symlink_metadata(self.path_of(id)).is_err() && !is_taken
        };
        let base = id_from(display_name);
        let numbered = (1..).map(|n| format!("{base}_{n}"));
        let mut ids = std::iter::once(base.clone()).chain(numbered);
        ids.find(is_free).unwrap_or(base)
    }
}

/// An id that is also a safe file name and, in upper case, the beginning of a variable's name.
fn id_from(display_name: &str) -> String {
    let letters = display_name.trim().chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '_',
    });
    let letters: String = letters.take(MAX_ID).collect();
    match letters.trim_matches('_') {
        "" => "custom_provider".to_owned(),
        letters => format!("custom_{letters}"),
    }
}

/// The name of the secret with the key, as in Goose.
fn key_name_for(id: &str) -> String {
    let name = format!("{id}_api_key");
    let letters = name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    });
    letters.collect()
}

fn read_fields(path: &Path, id: &str) -> Result<Map<String, Value>> {
    let fields = read_object(path, MAX_FILE)?;
    fields.ok_or_else(|| CustomProviderError::NotFound { id: id.to_owned() })
}

fn write(path: &Path, fields: &Map<String, Value>) -> Result<()> {
    let target: PathBuf = files::follow_links(path)?;
    let text = serde_json::to_vec_pretty(fields).map_err(io::Error::from);
    let text = text.map_err(store::Error::io("write", path))?;
    Ok(files::write_atomic(&target, &text)?)
}

#[cfg(test)]
mod tests;
