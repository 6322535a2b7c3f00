//! How connections are opened: other versions of MCP, and requests before their time. SERVER §3.

use super::life_cycle_checks::{PROTOCOL_VERSION, is_version};
use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::findings::Observed;
use crate::mcp::types::VERSIONS;
use crate::wire::client_kind::ClientKind;
use crate::wire::raw_connection::RawConnection;
use serde_json::json;
use std::thread;

declare_checks! {
    OLDER_VERSIONS = 4 "older-versions" "3.1" Must Minimum [("3.1", 2)]
        requires: "A client that asks for an older version of MCP gets that version or another version of MCP, not an error."
        why: "Goose's releases ask for different versions."
        fix: "Answer every known version with itself and others with the newest one that the server supports."
    UNKNOWN_VERSION = 5 "unknown-version" "3.1" Must Minimum [("3.1", 2)]
        requires: "A client that asks for a version that does not exist gets a version of MCP, neither that one nor an error."
        why: "A server that agrees to a version that it does not know promises behaviour that it does not have."
        fix: "Compare the requested version with a list of supported versions, and return the newest one if it is not listed."
    REQUEST_BEFORE_INITIALIZE = 12 "request-before-initialize" "3.2" Should Minimum [("3.2", 4)]
        requires: "A request before `initialize` is answered, with an error or a result, and `initialize` still works afterwards."
        why: "A server that ends or hangs instead cannot be diagnosed."
        fix: "Answer requests before `initialize` with an error."
    REQUEST_BEFORE_INITIALIZED = 13 "request-before-initialized" "3.2" Should Minimum [("3.2", 4)]
        requires: "A request between `initialize` and `notifications/initialized` is answered, and the server works afterwards."
        why: "Some clients send their first requests before the notification."
        fix: "Answer such requests with a result or an error."
}

pub(crate) const GROUP: Group = Group::new("versions", &[CHECKS], run);

/// A version of MCP that does not exist.
const NO_VERSION: &str = "1999-01-01";

/// What an additional connection is for.
#[derive(Clone, Copy)]
enum Opening {
    /// A client that asks for this version.
    Version(&'static str),
    /// A request before `initialize`.
    BeforeInitialize,
    /// A request before `notifications/initialized`.
    BeforeInitialized,
}

impl Opening {
    fn check(self) -> &'static Check {
        match self {
            Opening::Version(NO_VERSION) => UNKNOWN_VERSION,
            Opening::Version(_) => OLDER_VERSIONS,
            Opening::BeforeInitialize => REQUEST_BEFORE_INITIALIZE,
            Opening::BeforeInitialized => REQUEST_BEFORE_INITIALIZED,
        }
    }
}

/// Other versions, and requests before their time, each on a connection of its own. Two are open at the same time:
/// that is quicker, and more would need more memory if the server sends messages without measure.
fn run(run: &mut CheckRun<'_>) {
    let versions = VERSIONS[1..].iter().chain([&NO_VERSION]);
    let mut openings: Vec<Opening> = versions.map(|version| Opening::Version(version)).collect();
    openings.extend([Opening::BeforeInitialize, Opening::BeforeInitialized]);
    for pair in openings.chunks(2) {
        let opened = pair.iter().map(|it| (*it, run.open(ClientKind::Full)));
        let opened: Vec<_> = opened.collect();
        let outcomes = thread::scope(|scope| {
            let begin = |(opening, connection)| {
                let thread = scope.spawn(move || try_opening(opening, connection));
                (opening, thread)
            };
            let threads: Vec<_> = opened.into_iter().map(begin).collect();
            let outcomes = threads.into_iter().map(|(opening, thread)| {
                let lost = |_| Err("the check ended early".to_owned());
                (opening, thread.join().unwrap_or_else(lost))
            });
            outcomes.collect::<Vec<_>>()
        });
        for (opening, outcome) in outcomes {
            record_opening(run, opening, outcome);
        }
    }
}

fn record_opening(
    run: &mut CheckRun<'_>,
    opening: Opening,
    outcome: Result<(RawConnection, Observed), String>,
) {
    let findings = &mut run.findings;
    let check = opening.check();
    let (connection, observed) = match outcome {
        Ok(outcome) => outcome,
        Err(reason) => return findings.not_checked(check, reason),
    };
    let is_version = matches!(opening, Opening::Version(_));
    if observed.is_err() && is_version && findings.has_failed(PROTOCOL_VERSION) {
        findings.not_checked(check, "no version is agreed on at all");
    } else {
        findings.note(check, observed);
    }
    connection.close(findings);
}

fn try_opening(
    opening: Opening,
    connection: Result<RawConnection, String>,
) -> Result<(RawConnection, Observed), String> {
    let mut connection = connection?;
    let observed = match opening {
        Opening::Version(version) => try_version(&mut connection, version),
        Opening::BeforeInitialize => try_early(&mut connection, true),
        Opening::BeforeInitialized => try_early(&mut connection, false),
    };
    Ok((connection, observed))
}

fn try_version(connection: &mut RawConnection, version: &str) -> Observed {
    let reply = connection.initialize(version, ClientKind::Full);
    let Some(result) = reply.result() else {
        return Err(reply.fault(&format!("a client of {version}")));
    };
    let agreed = &result["protocolVersion"];
    if is_version(agreed) {
        return Ok(format!("{version}: {agreed}"));
    }
    let fault = format!("a client of {version} got the version {agreed}");
    Err((fault, reply.exchange))
}

fn try_early(connection: &mut RawConnection, is_before_all: bool) -> Observed {
    let when = if is_before_all {
        "before `initialize`"
    } else {
        connection.initialize(VERSIONS[0], ClientKind::Full);
        "before `notifications/initialized`"
    };
    let early = connection.request("tools/list", json!({}));
    if is_before_all {
        connection.initialize(VERSIONS[0], ClientKind::Full);
    }
    connection.notify_initialized();
    let ping = connection.ping();
    if !early.is_answered() {
        Err(early.fault(&format!("`tools/list` {when}")))
    } else if !ping.is_answered() || connection.initialized.is_null() {
        let fault = format!("the server does not work after `tools/list` {when}");
        Err((fault, ping.exchange))
    } else {
        Ok(early.describe())
    }
}
