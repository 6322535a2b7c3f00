//! The settings of a provider, read for every use: its URLs, headers and options.

use crate::credentials::{CredentialsSpec, Parameters};
use crate::model_facts::ModelFacts;
use crate::outbound::is_loopback_url;
use crate::provider_spec::{ProviderSpec, Setting, SettingRole, setting};
use crate::server_url::{deployment_url, models_url, origin};
use crate::store::settings::{self as store, Fault, Given};
use crate::store::{Config, Secrets};
use crate::sys::TimeLimit;
use crate::wire_protocol::{Endpoint, WireProtocol};
use crate::{Error, ErrorClass, HttpProvider, HttpProviderOptions, Provider};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Everything that a provider is made from. It does not implement `Debug`, because headers contain the key.
#[derive(Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) protocol: &'static WireProtocol,
    pub(super) title: String,
    pub(super) endpoint: Endpoint,
    pub(super) credentials: Option<CredentialSettings>,
    pub(super) timeout: Duration,
    pub(super) key_hint: String,
}

/// The settings of credentials that are more than a key.
#[derive(Clone)]
pub(super) struct CredentialSettings {
    spec: &'static CredentialsSpec,
    parameters: Parameters,
}

impl PartialEq for CredentialSettings {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.spec, other.spec) && self.parameters == other.parameters
    }
}

impl Settings {
    pub(super) fn provider(
        self,
        name: &str,
        offline: bool,
        facts: Arc<dyn ModelFacts>,
        secrets: &Arc<Secrets>,
    ) -> Arc<dyn Provider> {
        let options = HttpProviderOptions {
            timeout: self.timeout,
            offline,
            key_hint: self.key_hint,
            ..HttpProviderOptions::new(self.title)
        };
        let protocol = (self.protocol.connect)(self.endpoint);
        let provider = HttpProvider::new(name, protocol, options).with_facts(facts);
        Arc::new(match self.credentials {
            Some(CredentialSettings { spec, parameters }) => {
                provider.with_credentials((spec.connect)(&parameters, secrets, offline))
            }
            None => provider,
        })
    }
}

/// Reads settings; the environment takes precedence over the files.
#[derive(Clone, Copy)]
pub(super) struct SettingsReader<'a> {
    pub(super) config: &'a Config,
    pub(super) secrets: &'a Secrets,
}

impl SettingsReader<'_> {
    /// The value of a setting, which is not a secret; `None` if it is not set.
    fn given(&self, name: &str) -> Result<Option<Given<'_>>, Error> {
        Ok(self.config.given(name)?)
    }

    /// The value of a secret; `None` if it is not set.
    pub(super) fn given_secret(&self, name: &str) -> Result<Option<Given<'_>>, Error> {
        Ok(self.secrets.given(name)?)
    }

    /// A secret that is text; `None` if it is blank.
    pub(super) fn key(&self, name: &str) -> Result<Option<String>, Error> {
        const KEY: store::Setting<'static> = setting("", SettingRole::Key).declared();
        let key = store::Setting { name, ..KEY };
        Ok(key.text_of(self.given_secret(name)?)?)
    }

    /// The text of a setting that a file of the user names; `None` if it is not set.
    pub(super) fn text_named(&self, name: &str, secret: bool) -> Result<Option<String>, Error> {
        if secret {
            return self.key(name);
        }
        const TEXT: store::Setting<'static> = setting("", SettingRole::Path).declared();
        let text = store::Setting { name, ..TEXT };
        Ok(text.text_of(self.given(name)?)?)
    }

    /// The value of a setting, from where it belongs; `None` if it is not set.
    fn value(&self, setting: &Setting) -> Result<Option<Given<'_>>, Error> {
        if setting.secret() {
            self.given_secret(setting.name)
        } else {
            self.given(setting.name)
        }
    }

    /// Whether the setting has a value of the user.
    pub(super) fn is_set(&self, setting: &Setting) -> bool {
        let value = self.value(setting).ok().flatten();
        value.is_some_and(|value| !value.is_blank())
    }

    /// The text of a setting; its default if it is not set, and `None` without one.
    fn text(&self, setting: &Setting) -> Result<Option<String>, Error> {
        let text = setting.declared().text_of(self.value(setting)?)?;
        Ok(text.or_else(|| setting.default.map(str::to_owned)))
    }

    /// Headers of the user, who may count them among the secrets or not.
    fn headers(&self, setting: &Setting) -> Result<Vec<(String, String)>, Error> {
        let value = match self.value(setting)? {
            None => self.given(setting.name)?,
            value => value,
        };
        Ok(setting.declared().pairs_of(value)?)
    }
}

/// The settings of a builtin provider.
///
/// # Errors
/// [`ErrorClass::Config`] with the name of a missing setting.
pub(super) fn resolve(spec: &ProviderSpec, reader: SettingsReader<'_>) -> Result<Settings, Error> {
    let find = |role| spec.settings.iter().find(|setting| setting.role == role);
    let text = |role| find(role).map_or(Ok(None), |setting| reader.text(setting));
    let mut key = None;
    let mut key_name = None;
    let mut headers = Vec::new();
    let parameters = parameters(spec, reader)?;
    for setting in spec.settings {
        match setting.role {
            SettingRole::Headers => headers.extend(reader.headers(setting)?),
            SettingRole::Header(name) => {
                let value = reader.text(setting)?;
                headers.extend(value.map(|value| (name.to_owned(), value)));
            }
            SettingRole::Key => {
                key_name = Some(setting.name);
                key = (reader.text(setting)?).map(|key| key_header(spec.protocol, &key));
            }
            SettingRole::KeyHeader(name) => {
                key_name = Some(setting.name);
                key = (reader.text(setting)?).map(|key| (name.to_owned(), key));
            }
            // Whether a key is required depends on the host, so it is checked below.
            SettingRole::Host | SettingRole::Deployment if reader.text(setting)?.is_none() => {
                return Err(unset(spec.title, setting.name));
            }
            _ => {}
        }
    }
    let timeout = match find(SettingRole::Timeout) {
        Some(setting) => setting.declared().count_of(Ok(reader.value(setting)?)),
        None => None,
    };
    let bearer = text(SettingRole::Bearer)?.map(|token| bearer_header(&token));
    let vendor = find(SettingRole::Host).and_then(|setting| setting.default);
    let base = (spec.protocol.base_url)(&text(SettingRole::Host)?.unwrap_or_default());
    let deployment = text(SettingRole::Deployment)?;
    let is_set = |name: &&str| parameters.get(name).is_some();
    let is_complete = |way: &&[&str]| way.iter().all(is_set);
    let credentials =
        (spec.credentials).filter(|it| it.ways.is_empty() || it.ways.iter().any(is_complete));
    let own_url = credentials.and_then(|spec| spec.url);
    let own_url = own_url.map(|url| url(&parameters)).transpose();
    let url = match (
        own_url.map_err(|error| with_title(spec.title, error))?,
        &deployment,
    ) {
        (Some(url), _) => url,
        (None, Some(name)) => {
            let version = text(SettingRole::ApiVersion)?.unwrap_or_default();
            deployment_url(&base, name, &version)
        }
        (None, None) => {
            let path = text(SettingRole::Path)?;
            let fixed = Some(spec.path).filter(|path| !path.is_empty());
            (spec.protocol.endpoint_url)(&base, path.as_deref().or(fixed))
        }
    };
    let credential = bearer.or(key);
    if credential.is_none()
        && credentials.is_none()
        && !spec.local
        && requires_key(spec.protocol, vendor, &base)
        && !has_credential(&headers)
    {
        return Err(missing_key(
            spec.title,
            key_name.unwrap_or_default(),
            reader,
        ));
    }
    // A key is preferred to what stands in for it.
    let credentials = credentials.filter(|spec| spec.url.is_some() || credential.is_none());
    headers.extend(credential);
    Ok(Settings {
        protocol: spec.protocol,
        title: spec.title.to_owned(),
        endpoint: Endpoint {
            headers,
            stream_usage: spec.counts_on_request,
            marks_cache: spec.marks_cache,
            reasoning_back: spec.wants_reasoning,
            deployment,
            ..endpoint(url)
        },
        credentials: credentials.map(|spec| CredentialSettings { spec, parameters }),
        timeout: timeout.map_or(DEFAULT_TIMEOUT, |it| TimeLimit::from_secs(it).get()),
        key_hint: (key_name.filter(|_| credentials.is_none()))
            .map_or(String::new(), |name| format!("check {name}")),
    })
}

/// The values that only the provider's credentials and login read.
pub(super) fn parameters(
    spec: &ProviderSpec,
    reader: SettingsReader<'_>,
) -> Result<Parameters, Error> {
    let mut parameters = Parameters::default();
    for setting in spec.settings {
        if let SettingRole::Host
        | SettingRole::Parameter
        | SettingRole::Credential
        | SettingRole::Login = setting.role
            && let Some(value) = reader.text(setting)?
        {
            parameters.add(setting.name, value);
        }
    }
    Ok(parameters)
}

pub(super) fn with_title(title: &str, error: Error) -> Error {
    Error::new(error.class, format!("{title}: {}", error.message))
}

/// Whether the URL is at the vendor's own server, or the provider has none.
pub(super) fn is_at_vendor(spec: &ProviderSpec, url: &str) -> bool {
    let mut settings = spec.settings.iter();
    let host = settings.find(|setting| setting.role == SettingRole::Host);
    match host.and_then(|setting| setting.default) {
        Some(vendor) => origin(&(spec.protocol.base_url)(vendor)) == origin(url),
        None => true,
    }
}

fn unset(title: &str, name: &str) -> Error {
    Error::new(
        ErrorClass::Config,
        format!(
            "{title} needs {name}, which is not set: set it in the environment or in config.yaml"
        ),
    )
}

/// The sentence about a secret in `config.yaml`.
pub fn misplaced_secret(name: &str, path: &Path) -> Fault {
    Fault::warning(format!(
        "{name} in {} is not used, as it is a secret: move it to secrets.yaml or to the environment",
        path.display()
    ))
}

pub(super) fn missing_key(title: &str, name: &str, reader: SettingsReader<'_>) -> Error {
    let why = match reader.config.given(name) {
        Ok(Some(given)) if given.is_in_file() => {
            misplaced_secret(name, reader.config.path()).to_string()
        }
        _ => format!(
            "{name} is not set: set it in the environment, or store it as a secret of that name"
        ),
    };
    Error::new(
        ErrorClass::Config,
        format!("{title} requires a key, and {why}"),
    )
}

/// Whether a key is required: the vendor's own server needs one; another server refuses the request itself.
fn requires_key(protocol: &WireProtocol, vendor: Option<&str>, base: &str) -> bool {
    match vendor {
        Some(vendor) => origin(&(protocol.base_url)(vendor)) == origin(base),
        None => !is_loopback_url(base),
    }
}

/// Whether the user's headers contain a credential.
fn has_credential(headers: &[(String, String)]) -> bool {
    let credential = |name: &str| {
        ["authorization", "x-api-key", "api-key", "x-goog-api-key"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    headers.iter().any(|(name, _)| credential(name))
}

/// The header for a key.
pub(super) fn key_header(protocol: &WireProtocol, key: &str) -> (String, String) {
    match protocol.key_header {
        Some(name) => (name.to_owned(), key.to_owned()),
        None => bearer_header(key),
    }
}

fn bearer_header(token: &str) -> (String, String) {
    ("Authorization".to_owned(), format!("Bearer {token}"))
}

/// The server of these chat completions.
pub(super) fn endpoint(chat: String) -> Endpoint {
    let models = models_url(&chat);
    Endpoint::new(chat, models)
}
