//! The extensions in the user's configuration: listing and adding them. Other processes may change the file at the same
//! time.

use super::{ExtensionConfig, config, platform_extensions};
use crate::store::{self, Config};
use serde_json::Value;
use std::fmt;

/// An entry of the configuration, or a platform extension that the configuration does not name.
pub struct Entry {
    /// Its key under `extensions:`.
    pub key: String,
    /// Whether new sessions start it.
    pub enabled: bool,
    /// The configuration, or why it cannot be read.
    pub config: Result<ExtensionConfig, String>,
}

/// The configured extensions.
pub struct Listed {
    /// In the order of the file, and after them the platform extensions that it does not name.
    pub entries: Vec<Entry>,
    /// One sentence for each entry that is not a mapping.
    pub warnings: Vec<String>,
}

/// Why the configuration was not changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeError {
    /// The name has no characters that could identify an extension.
    NoKey,
    /// The extension may not be configured.
    Refused(String),
    /// The file cannot be read or written.
    Store(store::Error),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::NoKey => {
                f.write_str("`name` has no characters that could identify the extension")
            }
            ChangeError::Refused(reason) => f.write_str(reason),
            ChangeError::Store(error) => error.fmt(f),
        }
    }
}

impl From<store::Error> for ChangeError {
    fn from(error: store::Error) -> Self {
        ChangeError::Store(error)
    }
}

/// The configured extensions, and the platform extensions.
///
/// # Errors
/// The configuration cannot be read.
pub fn list(config: &Config) -> store::Result<Listed> {
    let found = config.extensions()?;
    let mut entries = found.entries;
    let absent = platform_extensions::absent(|name| entries.iter().any(|(key, _)| key == name));
    entries.extend(absent);
    Ok(Listed {
        entries: entries.into_iter().map(Entry::read).collect(),
        warnings: found.warnings,
    })
}

impl Entry {
    /// Reads the entry of a key.
    pub fn read((key, mut entry): (String, Value)) -> Self {
        let fields = entry.as_object_mut();
        let enabled = fields.and_then(|fields| fields.shift_remove("enabled"));
        Entry {
            key,
            enabled: enabled == Some(Value::Bool(true)),
            config: ExtensionConfig::from_value(entry),
        }
    }
}

/// Stores an extension under the key of `name`; returns whether there was one. Without `replace`, that one
/// stays as it is.
///
/// # Errors
/// The name or a variable of the extension is refused, or the configuration cannot be read or written.
pub fn set(
    config: &Config,
    name: &str,
    extension: &ExtensionConfig,
    enabled: bool,
    replace: bool,
) -> Result<bool, ChangeError> {
    let key = config::key(name);
    if key.is_empty() {
        return Err(ChangeError::NoKey);
    }
    extension
        .check_environment()
        .map_err(ChangeError::Refused)?;
    let entry = extension.to_entry(enabled);
    Ok(config.set_extension(&key, &entry, replace)?)
}
