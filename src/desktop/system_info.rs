//! What this server is and runs on, for reports of faults.

use crate::agent::{Registry, enabled_extensions};
use crate::store::settings::{self, Setting};
use crate::sys;
use serde::Serialize;
use std::env::consts;

/// The program, the operating system and the settings in use (`SystemInfo` of Goose's OpenAPI document).
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SystemInfo {
    /// The version of gosling.
    pub(crate) app_version: &'static str,
    /// The operating system.
    pub(crate) os: &'static str,
    /// Its version.
    pub(crate) os_version: String,
    /// The processor.
    pub(crate) architecture: &'static str,
    /// The provider for new sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<String>,
    /// The model for new sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The names of the extensions that the configuration enables.
    pub(crate) enabled_extensions: Vec<String>,
}

impl SystemInfo {
    /// The version, the system, and the settings in use. A configuration that cannot be read counts as empty,
    /// because reports of faults need the rest most then.
    pub(crate) fn of(registry: &Registry) -> SystemInfo {
        let text = |setting: &Setting| {
            setting
                .text(&registry.stores().config)
                .unwrap_or_else(|error| {
                    log::warn!("setting left out of the system's information reason={error}");
                    None
                })
        };
        SystemInfo {
            app_version: env!("CARGO_PKG_VERSION"),
            os: consts::OS,
            os_version: sys::os_version(),
            architecture: consts::ARCH,
            provider: text(&settings::PROVIDER),
            model: text(&settings::MODEL),
            enabled_extensions: enabled_names(registry),
        }
    }
}

fn enabled_names(registry: &Registry) -> Vec<String> {
    let enabled = enabled_extensions(&registry.stores().config).unwrap_or_default();
    (enabled.iter().map(|config| config.name().to_owned())).collect()
}
