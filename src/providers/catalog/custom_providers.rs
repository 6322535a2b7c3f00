//! Providers that the user describes in Goose's declarative format: `custom_providers/*.json`.
//!
//! The files are not trusted: their number, and every field, is limited.

use super::provider_settings::{
    DEFAULT_TIMEOUT, Settings, SettingsReader, endpoint, key_header, missing_key,
};
use super::vendors::protocol_named;
use crate::store::{Config, files};
use crate::sys::{TimeLimit, lock};
use crate::wire_protocol::Endpoint;
use crate::{Error, ErrorClass};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The name of the folder.
pub(super) const FOLDER: &str = "custom_providers";
/// The most files that are read.
pub const MAX_FILES: usize = 128;
/// The largest file, in bytes.
pub const MAX_FILE: u64 = 1 << 20;
/// The most models of a provider.
pub const MAX_MODELS: usize = 1000;
/// The most further headers of a provider.
pub const MAX_HEADERS: usize = 64;
/// The longest name of a provider, a model or a header, in bytes.
pub const MAX_NAME: usize = 128;
const MAX_TEXT: usize = 4096;
/// The most settings in the URL of a provider.
const MAX_VARIABLES: usize = 16;
/// The wire protocols, by their names in files. Those that the build leaves out count.
const ENGINES: [&str; 4] = ["openai", "openai_responses", "anthropic", "ollama"];

/// A provider as its file describes it. It does not implement `Debug`, because headers may contain the key.
#[derive(Clone, Deserialize)]
pub struct CustomProvider {
    /// Its id.
    pub name: String,
    engine: String,
    pub(super) display_name: String,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) api_key_env: String,
    base_url: String,
    #[serde(default)]
    pub(super) models: Vec<CustomModel>,
    #[serde(default)]
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    timeout_seconds: Option<TimeLimit>,
    #[serde(default)]
    supports_streaming: Option<bool>,
    #[serde(default = "yes")]
    requires_auth: bool,
    /// Whether the model's reasoning goes back with its tool calls; for OpenAI's protocol it does if absent.
    #[serde(default)]
    preserves_thinking: Option<bool>,
    /// The path of chat completions, if `base_url` is the server's.
    #[serde(default)]
    base_path: Option<String>,
    /// Settings that `base_url` names as `${NAME}`.
    #[serde(default)]
    env_vars: Option<Vec<UrlVariable>>,
    /// False if the server lists no models, so that those of the file count.
    #[serde(default)]
    dynamic_models: Option<bool>,
    /// The provider whose entries in the table of models count for models that the file does not describe.
    #[serde(default)]
    catalog_provider_id: Option<String>,
}

/// A setting in the URL of such a provider.
#[derive(Clone, Deserialize)]
struct UrlVariable {
    name: String,
    #[serde(default)]
    secret: bool,
    #[serde(default)]
    default: Option<String>,
}

/// A model of such a provider.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CustomModel {
    pub(super) name: String,
    #[serde(default = "default_context")]
    pub(super) context_limit: u64,
    #[serde(default)]
    pub(super) max_tokens: Option<u64>,
}

fn yes() -> bool {
    true
}

fn default_context() -> u64 {
    super::DEFAULT_CONTEXT
}

impl CustomProvider {
    /// A provider from the text of a file.
    ///
    /// # Errors
    /// Why it cannot be one.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let custom: CustomProvider =
            crate::json::from_slice(text).map_err(|error| error.to_string())?;
        let name_fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if custom.name.is_empty()
            || custom.name.len() > MAX_NAME
            || !custom.name.chars().all(name_fits)
        {
            return Err("`name` is not made of letters, digits, `_`, `-` and `.`".to_owned());
        }
        custom.engine()?;
        let texts = [&custom.display_name, &custom.api_key_env, &custom.base_url];
        let description = custom.description.iter();
        if texts
            .into_iter()
            .chain(description)
            .any(|text| text.len() > MAX_TEXT)
        {
            return Err("a text is longer than 4096 bytes".to_owned());
        }
        if !custom.base_url.starts_with("${") {
            check_url(&custom.base_url)?;
        }
        let names = (custom.env_vars.iter().flatten()).map(|variable| &variable.name);
        if names.clone().count() > MAX_VARIABLES || names.into_iter().any(|it| it.len() > MAX_NAME)
        {
            return Err(format!(
                "it has more than {MAX_VARIABLES} `env_vars`, or a name that is too long"
            ));
        }
        if custom.models.len() > MAX_MODELS {
            return Err(format!("it has more than {MAX_MODELS} models"));
        }
        if custom
            .models
            .iter()
            .any(|model| model.name.is_empty() || model.name.len() > MAX_NAME)
        {
            return Err("a model has no name, or one longer than 128 bytes".to_owned());
        }
        if custom
            .headers
            .as_ref()
            .is_some_and(|headers| headers.len() > MAX_HEADERS)
        {
            return Err(format!("it has more than {MAX_HEADERS} headers"));
        }
        Ok(custom)
    }

    /// The name of its wire protocol.
    ///
    /// # Errors
    /// Why `engine` names none.
    pub fn engine(&self) -> Result<&'static str, String> {
        engine_named(&self.engine).ok_or_else(|| {
            let other = &self.engine;
            format!(
                "`engine` is {other:?}; openai, openai_responses, anthropic and ollama are supported"
            )
        })
    }

    /// The name of the variable or secret with the key, if there is one.
    pub fn key_name(&self) -> Option<&str> {
        Some(self.api_key_env.trim()).filter(|name| !name.is_empty())
    }

    /// Whether the provider needs the key.
    pub(super) fn requires_key(&self) -> bool {
        self.requires_auth && self.key_name().is_some()
    }

    /// Whether its server lists its models.
    pub(super) fn lists_models(&self) -> bool {
        self.dynamic_models != Some(false) || self.models.is_empty()
    }

    /// The provider of the table of models whose entries count for its models, too.
    pub(super) fn catalog_provider(&self) -> Option<&str> {
        self.catalog_provider_id.as_deref()
    }

    /// The server's URL, with the settings in it.
    fn url(&self, reader: SettingsReader<'_>) -> Result<String, Error> {
        let mut url = self.base_url.clone();
        for UrlVariable {
            name,
            secret,
            default,
        } in self.env_vars.iter().flatten()
        {
            let place = format!("${{{name}}}");
            if !url.contains(&place) {
                continue;
            }
            let value = reader
                .text_named(name, *secret)?
                .or_else(|| default.clone());
            let Some(value) = value else {
                let why = format!("{} needs {name}, which is not set", self.display_name);
                return Err(Error::new(ErrorClass::Config, why));
            };
            url = url.replace(&place, value.trim_end_matches('/'));
        }
        match check_url(&url) {
            Ok(()) => Ok(url),
            Err(why) => Err(Error::new(ErrorClass::Config, why)),
        }
    }

    /// Its URLs, headers and options.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if it requires a key and there is none.
    pub(super) fn resolve(&self, reader: SettingsReader<'_>) -> Result<Settings, Error> {
        let engine = (self.engine()).map_err(|reason| Error::new(ErrorClass::Config, reason))?;
        let protocol = protocol_named(engine)?;
        let key = match self.key_name() {
            Some(name) => reader.key(name)?,
            None => None,
        };
        if key.is_none()
            && self.requires_auth
            && let Some(name) = self.key_name()
        {
            return Err(missing_key(&self.display_name, name, reader));
        }
        let mut headers: Vec<(String, String)> = match &self.headers {
            Some(headers) => headers.clone().into_iter().collect(),
            None => Vec::new(),
        };
        headers.extend(key.map(|key| key_header(protocol, &key)));
        let base = (protocol.base_url)(&self.url(reader)?);
        let url = match self
            .base_path
            .as_deref()
            .filter(|path| !path.trim().is_empty())
        {
            Some(path) if is_openai(engine) => (protocol.endpoint_url)(&base, Some(path)),
            _ => (protocol.url_in_file)(&base),
        };
        Ok(Settings {
            protocol,
            title: self.display_name.clone(),
            endpoint: Endpoint {
                headers,
                stream: self.supports_streaming.unwrap_or(true),
                reasoning_if_any: (self.preserves_thinking).unwrap_or(is_openai(engine)),
                ..endpoint(url)
            },
            credentials: None,
            timeout: (self.timeout_seconds)
                .filter(|limit| !limit.is_zero())
                .map_or(DEFAULT_TIMEOUT, TimeLimit::get),
            key_hint: self
                .key_name()
                .map_or(String::new(), |name| format!("check {name}")),
        })
    }
}

fn check_url(url: &str) -> Result<(), String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(());
    }
    Err("`base_url` does not begin with http:// or https://".to_owned())
}

/// Whether an engine has a setting for the path.
fn is_openai(engine: &str) -> bool {
    engine.starts_with("openai")
}

/// The wire protocol of an `engine`, which may end with `_compatible`.
pub fn engine_named(engine: &str) -> Option<&'static str> {
    let name = engine.strip_suffix("_compatible").unwrap_or(engine);
    ENGINES.into_iter().find(|known| *known == name)
}

/// A file that cannot be used, and why.
pub struct UnusedFile {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub reason: String,
}

impl UnusedFile {
    /// Whether the file is meant to describe the provider of this name: by its own name, or by its field `name`.
    pub fn is_for(&self, name: &str) -> bool {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let is_named = |text: Vec<u8>| {
            let named: Option<Named> = crate::json::from_slice(&text).ok();
            named.is_some_and(|named| named.name == name)
        };
        self.path.file_stem().is_some_and(|stem| stem == name)
            || read_text(&self.path).is_ok_and(is_named)
    }
}

impl fmt::Display for UnusedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not used: {}", self.path.display(), self.reason)
    }
}

/// The folder with the files.
pub struct CustomProviders {
    path: PathBuf,
    /// The warnings that were logged, so that each is logged once.
    warnings: Mutex<HashSet<String>>,
}

impl CustomProviders {
    /// The folder beside the settings.
    pub fn of(config: &Config) -> Self {
        CustomProviders {
            path: config.path().with_file_name(FOLDER),
            warnings: Mutex::default(),
        }
    }

    /// The path of the folder, which may not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The providers, in the order of the names of their files. A file that cannot be used is logged once.
    pub fn read(&self) -> Vec<CustomProvider> {
        let (found, unused) = self.read_all();
        for file in unused {
            self.warn_once(file.to_string());
        }
        found.into_iter().map(|(_, custom)| custom).collect()
    }

    /// The providers with their files, and the files that cannot be used. Of two providers with one name the first counts.
    pub fn read_all(&self) -> (Vec<(PathBuf, CustomProvider)>, Vec<UnusedFile>) {
        let mut paths = self.paths();
        paths.sort();
        let mut found: Vec<(PathBuf, CustomProvider)> = Vec::new();
        let mut unused = Vec::new();
        for (index, path) in paths.into_iter().enumerate() {
            let read = match index {
                MAX_FILES => Err("there are too many files next to it".to_owned()),
                _ => read_file(&path),
            };
            let reason = match read {
                Ok(custom) if super::is_reserved(&custom.name) => {
                    "a provider of gosling has this name".to_owned()
                }
                Ok(custom) if found.iter().any(|(_, other)| other.name == custom.name) => {
                    "another file has a provider of this name".to_owned()
                }
                Ok(custom) => {
                    found.push((path, custom));
                    continue;
                }
                Err(reason) => reason,
            };
            unused.push(UnusedFile { path, reason });
        }
        (found, unused)
    }

    /// The files that describe a provider, or are meant to.
    pub fn paths(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .take(MAX_FILES + 1)
            .collect()
    }

    fn warn_once(&self, text: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < MAX_FILES && warnings.insert(text.clone()) {
            log::warn!("{text}");
        }
    }
}

fn read_file(path: &Path) -> Result<CustomProvider, String> {
    CustomProvider::parse(&read_text(path)?)
}

fn read_text(path: &Path) -> Result<Vec<u8>, String> {
    let read = files::read_file(path, MAX_FILE).map_err(|error| error.to_string())?;
    let (text, _) = read.ok_or("it has just been removed")?;
    Ok(text)
}

#[cfg(test)]
mod tests;
