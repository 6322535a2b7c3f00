//! Streamable HTTP: status codes, headers, sessions and event streams. SERVER §4.3.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::http_probe::{HttpReply, Probe, events};
use super::listing::Kind;
use super::runner::Runner;
use super::sample;
use super::session::ClientKind;
use super::tools::read_only;
use crate::mcp::transport::http::HttpOptions;
use crate::mcp::types::VERSIONS;
use crate::text::printable;
use serde_json::{Value, json};
use std::time::Duration;

const CHECKS: [Check; 15] = [
    Check::HttpMediaType,
    Check::HttpAccept,
    Check::HttpNotificationStatus,
    Check::HttpSessionIdShape,
    Check::HttpUnknownSession,
    Check::HttpMissingSession,
    Check::HttpSessionDeleted,
    Check::HttpVersionHeader,
    Check::HttpGet,
    Check::HttpEventStream,
    Check::HttpErrorBody,
    Check::HttpOrigin,
    Check::HttpHost,
    Check::HttpLegacySse,
    Check::HttpMethodErrors,
];
const ACCEPT: &str = "application/json, text/event-stream";
/// An `Accept` of the same meaning.
const OTHER_ACCEPT: &str = "text/event-stream;q=0.9 ,application/json; charset=utf-8";
const JSON: &str = "application/json";
/// The first version of MCP with the header `MCP-Protocol-Version`.
const FIRST_WITH_HEADER: &str = "2025-06-18";
/// The most tools that are called.
const MAX_CALLED: usize = 5;
/// A host that does not exist (RFC 6761).
const FOREIGN_HOST: &str = "gosling-check.invalid";
const FOREIGN_ORIGIN: &str = "https://gosling-page.invalid";

/// The requests of one session.
struct Requests<'a> {
    probe: &'a Probe,
    session: Option<String>,
    version: String,
}

impl Requests<'_> {
    /// Sends a message with the headers of the session; `changed` replaces some, and removes those that it gives
    /// no value.
    fn post(&self, message: &str, changed: &[(&str, &str)]) -> Result<HttpReply, Exchange> {
        self.send("POST", message, changed)
    }

    fn send(
        &self,
        method: &str,
        message: &str,
        changed: &[(&str, &str)],
    ) -> Result<HttpReply, Exchange> {
        let mut headers = vec![("accept", ACCEPT)];
        if method == "POST" {
            headers.push(("content-type", JSON));
        }
        if !self.version.is_empty() {
            headers.push(("mcp-protocol-version", &self.version));
        }
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
        }
        headers.retain(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let added = changed.iter().filter(|(_, value)| !value.is_empty());
        headers.extend(added);
        let until = if method == "GET" { "" } else { "\"jsonrpc\"" };
        self.probe.send(method, &headers, message, until)
    }
}

fn request(id: u32, method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).to_string()
}

fn initialize() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": VERSIONS[0],
            "capabilities": ClientKind::Full.capabilities(),
            "clientInfo": {"name": "gosling-check", "version": env!("CARGO_PKG_VERSION")},
        },
    })
    .to_string()
}

pub(super) fn run(runner: &mut Runner<'_>) {
    let options = match runner.main() {
        Ok(main) => main.http.clone(),
        Err(reason) => return runner.findings.none_checked(&CHECKS, &reason),
    };
    let Some(options) = options else {
        let reason = "the transport is not Streamable HTTP";
        return runner.findings.none_applicable(&CHECKS, reason);
    };
    let timeout = runner.options.timeout;
    let calls = sample_calls(runner);
    match Probe::new(&options, timeout) {
        Ok(probe) => check(&mut runner.findings, &probe, &calls),
        Err(reason) => runner.findings.none_checked(&CHECKS, &reason),
    }
}

/// Whether the transport keeps a server from being initialized: it speaks only the old transport, or its answer to
/// `initialize` breaks a rule.
pub(super) fn explains_failure(
    findings: &mut Findings,
    options: &HttpOptions,
    timeout: Duration,
) -> bool {
    let Ok(probe) = Probe::new(options, timeout) else {
        return false;
    };
    let requests = Requests {
        probe: &probe,
        session: None,
        version: String::new(),
    };
    match requests.post(&initialize(), &[]) {
        Ok(opened) if opened.status == 200 => {
            check_opened(findings, &opened);
            CHECKS.iter().any(|check| findings.has_failed(*check))
        }
        _ => is_legacy_sse(findings, &probe),
    }
}

fn is_legacy_sse(findings: &mut Findings, probe: &Probe) -> bool {
    let accept = [("accept", "text/event-stream")];
    let Ok(reply) = probe.send("GET", &accept, "", "endpoint") else {
        return false;
    };
    let text = String::from_utf8_lossy(&reply.body);
    let mut lines = text.lines().map(|line| line.replace(": ", ":"));
    let is_old = lines.any(|line| line == "event:endpoint");
    if is_old {
        let fault = "GET answers as HTTP+SSE of 2024-11-05, and POST does not work";
        findings.fail(Check::HttpLegacySse, fault, reply.exchange);
    }
    is_old
}

/// The answer to `initialize`.
fn check_opened(findings: &mut Findings, opened: &HttpReply) {
    if !is_right(opened) {
        let fault = format!("`initialize` got {}", opened.describe());
        findings.fail(Check::HttpMediaType, fault, opened.exchange.clone());
    }
    check_stream(findings, opened);
    check_session_id(findings, opened);
}

fn is_right(reply: &HttpReply) -> bool {
    reply.status == 200 && matches!(reply.media_type.as_str(), JSON | "text/event-stream")
}

/// Calls of read-only tools, with a progress token: likely to be answered with an event stream.
fn sample_calls(runner: &mut Runner<'_>) -> Vec<String> {
    let listing = runner.listing(Kind::Tools);
    let tools: Vec<&Value> = listing.entries().collect();
    let read_only = read_only(&tools).into_iter();
    let calls = read_only.take(MAX_CALLED).map(|tool| {
        let params = json!({
            "name": tool["name"],
            "arguments": sample::arguments(&tool["inputSchema"]),
            "_meta": {"progressToken": "gosling"},
        });
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}).to_string()
    });
    calls.collect()
}

fn check(findings: &mut Findings, probe: &Probe, calls: &[String]) {
    findings.pass(Check::HttpLegacySse, "");
    let mut requests = Requests {
        probe,
        session: None,
        version: String::new(),
    };
    let opened = match requests.post(&initialize(), &[]) {
        Ok(opened) => opened,
        Err(exchange) => {
            let reason = format!("`initialize` got no response: {}", exchange.received);
            return findings.none_checked(&CHECKS, &reason);
        }
    };
    check_opened(findings, &opened);
    let agreed = opened.messages().0.into_iter().next().unwrap_or_default();
    let agreed = agreed["result"]["protocolVersion"].as_str();
    requests.version = agreed.unwrap_or_default().to_owned();
    requests.session = opened.header("mcp-session-id").map(str::to_owned);

    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    match requests.post(&initialized.to_string(), &[]) {
        Ok(reply) if reply.status == 202 && reply.body.is_empty() => {
            findings.pass(Check::HttpNotificationStatus, "");
        }
        Ok(reply) => {
            let body = if reply.body.is_empty() {
                ""
            } else {
                " and a body"
            };
            let fault = format!("`notifications/initialized` got {}{body}", reply.describe());
            findings.fail(Check::HttpNotificationStatus, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "`notifications/initialized` got no response";
            findings.fail(Check::HttpNotificationStatus, fault, exchange);
        }
    }
    if let Ok(reply) = requests.post(&request(2, "ping"), &[]) {
        if !is_right(&reply) {
            let fault = format!("`ping` got {}", reply.describe());
            findings.fail(Check::HttpMediaType, fault, reply.exchange.clone());
        }
        check_stream(findings, &reply);
    }
    findings.pass(Check::HttpMediaType, opened.media_type.clone());
    for call in calls {
        if let Ok(reply) = requests.post(call, &[]) {
            check_stream(findings, &reply);
        }
    }
    check_accept(findings, &requests);
    check_refusals(findings, &requests);
    check_get(findings, &requests);
    check_foreign(findings, &requests);
    check_method_errors(findings, &requests);
    check_delete(findings, &requests);
    findings.not_applicable(Check::HttpEventStream, "no response was an event stream");
    findings.pass(Check::HttpErrorBody, "");
}

fn check_stream(findings: &mut Findings, reply: &HttpReply) {
    if reply.media_type != "text/event-stream" {
        return;
    }
    match events(&reply.body).1 {
        Some(fault) => findings.fail(Check::HttpEventStream, fault, reply.exchange.clone()),
        None => findings.pass(Check::HttpEventStream, ""),
    }
}

fn check_session_id(findings: &mut Findings, opened: &HttpReply) {
    let Some(id) = opened.headers.get("mcp-session-id") else {
        let checks = [
            Check::HttpSessionIdShape,
            Check::HttpUnknownSession,
            Check::HttpMissingSession,
            Check::HttpSessionDeleted,
        ];
        return findings.none_applicable(&checks, "the server has no sessions");
    };
    let is_visible = |byte: &u8| (0x21..=0x7e).contains(byte);
    if !id.is_empty() && id.as_bytes().iter().all(is_visible) {
        findings.pass(Check::HttpSessionIdShape, "");
    } else {
        let shown = printable(&String::from_utf8_lossy(id.as_bytes()), 80);
        let fault = format!("the session id is {shown:?}");
        findings.fail(Check::HttpSessionIdShape, fault, opened.exchange.clone());
    }
}

fn check_accept(findings: &mut Findings, requests: &Requests<'_>) {
    match requests.post(&request(3, "ping"), &[("accept", OTHER_ACCEPT)]) {
        Ok(reply) if (200..300).contains(&reply.status) => {
            check_stream(findings, &reply);
            findings.pass(Check::HttpAccept, "");
        }
        Ok(reply) => {
            let fault = format!("`Accept: {OTHER_ACCEPT}` got {}", reply.describe());
            findings.fail(Check::HttpAccept, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "a request with another `Accept` got no response";
            findings.fail(Check::HttpAccept, fault, exchange);
        }
    }
}

/// A request that has to be refused.
struct Refused<'a> {
    /// The check of the status, other than the check that the refusal can be read.
    check: Option<Check>,
    what: &'static str,
    message: &'a str,
    /// The header that makes it wrong; without a value it is missing.
    header: Option<(&'static str, &'static str)>,
    status: u16,
}

/// Requests that have to be refused, with a status and a body that say why.
fn check_refusals(findings: &mut Findings, requests: &Requests<'_>) {
    let ping = request(4, "ping");
    let mut cases = vec![Refused {
        check: None,
        what: "a body that is not JSON",
        message: "{\"jsonrpc\":",
        header: None,
        status: 400,
    }];
    if requests.version.as_str() >= FIRST_WITH_HEADER {
        cases.push(Refused {
            check: Some(Check::HttpVersionHeader),
            what: "a request with `MCP-Protocol-Version: 1999-01-01`",
            message: &ping,
            header: Some(("mcp-protocol-version", "1999-01-01")),
            status: 400,
        });
    } else {
        let reason = format!("versions before {FIRST_WITH_HEADER} have no such header");
        findings.not_applicable(Check::HttpVersionHeader, reason);
    }
    if requests.session.is_some() {
        cases.push(Refused {
            check: Some(Check::HttpUnknownSession),
            what: "a request with an unknown session id",
            message: &ping,
            header: Some(("mcp-session-id", "00000000-0000-4000-8000-000000000000")),
            status: 404,
        });
        cases.push(Refused {
            check: Some(Check::HttpMissingSession),
            what: "a request without a session id",
            message: &ping,
            header: Some(("mcp-session-id", "")),
            status: 400,
        });
    }
    for case in cases {
        check_refusal(findings, requests, &case);
    }
}

fn check_refusal(findings: &mut Findings, requests: &Requests<'_>, case: &Refused<'_>) {
    let what = case.what;
    let check = case.check.unwrap_or(Check::HttpErrorBody);
    let reply = match requests.post(case.message, case.header.as_slice()) {
        Ok(reply) => reply,
        Err(exchange) => {
            let fault = format!("{what} got no response");
            return findings.fail(check, fault, exchange);
        }
    };
    let is_refused = (400..500).contains(&reply.status);
    let is_right = match case.check {
        Some(_) => reply.status == case.status,
        None => is_refused,
    };
    if !is_right {
        let fault = format!("{what} got {}", reply.describe());
        findings.fail(check, fault, reply.exchange.clone());
    } else if case.check.is_some() {
        findings.pass(check, "");
    }
    if is_refused && !is_readable(&reply) {
        let fault = format!("the body for {what} is not readable: {}", reply.describe());
        findings.fail(Check::HttpErrorBody, fault, reply.exchange);
    }
}

/// Whether the body is JSON or plain text, or empty.
fn is_readable(reply: &HttpReply) -> bool {
    match reply.media_type.as_str() {
        "application/json" | "application/problem+json" => {
            crate::json::from_slice::<Value>(&reply.body).is_ok()
        }
        "text/event-stream" => !reply.messages().0.is_empty(),
        "text/plain" => true,
        _ => reply.body.is_empty(),
    }
}

fn check_get(findings: &mut Findings, requests: &Requests<'_>) {
    match requests.send("GET", "", &[("accept", "text/event-stream")]) {
        Ok(reply) if reply.status == 405 => findings.pass(Check::HttpGet, "405"),
        Ok(reply) if reply.status == 200 && reply.media_type == "text/event-stream" => {
            findings.pass(Check::HttpGet, "an event stream");
        }
        Ok(reply) => {
            let fault = format!("GET got {}", reply.describe());
            findings.fail(Check::HttpGet, fault, reply.exchange);
        }
        Err(exchange) => {
            // The head of an event stream may come only with its first event.
            findings.not_checked(Check::HttpGet, exchange.received);
        }
    }
}

/// Requests that a web page could make, on this machine.
fn check_foreign(findings: &mut Findings, requests: &Requests<'_>) {
    if !requests.probe.is_local {
        let reason = "the server is not on this machine";
        return findings.none_applicable(&[Check::HttpOrigin, Check::HttpHost], reason);
    }
    for (check, header, value, what) in [
        (
            Check::HttpOrigin,
            "origin",
            FOREIGN_ORIGIN,
            "a foreign web page",
        ),
        (Check::HttpHost, "host", FOREIGN_HOST, "a foreign host"),
    ] {
        match requests.post(&request(5, "ping"), &[(header, value)]) {
            Ok(reply) if (400..500).contains(&reply.status) => {
                findings.pass(check, reply.describe())
            }
            Ok(reply) => {
                let fault = format!("a request of {what} got {}", reply.describe());
                findings.fail(check, fault, reply.exchange);
            }
            // A refusal, though not a polite one.
            Err(_) => findings.pass(check, "no response"),
        }
    }
}

fn check_method_errors(findings: &mut Findings, requests: &Requests<'_>) {
    for method in ["gosling/unknown-method", "tools/call"] {
        if let Ok(reply) = requests.post(&request(6, method), &[])
            && reply.status >= 500
        {
            let fault = format!("{method} got {}", reply.describe());
            findings.fail(Check::HttpMethodErrors, fault, reply.exchange);
        }
    }
    findings.pass(Check::HttpMethodErrors, "");
}

fn check_delete(findings: &mut Findings, requests: &Requests<'_>) {
    if requests.session.is_none() {
        return;
    }
    let deleted = match requests.send("DELETE", "", &[]) {
        Ok(reply) => reply,
        Err(exchange) => {
            let fault = "DELETE got no response";
            return findings.fail(Check::HttpSessionDeleted, fault, exchange);
        }
    };
    if deleted.status == 405 {
        return findings.pass(Check::HttpSessionDeleted, "405");
    }
    if !(200..300).contains(&deleted.status) {
        let fault = format!("DELETE got {}", deleted.describe());
        return findings.fail(Check::HttpSessionDeleted, fault, deleted.exchange);
    }
    match requests.post(&request(7, "ping"), &[]) {
        Ok(reply) if reply.status == 404 => findings.pass(Check::HttpSessionDeleted, ""),
        Ok(reply) => {
            let fault = format!("after DELETE, `ping` got {}", reply.describe());
            findings.fail(Check::HttpSessionDeleted, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "after DELETE, `ping` got no response";
            findings.fail(Check::HttpSessionDeleted, fault, exchange);
        }
    }
}
