//! The settings of the vendors with a wire protocol of their own, and the default addresses of their servers.
//! Every build has them, because a configuration may hold the keys of a vendor whose protocol the build leaves
//! out, and they stay secret.

use crate::provider::provider_spec::{Setting, SettingRole, host, key, setting, timeout};

pub(in crate::provider) const ANTHROPIC: &[Setting] = &[
    key("ANTHROPIC_API_KEY"),
    host("ANTHROPIC_HOST", "https://api.anthropic.com"),
    setting("ANTHROPIC_AUTH_TOKEN", SettingRole::Bearer),
    setting("ANTHROPIC_CUSTOM_HEADERS", SettingRole::Headers),
    timeout("ANTHROPIC_TIMEOUT"),
];

/// The port of an `OLLAMA_HOST` that names none.
#[cfg(feature = "ollama")]
pub(in crate::provider) const OLLAMA_PORT: u16 = 11434;

pub(in crate::provider) const OLLAMA: &[Setting] = &[
    setting("OLLAMA_HOST", SettingRole::Host)
        .required()
        .or("localhost")
        .primary(),
    setting("OLLAMA_API_KEY", SettingRole::Key),
    timeout("OLLAMA_TIMEOUT"),
];

pub(in crate::provider) const GOOGLE: &[Setting] = &[
    key("GOOGLE_API_KEY"),
    host("GOOGLE_HOST", "https://generativelanguage.googleapis.com"),
    timeout("GOOGLE_TIMEOUT"),
];

pub(in crate::provider) const ALL: [&[Setting]; 3] = [ANTHROPIC, OLLAMA, GOOGLE];
