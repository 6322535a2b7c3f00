//! The settings as clients see them: secrets are masked.

use crate::agent::Stores;
use crate::extension::platform_extensions;
use crate::provider::Catalog;
use crate::store::settings::{self, Kind};
use crate::store::{self, mask};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The value of a setting for a client.
#[derive(Debug, PartialEq)]
pub enum ShownSetting {
    /// The value as it is.
    Plain(Value),
    /// The beginning of a secret, with asterisks for the rest.
    Masked(String),
}

impl ShownSetting {
    /// All settings of the configuration file, with secrets masked and with every platform extension.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn all(stores: &Stores, catalog: &dyn Catalog) -> store::Result<Map<String, Value>> {
        let mut config = stores.config.all()?;
        let declared = Declared::read(stores, catalog)?;
        for (key, value) in &mut config {
            if declared.is_secret(key)? {
                *value = mask(value).into();
            }
        }
        platform_extensions::complete(&mut config);
        Ok(config)
    }

    /// One setting, from the secrets if `is_secret`; `None` if it is not set, or if only a variable has
    /// this name and it is not that of a setting.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of(
        stores: &Stores,
        catalog: &dyn Catalog,
        key: &str,
        is_secret: bool,
    ) -> store::Result<Option<Self>> {
        let declared = || Declared::read(stores, catalog);
        if is_secret {
            let Some(secret) = stores.secrets.get(key)? else {
                return Ok(None);
            };
            let is_shown = stores.secrets.declares(key)? || declared()?.is_setting(key)?;
            return Ok(is_shown.then(|| ShownSetting::Masked(secret.masked())));
        }
        let Some(value) = stores.config.get(key)? else {
            return Ok(None);
        };
        let declared = declared()?;
        // Another variable of the environment is not for clients.
        if !stores.config.has(key)? && !declared.is_setting(key)? {
            return Ok(None);
        }
        Ok(Some(if declared.is_secret(key)? {
            ShownSetting::Masked(mask(&value))
        } else {
            ShownSetting::Plain(value)
        }))
    }
}

/// The names of settings that providers and extensions declare.
struct Declared<'a> {
    stores: &'a Stores,
    /// By upper-case name: whether the setting is a secret.
    providers: HashMap<String, bool>,
    extensions: HashSet<String>,
}

impl<'a> Declared<'a> {
    fn read(stores: &'a Stores, catalog: &dyn Catalog) -> store::Result<Self> {
        let mut providers = HashMap::new();
        for (name, is_secret) in catalog.setting_names() {
            *providers.entry(name.to_uppercase()).or_insert(false) |= is_secret;
        }
        let entries = stores.config.extensions()?.entries;
        let keys = (entries.iter()).filter_map(|(_, entry)| entry["env_keys"].as_array());
        let names = keys.flatten().filter_map(Value::as_str);
        Ok(Declared {
            stores,
            providers,
            extensions: names.map(str::to_uppercase).collect(),
        })
    }

    /// Whether this is the name of a setting of gosling, of a provider or of an extension.
    fn is_setting(&self, key: &str) -> store::Result<bool> {
        let name = key.to_uppercase();
        let is_own = name.starts_with("GOOSE_") || settings::find(&name).is_some();
        let is_declared = self.providers.contains_key(&name) || self.extensions.contains(&name);
        Ok(is_own || is_declared || self.stores.secrets.declares(key)?)
    }

    /// The declaration of a provider takes precedence: the `env_keys` of an extension may also name a setting
    /// that is not a secret.
    fn is_secret(&self, key: &str) -> store::Result<bool> {
        let name = key.to_uppercase();
        if let Some(&is_secret) = self.providers.get(&name) {
            return Ok(is_secret);
        }
        if settings::find(&name).is_some_and(|setting| matches!(setting.kind, Kind::Secret)) {
            return Ok(true);
        }
        let is_declared = || self.stores.secrets.declares(key);
        Ok(self.extensions.contains(&name) || is_declared()?)
    }
}
