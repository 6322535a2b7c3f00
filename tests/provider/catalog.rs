//! Providers made by the catalog.

use gosling::provider::{Catalog, Provider};
use gosling::store::{Config, Secrets};
use std::path::PathBuf;
use std::sync::Arc;

/// The provider of this name, with these variables and no files.
pub fn provider(name: &str, variables: &[(&'static str, &str)]) -> Arc<dyn Provider> {
    catalog(variables).provider(name).unwrap()
}

/// All providers, with these variables and no files.
pub fn catalog(variables: &[(&'static str, &str)]) -> Catalog {
    let lookup = || {
        let variables: Vec<(&'static str, String)> = variables
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        Box::new(move |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.clone())
        })
    };
    let nowhere = PathBuf::from("/no/such/folder");
    let config = Config::with_env(nowhere.join("config.yaml"), lookup());
    let secrets = Secrets::with_env(nowhere.join("secrets.yaml"), lookup());
    Catalog::new(config, Arc::new(secrets), false)
}
