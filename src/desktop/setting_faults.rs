//! What is wrong with the settings.

use crate::agent::Registry;
use crate::store;
use crate::store::settings::{Fault, Kind};
use gosling_providers::catalog::custom_providers::CustomProviders;
use gosling_providers::catalog::misplaced_secret;
use gosling_shared::value_and_name_faults;

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

/// What is wrong with the secrets of providers, and with the files of the user's own.
fn provider_faults(registry: &Registry) -> store::Result<Vec<Fault>> {
    let (catalog, stores) = (registry.catalog(), registry.stores());
    let mut found = Vec::new();
    for setting in catalog.settings() {
        let can_be_misplaced = matches!(setting.kind, Kind::Secret) && !setting.environment_only;
        if can_be_misplaced && stores.config.has(setting.name)? {
            found.push(misplaced_secret(setting.name, stores.config.path()));
        }
        let is_secret = matches!(setting.kind, Kind::Secret | Kind::Headers(_));
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
