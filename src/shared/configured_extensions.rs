//! Looking up, enabling, disabling and removing the extensions in the user's configuration.

use gosling_core::builtin;
use gosling_core::extension::configured::{self, Entry};
use gosling_core::extension::{config, platform_extensions};
use gosling_core::store::{self, Config};
use serde_json::{Value, json};
use std::fmt;
use yaml_serde::{Mapping, Value as Yaml};

/// Why the configuration was not changed.
#[derive(Debug)]
pub enum ChangeError {
    /// There are no extensions of these names.
    Unknown(Vec<String>),
    /// As for an extension that is set.
    NotSet(configured::ChangeError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Unknown(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                write!(f, "no extension is called {}", names.join(" or "))
            }
            ChangeError::NotSet(error) => error.fmt(f),
        }
    }
}

impl From<store::Error> for ChangeError {
    fn from(error: store::Error) -> Self {
        ChangeError::NotSet(error.into())
    }
}

/// What happens to entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// New sessions start them.
    Enable,
    /// New sessions do not start them.
    Disable,
    /// They are taken out of the file.
    Remove,
}

/// The entry of this name; `None` if there is none.
///
/// # Errors
/// The configuration cannot be read.
pub fn find(config: &Config, name: &str) -> store::Result<Option<Entry>> {
    let mut entries = configured::list(config)?.entries;
    let position = |name: &str| entries.iter().position(|entry| entry.key == name);
    let found = position(&config::key(name)).or_else(|| position(name));
    Ok(found.map(|at| entries.swap_remove(at)))
}

/// Enables, disables or removes the extensions of these names: all, or none if that fails for one. A platform
/// extension, or a server that gosling ships, gets an entry when it is enabled and the configuration does not name it.
///
/// # Errors
/// There is no such extension, one to enable is invalid, or the configuration cannot be read or written.
pub fn change(config: &Config, names: &[String], change: Change) -> Result<(), ChangeError> {
    config.edit_extensions(|section| {
        let keys = names.iter().map(|name| key_in(section, name));
        let keys: Vec<Option<String>> = keys.collect();
        let unknown = names.iter().zip(&keys).filter(|(name, key)| {
            key.is_none() && (change == Change::Remove || known_entry(name).is_none())
        });
        let unknown: Vec<String> = unknown.map(|(name, _)| name.clone()).collect();
        if !unknown.is_empty() {
            return Err(ChangeError::Unknown(unknown));
        }
        // Changes a copy, so that nothing is written if one of the entries is refused.
        let mut changed = section.clone();
        for (name, key) in names.iter().zip(keys) {
            match (change, key) {
                (Change::Remove, Some(key)) => drop(changed.shift_remove(key.as_str())),
                (_, Some(key)) => set_enabled(&mut changed, &key, change == Change::Enable)?,
                (Change::Enable, None) => {
                    if let Some((key, entry)) = known_entry(name) {
                        changed.insert(key.as_str().into(), store::yaml_from_json(&entry));
                        set_enabled(&mut changed, &key, true)?;
                    }
                }
                (Change::Disable | Change::Remove, None) => {}
            }
        }
        *section = changed;
        Ok(())
    })?
}

/// The key of the entry for `name`: as the API makes it, or as it was written by hand.
fn key_in(section: &Mapping, name: &str) -> Option<String> {
    let key = config::key(name);
    let found = [key.as_str(), name];
    let found = found.into_iter().find(|key| section.contains_key(key));
    found.map(str::to_owned)
}

/// Key and entry of a platform extension or a server that gosling ships, for a configuration without it.
fn known_entry(name: &str) -> Option<(String, Value)> {
    let wanted = config::key(name);
    let all = platform_extensions::absent(|_| false);
    all.into_iter().find(|(key, _)| *key == wanted).or_else(|| {
        let shipped = builtin::has(&wanted).then(|| {
            json!({
                "enabled": false, "type": "builtin", "name": wanted, "description": "Part of gosling",
                "display_name": wanted, "timeout": 300, "bundled": true, "available_tools": [],
            })
        });
        Some((wanted, shipped?))
    })
}

fn set_enabled(section: &mut Mapping, key: &str, enabled: bool) -> Result<(), ChangeError> {
    let not_set = |reason| ChangeError::NotSet(configured::ChangeError::Refused(reason));
    let refused = |reason: &str| not_set(format!("the extension {key:?}: {reason}"));
    let Some(Yaml::Mapping(entry)) = section.get_mut(key) else {
        return Err(refused(
            "its entry is not a mapping; remove it, and add the extension again",
        ));
    };
    if enabled {
        let read = Entry::read((
            key.to_owned(),
            store::yaml_to_json(&Yaml::Mapping(entry.clone())),
        ));
        let config = read.config.map_err(|reason| refused(&reason))?;
        config.check_environment().map_err(not_set)?;
    }
    entry.insert("enabled".into(), enabled.into());
    Ok(())
}
