//! Finding the vendor of a key from the form of the key.

use super::builtin_providers::builtin_providers;
use super::settings::{self, Settings, SettingsReader};
use super::{Catalog, Error};
use crate::outbound::is_loopback_url;
use crate::provider::provider_spec::{ProviderSpec, SettingRole};
use crate::sys::cancel::Cancel;

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
pub struct DetectedProvider {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its models: those that it lists for the key, or the known ones if gosling runs offline.
    pub models: Vec<String>,
}

impl Catalog {
    /// The provider of a key; `None` if its form belongs to no provider alone.
    ///
    /// The key is sent to this vendor only, to list its models, and not at all if gosling runs offline. Another
    /// host in the user's settings, which may be another vendor's, does not get it unless it is on this machine.
    /// No stored secret is sent with it.
    ///
    /// # Errors
    /// When the provider refuses the key, cannot be reached, or its settings are invalid.
    pub fn detect_provider(
        &self,
        key: &str,
        cancel: &Cancel,
    ) -> Result<Option<DetectedProvider>, Error> {
        let found = vendor(key).and_then(|name| builtin_providers().find(|spec| spec.name == name));
        let Some(spec) = found else {
            return Ok(None);
        };
        let settings = self.settings_for_key(spec, key)?;
        let known = || spec.models.iter().map(|model| model.name.to_owned());
        let models = if self.offline && !is_loopback_url(&settings.endpoint.url) {
            known().collect()
        } else {
            let provider = settings.provider(spec.name, self.offline);
            provider.models(cancel).map_err(|error| {
                let message = error.message.replace(key, "[secret]");
                Error::new(error.class, message)
            })?
        };
        let name = spec.name;
        Ok(Some(DetectedProvider { name, models }))
    }

    /// The settings of the vendor with this key.
    fn settings_for_key(&self, spec: &ProviderSpec, key: &str) -> Result<Settings, Error> {
        let reader = SettingsReader {
            given: key_setting(spec).map(|name| (name, key)),
            ..self.reader()
        };
        let settings = settings::resolve(spec, reader)?;
        if is_loopback_url(&settings.endpoint.url) {
            return Ok(settings);
        }
        let reader = SettingsReader {
            defaults_only: true,
            ..reader
        };
        settings::resolve(spec, reader)
    }
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

fn key_setting(spec: &ProviderSpec) -> Option<&'static str> {
    let mut settings = spec.settings.iter();
    let is_key = |role| matches!(role, SettingRole::Key | SettingRole::KeyHeader(_));
    let setting = settings.find(|setting| is_key(setting.role));
    setting.map(|setting| setting.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features;
    use crate::store::{Config, Secrets};
    use std::sync::Arc;

    #[test]
    fn only_a_form_of_one_vendor_names_it() {
        for (key, name) in [
            ("sk-ant-api03-x", Some("anthropic")),
            ("sk-or-v1-x", Some("openrouter")),
            ("sk-proj-x", Some("openai")),
            ("sk-abcT3BlbkFJdef", Some("openai")),
            ("sk-0123456789abcdef0123456789abcdef", None),
            ("AIzaSyX", Some("google")),
            ("", None),
            ("SK-ANT-x", None),
            (" sk-ant-x", None),
        ] {
            assert_eq!(vendor(key), name, "{key}");
        }
    }

    #[test]
    fn a_key_goes_to_no_other_host_than_its_vendors_and_this_machine() {
        for (host, url) in [
            (
                "https://api.other-vendor.example",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "http://127.0.0.1:9",
                "http://127.0.0.1:9/v1/chat/completions",
            ),
        ] {
            let env = move |name: &str| match name {
                "OPENAI_HOST" => Some(host.to_owned()),
                "OPENAI_API_KEY" | "OPENAI_ORGANIZATION" => Some("stored".to_owned()),
                _ => None,
            };
            let absent = std::path::PathBuf::from("/nonexistent/x.yaml");
            let config = Config::with_env(absent.clone(), Box::new(env));
            let secrets = Arc::new(Secrets::with_env(absent, Box::new(env)));
            let catalog = Catalog::new(config, secrets, false);
            let spec = builtin_providers().next().unwrap();
            let settings = catalog.settings_for_key(spec, "given").ok().unwrap();
            assert_eq!(settings.endpoint.url, url);
            let keys = settings
                .endpoint
                .headers
                .iter()
                .filter(|(name, _)| name == "Authorization");
            let keys: Vec<&str> = keys.map(|(_, value)| value.as_str()).collect();
            assert_eq!(keys, ["Bearer given"]);
        }
    }

    #[test]
    fn every_named_vendor_has_a_key_and_lists_its_models() {
        for (_, name) in KEY_PREFIXES {
            let Some(spec) = builtin_providers().find(|spec| spec.name == name) else {
                assert!(features::is_left_out(name), "{name}");
                continue;
            };
            assert!(key_setting(spec).is_some() && spec.lists_models, "{name}");
        }
    }
}
