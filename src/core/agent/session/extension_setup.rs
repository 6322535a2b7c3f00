//! What a session provides for its extensions, by the user's settings.

use crate::agent::Stores;
use crate::builtin::{OwnServers, SessionData};
use crate::extension::environment::Inherited;
use crate::extension::pinning_check::Pinning;
use crate::extension::sandbox::Level;
use crate::extension::screening_check::Screening;
use crate::extension::{Containers, Context, Limits, Sandboxing, python_runner};
use crate::provider::Catalog;
use crate::store::Config;
use crate::store::settings::{self, Setting};
use crate::sys::{TimeLimit, share_of_memory};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What extensions are set up with.
#[derive(Clone, Copy)]
pub struct ExtensionSetup<'s> {
    pub(in crate::agent) stores: &'s Stores,
    pub(in crate::agent) catalog: &'s dyn Catalog,
    pub(in crate::agent) servers: &'s OwnServers,
    pub(in crate::agent) offline: bool,
    /// Whether the clients show user interfaces of MCP servers.
    pub(in crate::agent) has_user_interfaces: bool,
}

impl ExtensionSetup<'_> {
    /// What a session without a container provides for its extensions.
    pub fn context(self, id: &str, working_dir: &Path, data: Arc<dyn SessionData>) -> Context {
        let Stores {
            config,
            paths,
            secrets,
            ..
        } = self.stores;
        let secrets = secrets.clone();
        let max_message = settings::MCP_MAX_MESSAGE.count(config);
        let log_level = settings::MCP_LOG_LEVEL.word(config);
        Context {
            session_id: id.to_owned(),
            working_dir: working_dir.to_owned(),
            secrets: Arc::new(move |name| match secrets.get_for_extension(name) {
                Ok(secret) => Ok(secret.map(|secret| secret.expose_text().into_owned())),
                Err(error) => Err(error.to_string()),
            }),
            paths: paths.clone(),
            data,
            servers: self.servers.clone(),
            offline: self.offline,
            limits: Limits {
                total: time_limit(config, &settings::MCP_MAX_TIMEOUT),
                message: share_of_memory(usize::try_from(max_message).unwrap_or(usize::MAX)),
            },
            roots: settings::MCP_ROOTS.is_on(config),
            more_roots: Vec::new(),
            user_interfaces: self.has_user_interfaces && settings::MCP_UI.is_on(config),
            log_level: Some(log_level).filter(|level| !level.is_empty()),
            containers: Containers::read(None, config),
            inherited: self.inherited(),
            sandboxing: Sandboxing::read(config, paths, Level::Off),
            inline_python: python_runner(config),
            screening: Screening::read(config, paths, self.offline),
            pinning: Pinning::read(config, paths),
            activity: self.stores.activity.clone(),
            request_handlers: None,
        }
    }

    /// What extensions inherit of this server's environment: the setting `GOOSE_ENV_POLICY`.
    pub fn inherited(self) -> Inherited {
        Inherited {
            clean: settings::ENV_POLICY.word(&self.stores.config) == "clean",
            provider_keys: self.catalog.key_names(),
        }
    }
}

/// A setting that is a number of seconds.
pub(in crate::agent) fn time_limit(config: &Config, setting: &Setting<'_>) -> Duration {
    TimeLimit::from_secs(setting.count(config)).get()
}
