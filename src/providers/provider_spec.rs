//! What describes a provider of the program: its settings and its models.

use super::credentials::CredentialsSpec;
use super::header_settings;
use super::wire_protocol::WireProtocol;
use crate::store::settings::{self as store, Kind, Wrong};

/// What a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingRole {
    /// The key, in the header of the wire protocol.
    Key,
    /// The key, in this header.
    KeyHeader(&'static str),
    /// A bearer token that replaces the key.
    Bearer,
    /// The host of the provider.
    Host,
    /// The path of chat completions.
    Path,
    /// The value of this header.
    Header(&'static str),
    /// Any headers.
    Headers,
    /// The read timeout in seconds.
    Timeout,
    /// Azure's name for a deployed model.
    Deployment,
    /// Azure's version of its API.
    ApiVersion,
    /// A value that only the provider's [`CredentialsSpec`] reads.
    Parameter,
    /// The same for a secret.
    Credential,
    /// The same for a secret of this program alone, which the provider's [`Login`] makes.
    Login,
}

/// A setting, as clients show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) role: SettingRole,
    pub(super) required: bool,
    pub(super) default: Option<&'static str>,
    pub(super) primary: bool,
}

/// A builtin provider.
pub(super) struct ProviderSpec {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// The wire protocol that it speaks.
    pub(super) protocol: &'static WireProtocol,
    /// Its credentials, if they are more than a key.
    pub(super) credentials: Option<&'static CredentialsSpec>,
    /// Clients show it first.
    pub(super) preferred: bool,
    /// It is a server of the user: no key is required.
    pub(super) local: bool,
    /// The largest context to request, unless the user sets another.
    pub(super) max_context: u64,
    /// It can list its models.
    pub(super) lists_models: bool,
    /// It accepts the request to count tokens in a stream (`stream_options`).
    pub(super) counts_on_request: bool,
    /// It takes marks for its cache in requests to Claude (`cache_control`).
    pub(super) marks_cache: bool,
    /// It expects the model's reasoning back.
    pub(super) wants_reasoning: bool,
    /// The families of the models to begin with, the preferred one first, with `*` for the version:
    /// `claude-sonnet-*`.
    pub(super) families: &'static [&'static str],
    /// The provider in the table of models that has its models; its own name if empty.
    pub(super) models: &'static str,
    /// Other names of it in configurations, unless a file of the user has such a name.
    pub(super) aliases: &'static [&'static str],
    /// The path of chat completions if it is not a setting; that of the protocol if empty.
    pub(super) path: &'static str,
    /// A file of the user with this name takes its place.
    pub(super) yields: bool,
    pub(super) doc: &'static str,
    pub(super) settings: &'static [Setting],
}

pub(super) const fn setting(name: &'static str, role: SettingRole) -> Setting {
    Setting {
        name,
        role,
        required: false,
        default: None,
        primary: false,
    }
}

pub(super) const fn key(name: &'static str) -> Setting {
    setting(name, SettingRole::Key).required().primary()
}

pub(super) const fn optional_key(name: &'static str) -> Setting {
    setting(name, SettingRole::Key).primary()
}

pub(super) const fn host(name: &'static str, default: &'static str) -> Setting {
    setting(name, SettingRole::Host).required().or(default)
}

pub(super) const fn path(name: &'static str, default: &'static str) -> Setting {
    setting(name, SettingRole::Path).required().or(default)
}

pub(super) const fn parameter(name: &'static str) -> Setting {
    setting(name, SettingRole::Parameter)
}

pub(super) const fn credential(name: &'static str) -> Setting {
    setting(name, SettingRole::Credential)
}

pub(super) const fn timeout(name: &'static str) -> Setting {
    setting(name, SettingRole::Timeout).or("600")
}

impl Setting {
    pub(super) const fn required(self) -> Self {
        Setting {
            required: true,
            ..self
        }
    }

    pub(super) const fn primary(self) -> Self {
        Setting {
            primary: true,
            ..self
        }
    }

    pub(super) const fn or(self, default: &'static str) -> Self {
        Setting {
            default: Some(default),
            ..self
        }
    }

    /// Its entry in the table of settings.
    pub(super) const fn declared(&self) -> store::Setting<'static> {
        let kind = match self.role {
            SettingRole::Key
            | SettingRole::KeyHeader(_)
            | SettingRole::Bearer
            | SettingRole::Login
            | SettingRole::Credential => Kind::Secret,
            SettingRole::Host => Kind::Url,
            SettingRole::Headers => Kind::Headers(header_settings::read),
            SettingRole::Timeout => Kind::Count(1, u64::MAX),
            SettingRole::Path
            | SettingRole::Header(_)
            | SettingRole::Deployment
            | SettingRole::ApiVersion
            | SettingRole::Parameter => Kind::Text,
        };
        store::Setting {
            name: self.name,
            kind,
            default: match self.default {
                Some(default) => default,
                None => "",
            },
            environment_only: false,
            wrong: match self.role {
                SettingRole::Headers | SettingRole::Timeout => Wrong::Default,
                _ => Wrong::Fails,
            },
        }
    }

    /// Whether it is a secret of this program alone. The credentials of a cloud are those of all programs of the
    /// user, so that MCP servers may inherit them.
    pub(super) fn is_own_secret(&self) -> bool {
        self.secret() && self.role != SettingRole::Credential
    }

    /// Whether it is stored with the secrets.
    pub(super) fn secret(&self) -> bool {
        matches!(
            self.role,
            SettingRole::Key
                | SettingRole::KeyHeader(_)
                | SettingRole::Bearer
                | SettingRole::Headers
                | SettingRole::Login
                | SettingRole::Credential
        )
    }
}

impl ProviderSpec {
    /// The provider in the table of models that has its models.
    pub(super) fn table_name(&self) -> &'static str {
        match self.models {
            "" => self.name,
            other => other,
        }
    }
}

/// The defaults of most providers.
pub(super) const fn hosted(protocol: &'static WireProtocol) -> ProviderSpec {
    ProviderSpec {
        name: "",
        title: "",
        description: "",
        protocol,
        credentials: None,
        preferred: false,
        local: false,
        max_context: u64::MAX,
        lists_models: true,
        counts_on_request: true,
        marks_cache: false,
        wants_reasoning: false,
        families: &[],
        models: "",
        aliases: &[],
        path: "",
        yields: false,
        doc: "",
        settings: &[],
    }
}
