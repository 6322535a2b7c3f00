//! The status of an extension: state, server, and statistics of its calls.

use super::sandbox::Level;
use super::screening_check::Decision;
use super::{Class, ExtensionConfig};
use crate::mcp::transport::stdio::StdioTransport;
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The number of calls whose durations are kept.
const RECENT: usize = 256;

/// The state of an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Its server is connected.
    #[default]
    Active,
    /// The server was ended because the session was idle; the next request restarts it. If all that is idle of a
    /// session can be put away, only name, key and type are known.
    Idle,
    /// The connection is lost; the next use restarts the server.
    Lost,
    /// The connection is lost, and the last restart failed.
    Broken,
    /// It is being activated or restarted.
    Starting,
    /// It failed to start with the session.
    Failed,
    /// The client runs its tools; there is no server.
    Frontend,
}

/// The location of a server.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Location {
    /// The id of a child process.
    Pid(i32),
    /// The address of a remote server: scheme, host, port and path.
    Url(String),
}

/// Durations of recent calls, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// The server's name and version.
#[derive(Clone, Debug, Serialize)]
pub struct ServerInfo {
    /// The name that the server reports.
    pub name: String,
    /// The version that the server reports.
    pub version: String,
}

/// One extension of a session, as `GET /agent/extensions` shows it.
#[derive(Clone, Default, Serialize)]
pub struct Status {
    /// The configured name.
    pub name: String,
    /// The prefix of its tools.
    pub key: String,
    /// The type of its configuration; absent if the configuration is invalid.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The state.
    pub state: State,
    /// The location of its server, while it is connected.
    #[serde(flatten)]
    pub location: Option<Location>,
    /// The container in which it runs; `pid` is then the container runtime's client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The walls around it; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Level>,
    /// The negotiated version of MCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The server's name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerInfo>,
    /// The age of the connection, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<u64>,
    /// The number of its tools.
    pub tools: usize,
    /// The number of restarts after lost connections.
    pub restarts: u64,
    /// The number of finished tool calls.
    pub calls: u64,
    /// The number of calls that failed or returned `isError`.
    pub errors: u64,
    /// The durations of the last 256 calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Latency>,
    /// What the screening of its packages found; absent if it installs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening: Option<Decision>,
    /// How its tools differ from the pinned ones; absent if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinning: Option<Value>,
    /// What did not fit in the server's messages and was left out, such as a tool or a part of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why it failed or is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of failure it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The process of its server, if it is one of this machine.
    #[serde(skip)]
    pub(super) process: Option<Arc<StdioTransport>>,
}

impl Status {
    /// The end of what its server wrote to stderr, without secrets: for those who configure.
    pub fn stderr(&self) -> String {
        let process = self.process.as_ref();
        process.map_or_else(String::new, |it| it.stderr_tail())
    }

    /// The status of an extension whose session is put away.
    pub(crate) fn idle(config: &ExtensionConfig) -> Self {
        let (state, tools) = match config {
            ExtensionConfig::Frontend(frontend) => (State::Frontend, frontend.tools.len()),
            _ => (State::Idle, 0),
        };
        Status {
            tools,
            ..Status::bare(config.name(), config.key(), Some(config.kind()), state)
        }
    }

    /// The status of an extension without a server.
    pub(crate) fn bare(name: &str, key: String, kind: Option<&'static str>, state: State) -> Self {
        Status {
            name: name.to_owned(),
            key,
            kind,
            state,
            ..Status::default()
        }
    }
}

/// Statistics of the tool calls.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) ended: u64,
    pub(super) failed: u64,
    /// The durations of the last calls, in microseconds.
    recent: VecDeque<u32>,
}

impl Calls {
    pub(super) fn record(&mut self, took: Duration, failed: bool) {
        self.ended += 1;
        self.failed += u64::from(failed);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.recent.push_back(micros);
    }

    /// The percentiles; `None` before the first call.
    pub(super) fn latency(&self) -> Option<Latency> {
        let mut sorted: Vec<_> = self.recent.iter().copied().collect();
        crate::sorting::sort_by(&mut sorted, u32::cmp);
        // Nearest rank: the smallest value that at least `percent` percent of the values do not exceed.
        let rank = |percent: usize| {
            let at = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
            sorted.get(at).map(|micros| f64::from(*micros) / 1_000.0)
        };
        Some(Latency {
            p50: rank(50)?,
            p99: rank(99)?,
        })
    }
}

#[cfg(test)]
mod tests;
