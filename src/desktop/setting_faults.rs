//! What is wrong with the settings.

use crate::agent::Registry;
use crate::store;
use crate::store::Config;
use crate::store::settings::{self, Fault, Kind, Setting, in_file, misspelled};
use gosling_providers::catalog::custom_providers::CustomProviders;
use gosling_providers::catalog::misplaced_secret;

/// What is wrong with the settings: values, names, secrets, and files of the user's providers.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn setting_faults(registry: &Registry) -> store::Result<Vec<Fault>> {
    let config = &registry.stores().config;
    let own = registry.catalog().settings();
    let mut faults = value_and_name_faults(config, &own)?;
    let extensions = config.extensions()?.warnings.into_iter();
    faults.extend(extensions.map(|text| Fault::warning(format!("extensions: {text}"))));
    faults.extend(provider_faults(registry)?);
    Ok(faults)
}

/// The faults of the settings: wrong values of those in `ALL` and of `more`, and wrong names in the file and in the
/// environment. Secrets are not read.
///
/// # Errors
/// As [`Config::get`].
fn value_and_name_faults(config: &Config, more: &[Setting<'_>]) -> store::Result<Vec<Fault>> {
    let root = config.all()?;
    let mut found = Vec::new();
    for setting in settings::ALL.iter().copied().chain(more) {
        if matches!(setting.kind, Kind::Secret) {
            let is_misplaced = root.contains_key(setting.name) && !setting.environment_only;
            found.extend(is_misplaced.then(|| misplaced_secret(setting.name, config.path())));
        } else if let Some(given) = config.given(setting.name)?
            && (!given.is_in_file() || !setting.environment_only)
        {
            found.extend(setting.fault_of(&given));
        }
    }
    found.extend(settings::variables().filter_map(|name| misspelled(&name, None)));
    found.extend(in_file(config.path(), root.keys().map(String::as_str)));
    Ok(found)
}

/// What is wrong with the secrets of providers, and with the files of the user's own.
fn provider_faults(registry: &Registry) -> store::Result<Vec<Fault>> {
    let (catalog, stores) = (registry.catalog(), registry.stores());
    let mut found = Vec::new();
    for setting in catalog.settings() {
        let is_secret = matches!(setting.kind, Kind::Secret | Kind::Headers);
        if is_secret && let Some(given) = stores.secrets.given(setting.name)? {
            found.extend(setting.fault_of(&given));
        }
    }
    let (customs, unused) = CustomProviders::of(&stores.config).read_all();
    for name in customs.iter().filter_map(|(_, custom)| custom.key_name()) {
        let given = stores.config.given(name)?;
        if given.is_some_and(|given| given.is_in_file()) {
            found.push(misplaced_secret(name, stores.config.path()));
        }
    }
    found.extend(unused.iter().map(|file| Fault::warning(file.to_string())));
    Ok(found)
}
