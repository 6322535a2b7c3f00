//! Providers made by the catalog.

use gosling::provider::{Catalog, Provider};
use gosling::providers::ProviderCatalog;
use gosling::store::{Config, Secrets};
use std::path::PathBuf;
use std::sync::Arc;

/// The provider of this name, with these variables and no files.
pub fn provider(name: &str, variables: &[(&'static str, &str)]) -> Arc<dyn Provider> {
    catalog(variables).provider(name).unwrap()
}

/// A folder that does not exist.
const NOWHERE: &str = "/no/such/folder";

/// Reads these variables.
fn lookup(
    variables: &[(&'static str, &str)],
) -> Box<impl Fn(&str) -> Option<String> + Send + Sync + use<>> {
    let variables: Vec<(&'static str, String)> = variables
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    Box::new(move |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.clone())
    })
}

/// The configuration of these variables, without a file.
pub fn config(variables: &[(&'static str, &str)]) -> Config {
    let path = PathBuf::from(NOWHERE).join("config.yaml");
    Config::with_env(path, lookup(variables))
}

/// All providers, with these variables and no files.
pub fn catalog(variables: &[(&'static str, &str)]) -> ProviderCatalog {
    let path = PathBuf::from(NOWHERE).join("secrets.yaml");
    let secrets = Secrets::with_env(path, lookup(variables));
    ProviderCatalog::new(config(variables), Arc::new(secrets), false)
}
