//! Finding the vendor of a key from the form of the key.

use crate::agent::Registry;
use crate::provider::Error;
use crate::provider::catalog::{Catalog, ProviderDetails, ProviderType};
use crate::store::{Config, Secrets};
use crate::sys::cancel::Cancel;
use gosling_providers::ProviderCatalog;
use gosling_providers::outbound::is_loopback_url;
use std::path::PathBuf;
use std::sync::Arc;

/// How keys begin, and the provider that gives out keys of this form. No beginning is that of another's keys.
const KEY_PREFIXES: [(&str, &str); 10] = [
    ("sk-ant-", "anthropic"),
    ("sk-or-", "openrouter"),
    ("sk-proj-", "openai"),
    ("sk-svcacct-", "openai"),
    ("AIza", "google"),
    ("gsk_", "groq"),
    ("xai-", "xai"),
    ("csk-", "cerebras"),
    ("fw_", "fireworks"),
    ("tgp_v1_", "together"),
];

/// A part of all older keys of OpenAI. Other vendors' keys begin with `sk-` too.
const IN_OPENAI_KEYS: &str = "T3BlbkFJ";

/// The provider that a key belongs to.
#[derive(Clone, Debug)]
pub(crate) struct DetectedProvider {
    /// Its name in the configuration.
    pub(crate) name: &'static str,
    /// Its models: those that it lists for the key, or the known ones if gosling runs offline.
    pub(crate) models: Vec<String>,
}

/// The provider of a key; `None` if its form belongs to no provider alone.
///
/// The key is sent to this vendor only, to list its models, and not at all if gosling runs offline. Another
/// host in the user's settings, which may be another vendor's, does not get it unless it is on this machine.
/// No stored secret is sent with it.
///
/// # Errors
/// When the provider refuses the key, cannot be reached, or its settings are invalid.
pub(crate) fn detect_provider(
    registry: &Registry,
    key: &str,
    cancel: &Cancel,
) -> Result<Option<DetectedProvider>, Error> {
    let Some(name) = vendor(key) else {
        return Ok(None);
    };
    let builtin = registry.catalog().entries().into_iter();
    let mut builtin = builtin.filter(|entry| entry.provider_type != ProviderType::Custom);
    let Some(details) = builtin.find(|entry| entry.name == name) else {
        return Ok(None);
    };
    let offline = registry.is_offline();
    let config = registry.stores().config.clone();
    let catalog = catalog_with_key(&details, key, config, offline)?;
    let models = if offline && !is_loopback_url(&catalog.url(name)?) {
        catalog.known_models(name)
    } else {
        let provider = catalog.provider(name)?;
        provider.models(cancel).map_err(|error| {
            let message = error.message.replace(key, "[secret]");
            Error::new(error.class, message)
        })?
    };
    Ok(Some(DetectedProvider { name, models }))
}

/// A catalog in which the vendor has this key, and no provider another secret: with the user's settings if they
/// name a host on this machine, else with the defaults.
fn catalog_with_key(
    vendor: &ProviderDetails,
    key: &str,
    config: Config,
    offline: bool,
) -> Result<ProviderCatalog, Error> {
    let with_key = |config: Config| {
        let (name, key) = (key_setting(vendor), key.to_owned());
        let env = move |asked: &str| (name.as_deref() == Some(asked)).then(|| key.clone());
        let secrets = Secrets::with_env(PathBuf::new(), Box::new(env));
        ProviderCatalog::new(config, Arc::new(secrets), offline)
    };
    let catalog = with_key(config);
    if is_loopback_url(&catalog.url(&vendor.name)?) {
        return Ok(catalog);
    }
    let catalog = with_key(Config::with_env(PathBuf::new(), Box::new(|_| None)));
    catalog.url(&vendor.name).map(|_| catalog)
}

/// The name of the only provider with keys of this form.
fn vendor(key: &str) -> Option<&'static str> {
    let mut prefixes = KEY_PREFIXES.iter();
    let by_prefix = prefixes.find(|(prefix, _)| key.starts_with(prefix));
    match by_prefix {
        Some((_, name)) => Some(name),
        None if key.starts_with("sk-") && key.contains(IN_OPENAI_KEYS) => Some("openai"),
        None => None,
    }
}

/// The name of the secret that is the vendor's key.
fn key_setting(vendor: &ProviderDetails) -> Option<String> {
    let mut settings = vendor.metadata.config_keys.iter();
    let key = settings.find(|setting| setting.primary && setting.secret);
    key.map(|setting| setting.name.clone())
}

#[cfg(test)]
mod tests;
