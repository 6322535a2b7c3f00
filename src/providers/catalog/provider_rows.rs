//! The providers that are a row of data: hosts that speak OpenAI's or Anthropic's protocol without settings of their
//! own. `provider_rows.json` has them; it is read when it is needed first.

use super::vendors::protocol_named;
use crate::openai;
use crate::provider_spec::{
    ProviderSpec, Setting, SettingRole, host, hosted, key, path, setting, timeout,
};
use crate::wire_protocol::WireProtocol;
use serde::Deserialize;
use std::sync::OnceLock;

const HOSTS: &str = include_str!("provider_rows.json");

/// A row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    doc: &'static str,
    /// The wire protocol.
    #[serde(default = "openai_name")]
    engine: &'static str,
    /// The setting with the key.
    key: &'static str,
    /// The setting with the URL, and its default.
    host: (&'static str, &'static str),
    /// The setting with the path of chat completions, and its default.
    #[serde(default)]
    path: Option<(&'static str, &'static str)>,
    /// The setting with the read timeout.
    timeout: &'static str,
    #[serde(default)]
    preferred: bool,
    #[serde(default)]
    local: bool,
    #[serde(default)]
    families: Vec<&'static str>,
    #[serde(default)]
    models: &'static str,
    #[serde(default)]
    aliases: Vec<&'static str>,
    #[serde(default = "yes")]
    lists_models: bool,
    #[serde(default = "yes")]
    counts_on_request: bool,
    #[serde(default)]
    wants_reasoning: bool,
    #[serde(default)]
    marks_cache: bool,
}

fn openai_name() -> &'static str {
    openai::PROTOCOL.name
}

fn yes() -> bool {
    true
}

impl Host {
    /// Whatever it has lives as long as the process: the rows are read once.
    fn spec(self) -> ProviderSpec {
        let mut settings: Vec<Setting> = Vec::new();
        let base = match self.host {
            (name, "") => setting(name, SettingRole::Host).required().primary(),
            (name, default) => host(name, default),
        };
        if self.local {
            settings.extend([base.primary(), setting(self.key, SettingRole::Key)]);
        } else {
            settings.extend([key(self.key), base]);
        }
        let fixed_path = match self.path {
            Some(("", fixed)) => fixed,
            Some((name, default)) => {
                settings.push(path(name, default));
                ""
            }
            None => "",
        };
        settings.push(timeout(self.timeout));
        ProviderSpec {
            name: self.name,
            title: self.title,
            description: self.description,
            preferred: self.preferred,
            local: self.local,
            lists_models: self.lists_models,
            counts_on_request: self.counts_on_request,
            wants_reasoning: self.wants_reasoning,
            marks_cache: self.marks_cache,
            families: self.families.leak(),
            models: self.models,
            aliases: self.aliases.leak(),
            path: fixed_path,
            yields: true,
            doc: self.doc,
            settings: settings.leak(),
            ..hosted(protocol_named(self.engine).unwrap_or(&LEFT_OUT))
        }
    }
}

/// In place of a protocol that the build leaves out. Only the settings count of a row that has it.
pub(super) static LEFT_OUT: WireProtocol = WireProtocol {
    name: "",
    ..openai::PROTOCOL
};

/// The rows.
pub(super) fn hosts() -> &'static [ProviderSpec] {
    static ROWS: OnceLock<Vec<ProviderSpec>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let hosts: Vec<Host> = crate::json::from_str(HOSTS).unwrap_or_default();
        hosts.into_iter().map(Host::spec).collect()
    })
}

#[cfg(test)]
mod tests;
