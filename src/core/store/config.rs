//! `config.yaml`: settings and extensions, as Goose keeps them.

use super::settings::{self, Given};
use super::shared_yaml_file::YamlFile;
use super::{Env, Error, Paths, Result, env_override, parse_env_value, process_env, yaml_text};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use yaml_serde::{Mapping, Value as Yaml};

const EXTENSIONS: &str = "extensions";

/// The settings of one `config.yaml`, shared by threads and with other processes.
///
/// The file is read again whenever it changes. A rewrite keeps the order of the keys and everything that it
/// does not change, in any YAML; it loses comments and layout. Before the first rewrite, the file is copied to
/// `config.yaml.bak`, and up to three older copies with other content are kept as `config.yaml.bak.1` to
/// `.bak.3`. A file that does not parse is not written to.
///
/// Clones share the file and its cache.
#[derive(Clone)]
pub struct Config {
    pub(crate) file: Arc<YamlFile>,
    env: Arc<Env>,
}

/// The entries under `extensions:`, and what is wrong with the entries that were left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions {
    /// Key and configuration, `enabled` included, in the order of the file.
    pub entries: Vec<(String, Value)>,
    /// One sentence for each entry that is not a mapping, or whose `enabled` is neither true nor false.
    pub warnings: Vec<String>,
}

impl Config {
    /// The `config.yaml` of `paths`, with variables of this process overriding it. Logs those that look like
    /// misspelled settings.
    pub fn new(paths: &Paths) -> Self {
        settings::warn_of_variables();
        Self::with_env(paths.config.join("config.yaml"), process_env())
    }

    /// The file `path`, with the variables of `env` overriding it.
    pub fn with_env(path: PathBuf, env: Env) -> Self {
        Self {
            file: Arc::new(YamlFile::new(path).reporting(settings::warn_of_names)),
            env: Arc::new(env),
        }
    }

    /// The path of the file, which may not exist.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The value of `key`: of the environment variable of that name, else of that name in upper case, else of
    /// the file.
    ///
    /// # Errors
    /// [`Error::Broken`] when the file does not parse, [`Error::Io`] when it cannot be read.
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        if let Some(text) = env_override(&self.env, key) {
            return Ok(Some(parse_env_value(&text)));
        }
        Ok(self.file.load()?.get(key).map(yaml_text::to_json))
    }

    /// Whether the file has `key`.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn has(&self, key: &str) -> Result<bool> {
        Ok(self.file.load()?.contains_key(key))
    }

    /// As [`Config::get`], with the place of the value: what the readers of [`settings`] read. Null counts as not set.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn given(&self, key: &str) -> Result<Option<Given<'_>>> {
        Given::read(&self.env, &self.file, key)
    }

    /// All settings in the file, without the environment.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn all(&self) -> Result<Map<String, Value>> {
        Ok(yaml_text::to_json_object(&*self.file.load()?))
    }

    /// Sets `key`: in its place if it exists, else at the end.
    ///
    /// # Errors
    /// As [`Config::edit`]; [`Error::Unwritable`] for an empty key, and for an `extensions` that is not a
    /// mapping, because every extension would be lost.
    pub fn upsert(&self, key: &str, value: &Value) -> Result<()> {
        let refused = |reason: &str| Error::unwritable(self.path(), reason);
        if key.trim().is_empty() {
            return Err(refused("a setting needs a name"));
        }
        if key == EXTENSIONS && !value.is_object() {
            return Err(refused("`extensions` is a mapping of names to entries"));
        }
        let value = yaml_text::from_json(value);
        self.edit(|root| {
            root.insert(key.into(), value.clone());
            Ok(())
        })
    }

    /// Removes `key`; returns whether it existed.
    ///
    /// # Errors
    /// As [`Config::edit`].
    pub fn remove(&self, key: &str) -> Result<bool> {
        self.edit(|root| Ok(root.shift_remove(key).is_some()))
    }

    /// Changes the file with `change`, under the lock between processes.
    ///
    /// Writes nothing when `change` fails or changes nothing. `change` runs again if the file changes in the
    /// meantime.
    ///
    /// # Errors
    /// [`Error::Broken`] when the file does not parse, [`Error::Unwritable`] when the new content would not,
    /// [`Error::Locked`] and [`Error::Changing`] when other processes hold the lock or change the file,
    /// [`Error::Io`], and the errors of `change`. The file is unchanged then.
    pub fn edit<R>(&self, change: impl FnMut(&mut Mapping) -> Result<R>) -> Result<R> {
        self.file.edit(change)
    }

    /// The file, with its backups.
    pub fn file(&self) -> &YamlFile {
        &self.file
    }

    /// The entries under `extensions:`.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn extensions(&self) -> Result<Extensions> {
        let root = self.file.load()?;
        let mut found = Extensions::default();
        let section = match root.get(EXTENSIONS) {
            None | Some(Yaml::Null) => return Ok(found),
            Some(Yaml::Mapping(section)) => section,
            Some(_) => {
                found
                    .warnings
                    .push("'extensions' is not a mapping of names to entries".to_owned());
                return Ok(found);
            }
        };
        for (key, entry) in section {
            match (yaml_text::to_json(key), yaml_text::to_json(entry)) {
                (Value::String(key), entry @ Value::Object(_)) => {
                    if !matches!(entry["enabled"], Value::Bool(_) | Value::Null) {
                        let warning = "counts as not enabled: `enabled` must be true or false";
                        found.warnings.push(format!("'{key}' {warning}"));
                    }
                    found.entries.push((key, entry));
                }
                (Value::String(key), _) => found.warnings.push(format!("'{key}' is not a mapping")),
                (key, _) => found.warnings.push(format!("the key {key} is not text")),
            }
        }
        Ok(found)
    }

    /// Sets the entry `key` under `extensions:`, if it does not exist or with `replace`; returns whether it existed.
    ///
    /// # Errors
    /// As [`Config::edit`]; [`Error::Broken`] also when `extensions` holds something else.
    pub fn set_extension(&self, key: &str, entry: &Value, replace: bool) -> Result<bool> {
        let entry = yaml_text::from_json(entry);
        self.edit_extensions(|section| {
            if !replace && section.contains_key(key) {
                return true;
            }
            section.insert(key.into(), entry.clone()).is_some()
        })
    }

    /// Removes the entry `key` under `extensions:`; returns whether it existed.
    ///
    /// # Errors
    /// As [`Config::set_extension`].
    pub fn remove_extension(&self, key: &str) -> Result<bool> {
        self.edit_extensions(|section| section.shift_remove(key).is_some())
    }

    /// Changes the entries under `extensions:` with `change`, as [`Config::edit`] changes the file. Without
    /// that key, `change` gets no entries.
    ///
    /// # Errors
    /// As [`Config::set_extension`].
    pub fn edit_extensions<R>(&self, mut change: impl FnMut(&mut Mapping) -> R) -> Result<R> {
        self.edit(|root| match root.get_mut(EXTENSIONS) {
            Some(Yaml::Mapping(section)) => Ok(change(section)),
            None | Some(Yaml::Null) => {
                let mut section = Mapping::new();
                let changed = change(&mut section);
                if !section.is_empty() {
                    root.insert(EXTENSIONS.into(), section.into());
                }
                Ok(changed)
            }
            Some(_) => {
                let reason = "`extensions` is not a mapping of names to entries";
                Err(Error::broken(self.path(), reason))
            }
        })
    }
}
