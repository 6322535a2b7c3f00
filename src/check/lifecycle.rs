//! The life cycle: `initialize` in all versions, requests before their time, ids, capabilities. SERVER §3, §5.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::http;
use super::listing::Kind;
use super::runner::{Runner, ServerFacts};
use super::session::{Answer, ClientKind, Reply, Session};
use crate::mcp::types::VERSIONS;
use serde_json::{Value, json};
use std::thread;

/// A version of MCP that does not exist.
const NO_VERSION: &str = "1999-01-01";

/// The versions of MCP that exist, also those that gosling does not support: none so far.
fn is_version(version: &Value) -> bool {
    version.as_str().is_some_and(|it| VERSIONS.contains(&it))
}

/// Opens the main connection and initializes it. If that works, the runner has a main connection afterwards.
///
/// # Errors
/// The server could not be started or reached at all.
pub(super) fn run(runner: &mut Runner<'_>) -> Result<ServerFacts, String> {
    let mut session = runner.open(ClientKind::Full)?;
    runner.secrets = session.secrets.clone();
    let begin = session.begin;
    let reply = session.initialize(VERSIONS[0], ClientKind::Full);
    let took = begin.elapsed().as_secs_f64();
    let findings = &mut runner.findings;
    let Some(result) = reply.result().cloned() else {
        if reply.is_unreachable {
            return Err(reply.describe());
        }
        let detail = format!("`initialize` got {}", reply.describe());
        let timeout = runner.options.timeout;
        let http = session.http.clone();
        if http.is_some_and(|http| http::explains_failure(findings, &http, timeout)) {
            let reason = "the transport fails first";
            findings.not_checked(Check::InitializeAnswered, reason);
        } else {
            findings.fail(Check::InitializeAnswered, detail, reply.exchange);
        }
        session.close(findings);
        return Ok(ServerFacts::of(&Value::Null));
    };
    findings.pass(Check::InitializeAnswered, format!("after {took:.2} s"));
    if took <= 3.0 {
        findings.pass(Check::StartTime, format!("{took:.2} s"));
    } else {
        let detail = format!("it took {took:.1} s");
        findings.fail(Check::StartTime, detail, Exchange::default());
    }
    check_result(findings, &reply, &result);
    session.notify_initialized();
    let ping = session.request("ping", json!({}));
    unanswered(
        findings,
        &session,
        "`notifications/initialized`",
        &ping.exchange,
    );
    if ping.is_answered() {
        findings.pass(Check::InitializedAccepted, "");
    } else {
        let detail = format!("`ping` after it got {}", ping.describe());
        findings.fail(Check::InitializedAccepted, detail, ping.exchange.clone());
    }
    check_ping(findings, &ping);
    session.notify("notifications/gosling/unknown", Some(json!({"gosling": 1})));
    let ping = session.request("ping", json!({}));
    unanswered(
        findings,
        &session,
        "an unknown notification",
        &ping.exchange,
    );
    findings.pass(Check::NotificationsUnanswered, "");
    check_ids(findings, &session);
    session.record(findings);
    runner.set_main(session);
    Ok(ServerFacts::of(&result))
}

fn check_result(findings: &mut Findings, reply: &Reply, result: &Value) {
    let mut faults = Vec::new();
    if !result["protocolVersion"].is_string() {
        faults.push("`protocolVersion` is not a string");
    }
    if !result["capabilities"].is_object() {
        faults.push("`capabilities` is not an object");
    }
    for (pointer, fault) in [
        ("/serverInfo/name", "`serverInfo.name` is not a string"),
        (
            "/serverInfo/version",
            "`serverInfo.version` is not a string",
        ),
    ] {
        if !result.pointer(pointer).is_some_and(Value::is_string) {
            faults.push(fault);
        }
    }
    if result.get("instructions").is_some_and(|it| !it.is_string()) {
        faults.push("`instructions` is not a string");
    }
    let with_exchange = |fault: &str| (fault.to_owned(), reply.exchange.clone());
    let with_exchange = faults.into_iter().map(with_exchange).collect();
    findings.pass_unless(Check::InitializeResult, with_exchange, "");
    let version = &result["protocolVersion"];
    if is_version(version) {
        findings.pass(Check::ProtocolVersion, version.as_str().unwrap_or_default());
    } else {
        let detail = format!("it agreed to the version {version}");
        findings.fail(Check::ProtocolVersion, detail, reply.exchange.clone());
    }
}

fn check_ping(findings: &mut Findings, ping: &Reply) {
    match ping.result() {
        Some(Value::Object(_)) => findings.pass(Check::Ping, ""),
        _ if !ping.is_answered() => findings.not_checked(Check::Ping, ping.describe()),
        _ => {
            let detail = format!("`ping` got {}", ping.describe());
            findings.fail(Check::Ping, detail, ping.exchange.clone());
        }
    }
}

/// Fails if a response came for a notification, which the server has read by now.
fn unanswered(findings: &mut Findings, session: &Session, what: &str, exchange: &Exchange) {
    for text in session.inbox.take_strays() {
        let exchange = Exchange {
            sent: exchange.sent.clone(),
            received: session.excerpt(text.as_bytes()),
        };
        let detail = format!("{what} got a response");
        findings.fail(Check::NotificationsUnanswered, detail, exchange);
    }
}

/// Ids of both types, and such that look like the other.
fn check_ids(findings: &mut Findings, session: &Session) {
    for id in [json!("gosling-a"), json!("12"), json!(4_000_000_000_u32)] {
        let reply = session.request_with_id(id.clone(), "ping", json!({}));
        if !reply.is_answered() && session.is_open() {
            let detail = format!("a request with the id {id} got no response with it");
            findings.fail(Check::IdsReturned, detail, reply.exchange);
        }
    }
    findings.pass(Check::IdsReturned, "numbers and strings");
}

/// Declared capabilities have their methods, and others are refused. SERVER §5.
pub(super) fn run_capabilities(runner: &mut Runner<'_>) {
    let missing: Vec<&str> = [Kind::Tools, Kind::Resources, Kind::Prompts]
        .into_iter()
        .filter(|kind| runner.listing(*kind).missing.is_some())
        .map(Kind::method)
        .collect();
    let resources = runner.listing(Kind::Resources);
    let uri = resources.entries().find_map(|it| it["uri"].as_str());
    let uri = uri.unwrap_or("gosling://unknown").to_owned();
    let Ok(main) = runner.main() else {
        return;
    };
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "gosling"},
        "argument": {"name": "gosling", "value": "g"},
    });
    let has_subscribe = main
        .capability("resources")
        .is_some_and(|resources| resources["subscribe"] == true);
    let cases = [
        ("tools/list", main.capability("tools").is_some(), json!({})),
        (
            "resources/list",
            main.capability("resources").is_some(),
            json!({}),
        ),
        (
            "prompts/list",
            main.capability("prompts").is_some(),
            json!({}),
        ),
        (
            "logging/setLevel",
            main.capability("logging").is_some(),
            json!({"level": "warning"}),
        ),
        (
            "completion/complete",
            main.capability("completions").is_some(),
            completion,
        ),
        ("resources/subscribe", has_subscribe, json!({ "uri": uri })),
    ];
    let mut replies = Vec::new();
    for (method, is_declared, params) in cases {
        // Lists that failed have their own check.
        if !(is_declared && missing.contains(&method)) {
            replies.push((method, is_declared, main.request(method, params)));
        }
    }
    if has_subscribe {
        main.request("resources/unsubscribe", json!({ "uri": uri }));
    }
    let findings = &mut runner.findings;
    for (method, is_declared, reply) in replies {
        if is_declared && (reply.is_unknown_method() || !reply.is_answered()) {
            let detail = format!("{method} is declared and got {}", reply.describe());
            findings.fail(Check::DeclaredMethods, detail, reply.exchange);
        } else if !is_declared && is_offered(method, &reply) {
            let detail = format!("{method} is not declared and got a result");
            findings.fail(Check::UndeclaredMethods, detail, reply.exchange);
        }
    }
    findings.pass(Check::DeclaredMethods, "");
    findings.pass(Check::UndeclaredMethods, "");
}

/// Whether a method that is not declared offers something: an empty list offers nothing.
fn is_offered(method: &str, reply: &Reply) -> bool {
    let Some(result) = reply.result() else {
        return false;
    };
    match method.strip_suffix("/list") {
        Some(field) => result[field].as_array().is_some_and(|it| !it.is_empty()),
        // Servers may accept a level or a subscription and ignore it.
        None => false,
    }
}

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
    fn check(self) -> Check {
        match self {
            Opening::Version(NO_VERSION) => Check::UnknownVersion,
            Opening::Version(_) => Check::OlderVersions,
            Opening::BeforeInitialize => Check::RequestBeforeInitialize,
            Opening::BeforeInitialized => Check::RequestBeforeInitialized,
        }
    }
}

/// What a connection showed: something right, or something wrong and where.
type Observed = Result<String, (String, Exchange)>;

/// Other versions, and requests before their time, each on a connection of its own. Two are open at the same time:
/// that is quicker, and more would need more memory if the server sends messages without measure.
pub(super) fn run_openings(runner: &mut Runner<'_>) {
    let versions = VERSIONS[1..].iter().chain([&NO_VERSION]);
    let mut openings: Vec<Opening> = versions.map(|version| Opening::Version(version)).collect();
    openings.extend([Opening::BeforeInitialize, Opening::BeforeInitialized]);
    for pair in openings.chunks(2) {
        let opened = pair
            .iter()
            .map(|opening| (*opening, runner.open(ClientKind::Full)));
        let opened: Vec<_> = opened.collect();
        let outcomes = thread::scope(|scope| {
            let threads: Vec<_> = opened
                .into_iter()
                .map(|(opening, session)| {
                    (opening, scope.spawn(move || try_opening(opening, session)))
                })
                .collect();
            let outcomes = threads.into_iter().map(|(opening, thread)| {
                let lost = |_| Err("the check ended early".to_owned());
                (opening, thread.join().unwrap_or_else(lost))
            });
            outcomes.collect::<Vec<_>>()
        });
        for (opening, outcome) in outcomes {
            record_opening(runner, opening.check(), outcome);
        }
    }
}

fn record_opening(
    runner: &mut Runner<'_>,
    check: Check,
    outcome: Result<(Session, Observed), String>,
) {
    let findings = &mut runner.findings;
    let is_version = matches!(check, Check::OlderVersions | Check::UnknownVersion);
    match outcome {
        Err(reason) => findings.not_checked(check, reason),
        Ok((session, observed)) => {
            match observed {
                Ok(detail) => findings.pass(check, detail),
                Err(_) if is_version && findings.has_failed(Check::ProtocolVersion) => {
                    findings.not_checked(check, "no version is agreed on at all");
                }
                Err((fault, exchange)) => findings.fail(check, fault, exchange),
            }
            session.close(findings);
        }
    }
}

fn try_opening(
    opening: Opening,
    session: Result<Session, String>,
) -> Result<(Session, Observed), String> {
    let mut session = session?;
    let observed = match opening {
        Opening::Version(version) => try_version(&mut session, version),
        Opening::BeforeInitialize | Opening::BeforeInitialized => {
            try_early(&mut session, matches!(opening, Opening::BeforeInitialize))
        }
    };
    Ok((session, observed))
}

fn try_version(session: &mut Session, version: &str) -> Observed {
    let reply = session.initialize(version, ClientKind::Full);
    match &reply.answer {
        Answer::Result(result) if is_version(&result["protocolVersion"]) => {
            Ok(format!("{version}: {}", result["protocolVersion"]))
        }
        Answer::Result(result) => {
            let agreed = &result["protocolVersion"];
            let fault = format!("a client of {version} got the version {agreed}");
            Err((fault, reply.exchange))
        }
        _ => {
            let fault = format!("a client of {version} got {}", reply.describe());
            Err((fault, reply.exchange))
        }
    }
}

fn try_early(session: &mut Session, is_before_all: bool) -> Observed {
    let when = if is_before_all {
        "before `initialize`"
    } else {
        session.initialize(VERSIONS[0], ClientKind::Full);
        "before `notifications/initialized`"
    };
    let early = session.request("tools/list", json!({}));
    if is_before_all {
        session.initialize(VERSIONS[0], ClientKind::Full);
    }
    session.notify_initialized();
    let ping = session.request("ping", json!({}));
    if !early.is_answered() {
        let fault = format!("`tools/list` {when} got {}", early.describe());
        Err((fault, early.exchange))
    } else if !ping.is_answered() || session.initialized.is_null() {
        let fault = format!("the server does not work after `tools/list` {when}");
        Err((fault, ping.exchange))
    } else {
        Ok(early.describe())
    }
}

/// Passes what is only seen when it fails, after all messages of the run.
pub(super) fn pass_the_rest(findings: &mut Findings, is_initialized: bool, transport: &str) {
    if !is_initialized {
        return;
    }
    for check in [
        Check::AnsweredOnce,
        Check::MessageShape,
        Check::ErrorShape,
        Check::ValidJson,
    ] {
        findings.pass(check, "in all messages");
    }
    if transport == "stdio" {
        findings.pass(Check::StdoutClean, "in the whole run");
    } else {
        findings.not_applicable(Check::StdoutClean, "the transport is not stdio");
    }
    for (check, reason) in [
        (
            Check::NotificationShape,
            "the server sent no notification that breaks it",
        ),
        (
            Check::UnknownNotifications,
            "the server sent no unknown notification that breaks it",
        ),
        (
            Check::LogMessages,
            "the server sent no log message that breaks it",
        ),
        (
            Check::ListChanges,
            "the server sent no such notification that breaks it",
        ),
        (
            Check::Progress,
            "the server sent no progress that breaks it",
        ),
        (
            Check::ServerRequests,
            "the server sent no request that breaks it",
        ),
        (
            Check::ServerRequestShape,
            "the server sent no request that breaks it",
        ),
    ] {
        findings.pass(check, reason);
    }
    let reason = "no called tool sent a request to the client";
    findings.not_applicable(Check::RefusedServerRequests, reason);
}
