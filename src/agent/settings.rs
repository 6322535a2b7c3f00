//! What the configuration says about how sessions work. A setting that makes no sense is logged and left
//! out, so that it keeps nobody from working.

use super::{Registry, server_requests};
use crate::conversation::Session;
use crate::extension::{Containers, Limits};
use crate::store::Config;
use crate::sys::TimeLimit;
use serde_json::Value;
use std::time::Duration;

/// How long a session may be unused before it gives its servers back.
const IDLE: Duration = Duration::from_secs(30 * 60);

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

/// The setting `GOOSE_SESSION_IDLE_SECS`; none for never.
pub(super) fn idle(config: &Config) -> Option<Duration> {
    let idle = count(config, "GOOSE_SESSION_IDLE_SECS")
        .map_or(IDLE, |seconds| TimeLimit::from_secs(seconds).get());
    (!idle.is_zero()).then_some(idle)
}

/// What the setting says; nothing, and a line in the log, if it cannot be read.
fn read(config: &Config, key: &str) -> Option<Value> {
    match config.get(key) {
        Ok(value) => value.filter(|value| !value.is_null()),
        Err(error) => {
            log::warn!("setting not read key={key} reason={error}");
            None
        }
    }
}

/// A setting that is a number.
fn count(config: &Config, key: &str) -> Option<u64> {
    let value = read(config, key)?;
    if value.as_u64().is_none() {
        log::warn!("not a number, so left out setting={key} value={value}");
    }
    value.as_u64()
}

impl Registry {
    /// What the setting says, if anything.
    pub(super) fn setting(&self, key: &str) -> Option<Value> {
        read(&self.stores().config, key)
    }

    /// What the settings `GOOSE_MCP_MAX_TIMEOUT` (seconds) and `GOOSE_MCP_MAX_MESSAGE` (bytes) say.
    pub(super) fn bounds(&self) -> Limits {
        let mut bounds = Limits::default();
        if let Some(seconds) = self.count("GOOSE_MCP_MAX_TIMEOUT") {
            bounds.total = TimeLimit::from_secs(seconds).get();
        }
        if let Some(bytes) = self.count("GOOSE_MCP_MAX_MESSAGE") {
            bounds.message = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        bounds
    }

    /// Whether servers are offered the working directory: the setting `GOOSE_MCP_ROOTS`.
    pub(super) fn roots(&self) -> bool {
        let setting = self.setting("GOOSE_MCP_ROOTS");
        setting.is_some_and(|setting| match setting {
            Value::Bool(on) => on,
            Value::Number(number) => number.as_u64() == Some(1),
            Value::String(text) => matches!(text.trim(), "1" | "true"),
            _ => false,
        })
    }

    /// How long a user may think about what a server asks.
    pub(super) fn answer_timeout(&self) -> Duration {
        let seconds = self.count("GOOSE_ELICITATION_TIMEOUT");
        seconds.map_or(server_requests::ANSWER_TIMEOUT, |seconds| {
            TimeLimit::from_secs(seconds).get()
        })
    }

    /// In which container the extensions of a session run, and what the settings `GOOSE_CONTAINER_RUNTIME`,
    /// `GOOSE_CONTAINER_WORKDIR` and `GOOSE_CONTAINER_GOSLING` say about that.
    pub(super) fn containers(&self, session: &Session) -> Containers {
        Containers {
            session: session.extension_data.container(),
            runtime: self.text("GOOSE_CONTAINER_RUNTIME"),
            working_dir: self.text("GOOSE_CONTAINER_WORKDIR"),
            gosling: self.text("GOOSE_CONTAINER_GOSLING"),
        }
    }

    /// A setting that is text.
    fn text(&self, key: &str) -> Option<String> {
        let value = self.setting(key)?;
        Some(match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// A setting that is a number.
    fn count(&self, key: &str) -> Option<u64> {
        count(&self.stores().config, key)
    }

    /// From which level on servers shall log: the setting `GOOSE_MCP_LOG_LEVEL`.
    pub(super) fn log_level(&self) -> Option<&'static str> {
        let setting = self.setting("GOOSE_MCP_LOG_LEVEL")?;
        let wanted = setting.as_str().unwrap_or_default().trim();
        let level = LEVELS
            .into_iter()
            .find(|level| level.eq_ignore_ascii_case(wanted));
        if level.is_none() {
            log::warn!("no level of MCP, so left out setting=GOOSE_MCP_LOG_LEVEL value={setting}");
        }
        level
    }
}
