//! The settings of sessions, which the table [`crate::store::settings`] defines.

use crate::agent::Registry;
use crate::extension::environment::Inherited;
use crate::extension::inline_python::PythonRunner;
use crate::extension::pinning::Pinning;
use crate::extension::screening::Screening;
use crate::extension::{Containers, Limits, inline_python};
use crate::store::Config;
use crate::store::settings;
use crate::sys::TimeLimit;
use std::sync::Arc;
use std::time::Duration;

/// The setting `GOOSE_SESSION_IDLE_SECS`; `None` for no limit.
pub(in crate::agent) fn idle_limit(config: &Config) -> Option<Duration> {
    let limit = TimeLimit::from_secs(settings::SESSION_IDLE_SECS.count(config)).get();
    (!limit.is_zero()).then_some(limit)
}

impl Registry {
    /// The settings `GOOSE_MCP_MAX_TIMEOUT` (seconds) and `GOOSE_MCP_MAX_MESSAGE` (bytes).
    pub(in crate::agent) fn bounds(&self) -> Limits {
        let config = &self.stores().config;
        let message = settings::MCP_MAX_MESSAGE.count(config);
        Limits {
            total: self.time_limit(&settings::MCP_MAX_TIMEOUT),
            message: usize::try_from(message).unwrap_or(usize::MAX),
        }
    }

    /// Whether MCP servers get the working directory as a root: the setting `GOOSE_MCP_ROOTS`.
    pub(in crate::agent) fn roots(&self) -> bool {
        settings::MCP_ROOTS.is_on(&self.stores().config)
    }

    /// Whether MCP servers learn that the client shows user interfaces: if it does, and the setting
    /// `GOOSE_MCP_UI` does not say otherwise.
    pub(in crate::agent) fn shows_user_interfaces(&self) -> bool {
        self.has_user_interfaces && settings::MCP_UI.is_on(&self.stores().config)
    }

    /// How long an elicitation waits for the user: the setting `GOOSE_ELICITATION_TIMEOUT`.
    pub(in crate::agent) fn elicitation_timeout(&self) -> Duration {
        self.time_limit(&settings::ELICITATION_TIMEOUT)
    }

    /// How long a tool call waits for the user's approval: the setting `GOOSE_APPROVAL_TIMEOUT`.
    pub(in crate::agent) fn approval_timeout(&self) -> Duration {
        self.time_limit(&settings::APPROVAL_TIMEOUT)
    }

    /// How long a tool call waits for the client that runs the tool: the setting `GOOSE_FRONTEND_TIMEOUT`.
    pub(in crate::agent) fn frontend_timeout(&self) -> Duration {
        self.time_limit(&settings::FRONTEND_TIMEOUT)
    }

    /// A setting that is a number of seconds.
    fn time_limit(&self, setting: &settings::Setting) -> Duration {
        TimeLimit::from_secs(setting.count(&self.stores().config)).get()
    }

    /// The container of a session, and what runs extensions there.
    pub(in crate::agent) fn containers(&self, session: Option<String>) -> Containers {
        Containers::read(session, &self.stores().config)
    }

    /// What extensions inherit of this server's environment: the setting `GOOSE_ENV_POLICY`.
    pub fn inherited(&self) -> Inherited {
        let names = self.catalog().setting_names().into_iter();
        Inherited {
            clean: settings::ENV_POLICY.word(&self.stores().config) == "clean",
            provider_keys: names
                .filter(|(_, is_secret)| *is_secret)
                .map(|(name, _)| name)
                .collect(),
        }
    }

    /// What runs inline Python, if the build has it.
    pub fn inline_python(&self) -> Option<Arc<dyn PythonRunner>> {
        inline_python::runner(&self.stores().config)
    }

    /// The screening of what extensions start.
    pub fn screening(&self) -> Screening {
        let stores = self.stores();
        Screening::read(&stores.config, &stores.paths, self.offline)
    }

    /// The pinning of tools.
    pub fn pinning(&self) -> Pinning {
        let stores = self.stores();
        Pinning::read(&stores.config, &stores.paths)
    }

    /// The lowest level at which MCP servers log: the setting `GOOSE_MCP_LOG_LEVEL`.
    pub(in crate::agent) fn log_level(&self) -> Option<&'static str> {
        Some(settings::MCP_LOG_LEVEL.word(&self.stores().config)).filter(|level| !level.is_empty())
    }
}
