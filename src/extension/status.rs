//! How an extension is doing: its state, its server, and how the calls of its tools went.

use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// ExtensionItem how many calls the durations are kept.
const RECENT: usize = 256;

/// What an extension is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its server is connected.
    Active,
    /// The session was not used for a while; the next request brings the server back.
    Idle,
    /// The server is gone; the next use brings it back.
    Lost,
    /// The server is gone, and the last attempt to bring it back failed.
    Broken,
    /// It is being activated, or brought back.
    Starting,
    /// It did not come up with the session.
    Failed,
    /// The client runs its tools; there is no server.
    Frontend,
}

/// Where a server runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// A child of this process, by its id.
    Pid(i32),
    /// Somewhere else: scheme, host, port and path of its address.
    Url(String),
}

/// How long calls took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half of the recent calls were at least as fast.
    pub p50: f64,
    /// So were 99 of 100.
    pub p99: f64,
}

/// Who answers.
#[derive(Clone, Debug, Serialize)]
pub struct ServerInfo {
    /// As the server calls itself.
    pub name: String,
    /// As it says.
    pub version: String,
}

/// One extension of a session, as `GET /agent/extensions` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// As configured.
    pub name: String,
    /// What its tools begin with.
    pub key: String,
    /// The type of its configuration, unless it could not be read.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// What it is at.
    pub state: State,
    /// Where its server runs, while it does.
    #[serde(flatten)]
    pub place: Option<Location>,
    /// The container that it runs in, if it does; the process is then that of the container runtime's
    /// client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The version of MCP that was agreed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Who answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerInfo>,
    /// For how many seconds the present connection has stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<u64>,
    /// How many tools it lists.
    pub tools: usize,
    /// How often it was brought back after it was lost.
    pub restarts: u64,
    /// How many calls of its tools have ended.
    pub calls: u64,
    /// How many of them failed, or ended with `isError`.
    pub errors: u64,
    /// How long the last 256 of them took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Latency>,
    /// Why it failed or is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Status {
    /// An extension without a server to say anything of.
    pub(crate) fn bare(name: &str, key: String, kind: Option<&'static str>, state: State) -> Self {
        Status {
            name: name.to_owned(),
            key,
            kind,
            state,
            place: None,
            container: None,
            protocol_version: None,
            server: None,
            uptime: None,
            tools: 0,
            restarts: 0,
            calls: 0,
            errors: 0,
            latency_ms: None,
            error: None,
        }
    }
}

/// How the calls went.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) ended: u64,
    pub(super) failed: u64,
    /// The durations of the last ones, in microseconds.
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

    /// None before the first call.
    pub(super) fn latency(&self) -> Option<Latency> {
        let mut sorted: Vec<_> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        // The nearest rank: the smallest that so many of a hundred do not exceed.
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
mod tests {
    use super::*;

    #[test]
    fn latencies_are_of_the_last_calls() {
        let mut calls = Calls::default();
        assert_eq!(calls.latency(), None);
        calls.record(Duration::from_millis(7), true);
        let only = calls.latency().unwrap();
        assert_eq!((only.p50, only.p99), (7.0, 7.0));
        for n in 1..=RECENT as u64 {
            calls.record(Duration::from_micros(n * 1_000), false);
        }
        let all = calls.latency().unwrap();
        assert_eq!((all.p50, all.p99), (128.0, 254.0));
        assert_eq!((calls.ended, calls.failed), (RECENT as u64 + 1, 1));
        calls.record(Duration::from_secs(1 << 40), false);
        assert_eq!(calls.recent.len(), RECENT);
    }
}
