//! The life cycle: `initialize`, the first notifications and `ping`. SERVER §3.

use super::http_checks;
use crate::check_run::CheckRun;
use crate::declaration::declare_checks;
use crate::field_types::{self, OBJECT, Optional, STRING, Typed};
use crate::findings::{CheckFindings, ShownExchange};
use crate::mcp::types::VERSIONS;
use crate::text::printable;
use crate::wire::answer::ServerReply;
use crate::wire::client_kind::{ClientKind, ui_capability};
use crate::wire::inbox::IDS_RETURNED;
use crate::wire::raw_connection::RawConnection;
use serde_json::{Value, json};

declare_checks! {
    INITIALIZE_ANSWERED = 1 "initialize-answered" "3.2" Must Minimum
        [("3.1", 1), ("3.2", 1), ("4.1", 1), ("4.2", 1), ("4.2", 2), ("4.3", 2), ("11.1", 1), ("11.1", 2), ("12", 1), ("12", 2)]
        requires: "The server starts and answers `initialize` with a result."
        why: "Goose cannot use a server before `initialize` has succeeded."
        fix: "Start the server by hand and read its stderr; answer `initialize` before slow work, such as downloads."
    INITIALIZE_RESULT = 2 "initialize-result" "3.2" Must Minimum [("3.2", 2)]
        requires: "The result of `initialize` has `protocolVersion`, an object `capabilities`, and `serverInfo` with the strings `name` and `version`."
        why: "Clients that check the result refuse the connection."
        fix: "Return all three fields in the types of the MCP schema."
    PROTOCOL_VERSION = 3 "protocol-version" "3.1" Must Minimum [("3.1", 2)]
        requires: "`protocolVersion` in the result is the version that the client asked for, or another version of MCP."
        why: "Goose disconnects from a server whose version it does not know."
        fix: "Return the requested version if the server supports it, otherwise the newest one that it supports."
    INITIALIZED_ACCEPTED = 6 "initialized-accepted" "3.2" Must Minimum [("3.2", 3), ("12", 2)]
        requires: "The server accepts `notifications/initialized` and answers the next request."
        why: "Goose sends it after every `initialize`, and then its requests."
        fix: "Handle the notification, or ignore it; keep the connection open."
    PING = 7 "ping" "3.2" Must Minimum [("3.2", 4)]
        requires: "`ping` gets an empty result."
        why: "Clients use `ping` to find out whether a server is still there."
        fix: "Answer `ping` with `{}`. It needs no capability."
    NOTIFICATIONS_UNANSWERED = 8 "notifications-unanswered" "3.1" Must Minimum [("3.1", 1)]
        requires: "Notifications get no response, not even unknown ones."
        why: "A response without a request confuses clients that count responses."
        fix: "Never respond to a message without `id`; ignore notifications of unknown methods."
    START_TIME = 150 "start-time" "" Advice Minimum []
        requires: "`initialize` is answered within three seconds."
        why: "Users wait for it at every start of a session."
        fix: "Load models, indexes and connections when they are first needed."
}

/// The versions of MCP that exist, also those that gosling does not support: none so far.
pub(crate) fn is_version(version: &Value) -> bool {
    version.as_str().is_some_and(|it| VERSIONS.contains(&it))
}

/// Opens the main connection and initializes it. If that works, the run has a main connection afterwards.
///
/// # Errors
/// The server could not be started or reached at all.
pub(crate) fn run(run: &mut CheckRun<'_>) -> Result<ServerFacts, String> {
    let mut connection = run.open(ClientKind::Full)?;
    run.secrets = connection.secrets.clone();
    let begin = connection.begin;
    let reply = connection.initialize(VERSIONS[0], ClientKind::Full);
    let took = begin.elapsed().as_secs_f64();
    let findings = &mut run.findings;
    let Some(result) = reply.result().cloned() else {
        if reply.is_unreachable {
            return Err(reply.describe());
        }
        let timeout = run.options.timeout;
        let http = connection.http.as_ref();
        if http.is_some_and(|http| http_checks::explains_failure(findings, http, timeout)) {
            let reason = "the transport fails first";
            findings.not_checked(INITIALIZE_ANSWERED, reason);
        } else {
            findings.fail(INITIALIZE_ANSWERED, reply.fault("`initialize`"));
        }
        connection.close(findings);
        return Ok(ServerFacts::of(&Value::Null));
    };
    findings.pass(INITIALIZE_ANSWERED, format!("after {took:.2} s"));
    if took <= 3.0 {
        findings.pass(START_TIME, format!("{took:.2} s"));
    } else {
        let detail = format!("it took {took:.1} s");
        findings.fail(START_TIME, (detail, ShownExchange::default()));
    }
    check_result(findings, &reply, &result);
    connection.notify_initialized();
    let ping = connection.ping();
    let what = "`notifications/initialized`";
    unanswered(findings, &connection, what, &ping.exchange);
    if ping.is_answered() {
        findings.pass(INITIALIZED_ACCEPTED, "");
    } else {
        findings.fail(INITIALIZED_ACCEPTED, ping.fault("`ping` after it"));
    }
    match ping.result() {
        Some(Value::Object(_)) => findings.pass(PING, ""),
        _ if !ping.is_answered() => findings.not_checked(PING, ping.describe()),
        _ => findings.fail(PING, ping.fault("`ping`")),
    }
    connection.notify("notifications/gosling/unknown", Some(json!({"gosling": 1})));
    let ping = connection.ping();
    let what = "an unknown notification";
    unanswered(findings, &connection, what, &ping.exchange);
    findings.pass(NOTIFICATIONS_UNANSWERED, "");
    check_ids(findings, &connection);
    connection.record(findings);
    run.main = Some(connection);
    Ok(ServerFacts::of(&result))
}

fn check_result(findings: &mut CheckFindings, reply: &ServerReply, result: &Value) {
    let rules = [
        ("protocolVersion", Typed, STRING),
        ("capabilities", Typed, OBJECT),
        ("serverInfo.name", Typed, STRING),
        ("serverInfo.version", Typed, STRING),
        ("instructions", Optional, STRING),
    ];
    for fault in field_types::faults(result, &rules) {
        findings.fail(INITIALIZE_RESULT, (fault, reply.exchange.clone()));
    }
    findings.pass(INITIALIZE_RESULT, "");
    let version = &result["protocolVersion"];
    if is_version(version) {
        findings.pass(PROTOCOL_VERSION, version.as_str().unwrap_or_default());
    } else {
        let detail = format!("it agreed to the version {version}");
        findings.fail(PROTOCOL_VERSION, (detail, reply.exchange.clone()));
    }
}

/// Fails if a response came for a notification, which the server has read by now.
fn unanswered(
    findings: &mut CheckFindings,
    connection: &RawConnection,
    what: &str,
    exchange: &ShownExchange,
) {
    for text in connection.inbox.take_strays() {
        let exchange = ShownExchange {
            sent: exchange.sent.clone(),
            received: connection.excerpt(text.as_bytes()),
        };
        let detail = format!("{what} got a response");
        findings.fail(NOTIFICATIONS_UNANSWERED, (detail, exchange));
    }
}

/// Ids of both types, and such that look like the other.
fn check_ids(findings: &mut CheckFindings, connection: &RawConnection) {
    for id in [json!("gosling-a"), json!("12"), json!(4_000_000_000_u32)] {
        let reply = connection.request_with_id(id.clone(), "ping", json!({}));
        if !reply.is_answered() && connection.is_open() {
            let detail = format!("a request with the id {id} got no response with it");
            findings.fail(IDS_RETURNED, (detail, reply.exchange));
        }
    }
    findings.pass(IDS_RETURNED, "numbers and strings");
}

/// What is known of the server after `initialize`.
pub(crate) struct ServerFacts {
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) capabilities: Vec<String>,
    pub(crate) is_initialized: bool,
}

impl ServerFacts {
    /// Of the result of `initialize`; nothing if it is not an object.
    pub(crate) fn of(result: &Value) -> Self {
        let text = |value: &Value| printable(value.as_str().unwrap_or_default(), 100);
        let info = &result["serverInfo"];
        let mut capabilities: Vec<String> = result["capabilities"]
            .as_object()
            .into_iter()
            .flatten()
            // `ui` is the name for a capability that stands elsewhere.
            .filter(|(name, details)| !details.is_null() && *name != "ui")
            .take(50)
            .map(|(name, _)| printable(name, 50))
            .collect();
        if !ui_capability(&result["capabilities"]).is_null() {
            capabilities.push("ui".to_owned());
        }
        ServerFacts {
            name: format!("{} {}", text(&info["name"]), text(&info["version"]))
                .trim()
                .to_owned(),
            protocol: text(&result["protocolVersion"]),
            capabilities,
            is_initialized: result.is_object(),
        }
    }
}
