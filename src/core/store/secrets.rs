//! `secrets.yaml`: keys and tokens, which are never shown.

use super::settings::Given;
use super::shared_yaml_file::YamlFile;
use super::{Env, Paths, Result, env_override, parse_env_value, process_env, yaml_text};
use crate::sys::lock;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The secrets of one `secrets.yaml` (0600; a wider mode is repaired when it is read).
///
/// It is shared like [`super::Config`], but has no backups, and no message quotes it.
pub struct Secrets {
    pub(crate) file: YamlFile,
    env: Env,
    /// Environment variables that extensions have requested as secrets, in upper case.
    asked: Mutex<HashSet<String>>,
}

/// A secret value, which `Debug` and `Display` do not show.
#[derive(Clone, PartialEq)]
pub struct Secret(Value);

impl Secret {
    /// Wraps `value`.
    pub fn new(value: Value) -> Self {
        Self(value)
    }

    /// The value itself.
    pub fn expose(&self) -> &Value {
        &self.0
    }

    /// The value for a variable or a header: a string as it is, anything else as JSON.
    pub fn expose_text(&self) -> Cow<'_, str> {
        text(&self.0)
    }

    /// The first characters, enough to recognize the secret; see [`mask`].
    pub fn masked(&self) -> String {
        mask(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Masks a secret as Goose does: shows half of its characters, at most 8, and a `*` for each other one. A value
/// that is not a string is masked as JSON text.
pub fn mask(value: &Value) -> String {
    const MOST_SHOWN: usize = 8;
    let text = text(value);
    let len = text.chars().count();
    let shown = (len / 2).min(MOST_SHOWN);
    text.chars()
        .take(shown)
        .chain(std::iter::repeat_n('*', len - shown))
        .collect()
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

impl Secrets {
    /// The `secrets.yaml` of `paths`, with variables of this process overriding it.
    pub fn new(paths: &Paths) -> Self {
        Self::with_env(paths.config.join("secrets.yaml"), process_env())
    }

    /// The file `path`, with the variables of `env` overriding it.
    pub fn with_env(path: PathBuf, env: Env) -> Self {
        Self {
            file: YamlFile::secret(path),
            env,
            asked: Mutex::default(),
        }
    }

    /// The path of the file, which may not exist.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The secret `key`: of the environment variable of that name, else of that name in upper case, else of the file.
    ///
    /// # Errors
    /// [`super::Error::Broken`] when the file does not parse, [`super::Error::Io`] when it cannot
    /// be read. Neither quotes the file.
    pub fn get(&self, key: &str) -> Result<Option<Secret>> {
        if let Some(text) = env_override(&self.env, key) {
            return Ok(Some(Secret(from_env(text))));
        }
        let value = self.file.load()?.get(key).map(yaml_text::to_json);
        Ok(value.map(Secret))
    }

    /// As [`Secrets::get`], with the place of the value; see [`super::Config::given`].
    ///
    /// # Errors
    /// As [`Secrets::get`].
    pub fn given(&self, key: &str) -> Result<Option<Given<'_>>> {
        Given::read(&self.env, &self.file, key)
    }

    /// As [`Secrets::get`], for an extension that declares `key` a secret, which is recorded.
    ///
    /// # Errors
    /// As [`Secrets::get`].
    pub fn get_for_extension(&self, key: &str) -> Result<Option<Secret>> {
        if env_override(&self.env, key).is_some() {
            lock(&self.asked).insert(key.to_uppercase());
        }
        self.get(key)
    }

    /// Whether `key` is a secret: it is in the file, or an extension has requested it.
    ///
    /// # Errors
    /// As [`Secrets::get`].
    pub fn declares(&self, key: &str) -> Result<bool> {
        let name = key.to_uppercase();
        let is_same = |stored: &yaml_serde::Value| {
            (stored.as_str()).is_some_and(|stored| stored.to_uppercase() == name)
        };
        let is_asked = lock(&self.asked).contains(&name);
        Ok(is_asked || self.file.load()?.keys().any(is_same))
    }

    /// Stores `value` under `key`.
    ///
    /// # Errors
    /// As [`super::Config::edit`], without quoting the file.
    pub fn set(&self, key: &str, value: &Value) -> Result<()> {
        let value = yaml_text::from_json(value);
        self.file.edit(|root| {
            root.insert(key.into(), value.clone());
            Ok(())
        })
    }

    /// Removes `key`; returns whether it existed.
    ///
    /// # Errors
    /// As [`Secrets::set`].
    pub fn remove(&self, key: &str) -> Result<bool> {
        self.file.edit(|root| Ok(root.shift_remove(key).is_some()))
    }
}

/// A secret that looks like a number keeps its digits: `007` is not `7`.
fn from_env(text: String) -> Value {
    match parse_env_value(&text) {
        Value::Number(number) if number.to_string() != text => Value::String(text),
        value => value,
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
