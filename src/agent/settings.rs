//! The settings of sessions. An invalid value is logged and ignored, so that it does not prevent sessions
//! from working.

use super::{Registry, server_requests, tool_calls};
use crate::extension::environment::Inherited;
use crate::extension::{Containers, Limits, inline_python, pinning, screening};
use crate::store::Config;
use crate::sys::TimeLimit;
use serde_json::Value;
use std::time::Duration;

/// How long a session is unused before its servers are suspended, unless a setting says otherwise.
const DEFAULT_IDLE_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The levels of log messages (MCP server/utilities/logging).
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The setting `GOOSE_SESSION_IDLE_SECS`; `None` for no limit.
pub(super) fn idle_limit(config: &Config) -> Option<Duration> {
    let limit = count(config, "GOOSE_SESSION_IDLE_SECS").map_or(DEFAULT_IDLE_LIMIT, |seconds| {
        TimeLimit::from_secs(seconds).get()
    });
    (!limit.is_zero()).then_some(limit)
}

/// The value of the setting; `None` if it is not set. Logs a setting that cannot be read.
fn read(config: &Config, key: &str) -> Option<Value> {
    match config.get(key) {
        Ok(value) => value.filter(|value| !value.is_null()),
        Err(error) => {
            log::warn!("setting not read key={key} reason={error}");
            None
        }
    }
}

/// A setting that is a whole number.
fn count(config: &Config, key: &str) -> Option<u64> {
    let value = read(config, key)?;
    if value.as_u64().is_none() {
        log::warn!("not a whole number, so ignored setting={key} value={value}");
    }
    value.as_u64()
}

impl Registry {
    /// The value of the setting, if it is set.
    pub(super) fn setting(&self, key: &str) -> Option<Value> {
        read(&self.stores().config, key)
    }

    /// The settings `GOOSE_MCP_MAX_TIMEOUT` (seconds) and `GOOSE_MCP_MAX_MESSAGE` (bytes).
    pub(super) fn bounds(&self) -> Limits {
        let mut bounds = Limits::default();
        bounds.total = self.time_limit("GOOSE_MCP_MAX_TIMEOUT", bounds.total);
        if let Some(bytes) = self.count("GOOSE_MCP_MAX_MESSAGE") {
            bounds.message = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        bounds
    }

    /// Whether MCP servers get the working directory as a root: the setting `GOOSE_MCP_ROOTS`.
    pub(super) fn roots(&self) -> bool {
        self.switch("GOOSE_MCP_ROOTS").unwrap_or(false)
    }

    /// Whether MCP servers learn that the client shows user interfaces: if it does, and the setting
    /// `GOOSE_MCP_UI` does not say otherwise.
    pub(super) fn shows_user_interfaces(&self) -> bool {
        self.has_user_interfaces && self.switch("GOOSE_MCP_UI").unwrap_or(true)
    }

    /// A setting that is on or off.
    fn switch(&self, key: &str) -> Option<bool> {
        self.setting(key).map(|setting| match setting {
            Value::Bool(on) => on,
            Value::Number(number) => number.as_u64() == Some(1),
            Value::String(text) => matches!(text.trim(), "1" | "true"),
            _ => false,
        })
    }

    /// How long an elicitation waits for the user: the setting `GOOSE_ELICITATION_TIMEOUT`.
    pub(super) fn elicitation_timeout(&self) -> Duration {
        self.time_limit("GOOSE_ELICITATION_TIMEOUT", server_requests::ANSWER_TIMEOUT)
    }

    /// How long a tool call waits for the user's approval: the setting `GOOSE_APPROVAL_TIMEOUT`.
    pub(super) fn approval_timeout(&self) -> Duration {
        self.time_limit("GOOSE_APPROVAL_TIMEOUT", tool_calls::APPROVAL_TIMEOUT)
    }

    /// How long a tool call waits for the client that runs the tool: the setting `GOOSE_FRONTEND_TIMEOUT`.
    pub(super) fn frontend_timeout(&self) -> Duration {
        self.time_limit("GOOSE_FRONTEND_TIMEOUT", tool_calls::FRONTEND_TIMEOUT)
    }

    /// A setting that is a number of seconds.
    fn time_limit(&self, key: &str, default: Duration) -> Duration {
        let seconds = self.count(key);
        seconds.map_or(default, |seconds| TimeLimit::from_secs(seconds).get())
    }

    /// The container of a session, with the settings `GOOSE_CONTAINER_RUNTIME`, `GOOSE_CONTAINER_WORKDIR` and
    /// `GOOSE_CONTAINER_GOSLING`.
    pub(super) fn containers(&self, session: Option<String>) -> Containers {
        Containers {
            session,
            runtime: self.text("GOOSE_CONTAINER_RUNTIME"),
            working_dir: self.text("GOOSE_CONTAINER_WORKDIR"),
            gosling: self.text("GOOSE_CONTAINER_GOSLING"),
        }
    }

    /// What extensions inherit of this server's environment: the setting `GOOSE_ENV_POLICY`, `inherit` or
    /// `clean`. Any other value counts as `clean`, since the user wants some restriction.
    pub(super) fn inherited(&self) -> Inherited {
        let policy = self.text("GOOSE_ENV_POLICY").unwrap_or_default();
        let clean = match policy.trim() {
            "" | "inherit" => false,
            "clean" => true,
            other => {
                log::warn!(
                    "neither `inherit` nor `clean`, so as `clean` setting=GOOSE_ENV_POLICY value={other:?}"
                );
                true
            }
        };
        let names = self.catalog().setting_names().into_iter();
        Inherited {
            clean,
            provider_keys: names
                .filter(|(_, is_secret)| *is_secret)
                .map(|(name, _)| name)
                .collect(),
        }
    }

    /// The settings `GOOSE_INLINE_PYTHON_MCP` and `GOOSE_INLINE_PYTHON_RUNNER`.
    pub(super) fn inline_python(&self) -> inline_python::Settings {
        inline_python::Settings::read(&self.stores().config)
    }

    /// The settings of the screening of packages.
    pub fn screening(&self) -> screening::Settings {
        let stores = self.stores();
        screening::Settings::read(&stores.config, &stores.paths, self.offline)
    }

    /// The settings of the pinning of tools.
    pub fn pinning(&self) -> pinning::Settings {
        let stores = self.stores();
        pinning::Settings::read(&stores.config, &stores.paths)
    }

    /// A setting that is text.
    fn text(&self, key: &str) -> Option<String> {
        let value = self.setting(key)?;
        Some(match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// A setting that is a whole number.
    fn count(&self, key: &str) -> Option<u64> {
        count(&self.stores().config, key)
    }

    /// The lowest level at which MCP servers log: the setting `GOOSE_MCP_LOG_LEVEL`.
    pub(super) fn log_level(&self) -> Option<&'static str> {
        let setting = self.setting("GOOSE_MCP_LOG_LEVEL")?;
        let wanted = setting.as_str().unwrap_or_default().trim();
        let level = LEVELS
            .into_iter()
            .find(|level| level.eq_ignore_ascii_case(wanted));
        if level.is_none() {
            log::warn!(
                "unknown MCP log level, so ignored setting=GOOSE_MCP_LOG_LEVEL value={setting}"
            );
        }
        level
    }
}
