//! Streamable HTTP: status codes, headers, sessions and event streams. SERVER §4.3.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::fetched_list::read_only;
use crate::findings::CheckFindings;
use crate::list_kind::ListKind;
use crate::mcp::transport::http::HttpOptions;
use crate::sample_arguments;
use crate::text::printable;
use crate::wire::http_probe::{HttpProbe, HttpReply, events};
use crate::wire::http_session::{HttpSession, JSON, initialize, request};
use serde_json::{Value, json};
use std::time::Duration;

declare_checks! {
    HTTP_MEDIA_TYPE {
        30 "http-media-type" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "A request is answered with status 200 and `application/json` or `text/event-stream`."
        why: "Clients choose the parser by `Content-Type` and refuse others."
        fix: "Set the `Content-Type` that fits the body."
    }
    HTTP_ACCEPT {
        31 "http-accept" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "`Accept` is understood in any order of its types, with parameters and with white space."
        why: "HTTP libraries write the header differently."
        fix: "Parse the list of media types; do not compare the whole header."
    }
    HTTP_NOTIFICATION_STATUS {
        32 "http-notification-status" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "A notification is answered with status 202 and no body."
        why: "Clients that expect 202 take another status for a failure."
        fix: "Answer POSTs that contain no request with 202 and an empty body."
    }
    HTTP_SESSION_ID_SHAPE {
        33 "http-session-id" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "A session id consists of visible ASCII characters."
        why: "Clients refuse header values with other characters."
        fix: "Use a UUID, hexadecimal digits or base64url."
    }
    HTTP_UNKNOWN_SESSION {
        34 "http-unknown-session" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "With sessions, a request with an unknown session id is answered with status 404."
        why: "404 tells the client to start a new session. With another status it stays disconnected after a restart of the server."
        fix: "Answer 404 if the value of `Mcp-Session-Id` is not a running session."
    }
    HTTP_MISSING_SESSION {
        35 "http-missing-session" "4.3" Should Minimum
        [("4.3", 1)]
        requires: "With sessions, a request without a session id, other than `initialize`, is answered with status 400."
        why: "A server that answers anyway mixes the state of its clients."
        fix: "Answer 400 if `Mcp-Session-Id` is missing."
    }
    HTTP_SESSION_DELETED {
        36 "http-session-deleted" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "After a successful DELETE, requests of that session are answered with status 404; a server that does not let clients end sessions answers the DELETE with 405."
        why: "A session that outlives its DELETE uses memory until the server ends."
        fix: "Remove the session on DELETE."
    }
    HTTP_VERSION_HEADER {
        37 "http-version-header" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "A request with an unsupported `MCP-Protocol-Version` is answered with status 400."
        why: "MCP says so since version 2025-06-18. Otherwise client and server may follow different versions."
        fix: "Compare the header with the supported versions; a request without the header is accepted."
    }
    HTTP_GET {
        38 "http-get" "4.3" Must Minimum
        [("4.3", 1)]
        requires: "GET opens an event stream or is answered with status 405."
        why: "Clients open this stream after `initialize`. With another status some of them disconnect."
        fix: "Answer GET with 405 if the server never sends messages of its own."
    }
    HTTP_EVENT_STREAM {
        39 "http-event-stream" "4.3" Must Minimum
        [("4.3", 4), ("12", 8)]
        requires: "Event streams follow the format: UTF-8, fields with a colon, an empty line after each event, one message in the data of an event."
        why: "A strict parser drops what does not follow the format."
        fix: "Write `data: MESSAGE`, then an empty line. Prefix each line of a message that has several with `data: `."
    }
    HTTP_ERROR_BODY {
        40 "http-error-body" "4.3" Must Minimum
        [("4.3", 3)]
        requires: "A refused request has a status from 400 to 499 and a readable body: a JSON-RPC error, or at least JSON or plain text."
        why: "An HTML page or a status 500 tells neither the client nor its user what to change."
        fix: "Answer refusals with a JSON-RPC error and the status that fits."
    }
    HTTP_ORIGIN {
        41 "http-origin" "4.3" Should Minimum
        [("4.3", 1)]
        requires: "On this machine, a request of a foreign web page (header `Origin`) is answered with status 403."
        why: "Any page in the user's browser could call the tools (DNS rebinding). MCP makes this a MUST."
        fix: "Compare `Origin` with a list of allowed origins; accept requests without it."
    }
    HTTP_HOST {
        42 "http-host" "4.3" Should Minimum
        [("4.3", 1)]
        requires: "On this machine, a request for a foreign host (header `Host`) is refused."
        why: "Without it, a page in the user's browser can read the answers (DNS rebinding)."
        fix: "Accept `localhost`, `127.0.0.1` and `[::1]`, with the port, and the host names of the deployment."
    }
    HTTP_LEGACY_SSE {
        43 "http-legacy-sse" "4.1" MustNot Minimum
        [("4.1", 2)]
        requires: "The address does not speak only the HTTP+SSE transport of 2024-11-05."
        why: "Goose does not support that transport."
        fix: "Serve Streamable HTTP; most SDKs have it beside SSE."
    }
    HTTP_METHOD_ERRORS {
        44 "http-method-errors" "8" Must Minimum
        [("8", 2)]
        requires: "Over HTTP, a failed method is a JSON-RPC error, not a failure of the transport (5xx)."
        why: "Clients reconnect or retry after a failure of the transport."
        fix: "Answer with status 200 and the JSON-RPC error in the body."
    }
}

pub(crate) const GROUP: Group = Group::new("HTTP", &[CHECKS], run);

/// An `Accept` of the same meaning.
const OTHER_ACCEPT: &str = "text/event-stream;q=0.9 ,application/json; charset=utf-8";
/// The first version of MCP with the header `MCP-Protocol-Version`.
const FIRST_WITH_HEADER: &str = "2025-06-18";
/// The most tools that are called.
const MAX_CALLED: usize = 5;
/// A host that does not exist (RFC 6761).
const FOREIGN_HOST: &str = "gosling-check.invalid";
const FOREIGN_ORIGIN: &str = "https://gosling-page.invalid";

fn run(run: &mut CheckRun<'_>) {
    let options = match run.main() {
        Ok(main) => main.http.clone(),
        Err(reason) => return run.findings.none_checked(CHECKS, &reason),
    };
    let Some(options) = options else {
        let reason = "the transport is not Streamable HTTP";
        return run.findings.none_applicable(CHECKS, reason);
    };
    let timeout = run.options.timeout;
    let calls = sample_calls(run);
    match HttpProbe::new(&options, timeout) {
        Ok(probe) => check(&mut run.findings, &probe, &calls),
        Err(reason) => run.findings.none_checked(CHECKS, &reason),
    }
}

/// Whether the transport keeps a server from being initialized: it speaks only the old transport, or its answer to
/// `initialize` breaks a rule.
pub(crate) fn explains_failure(
    findings: &mut CheckFindings,
    options: &HttpOptions,
    timeout: Duration,
) -> bool {
    let Ok(probe) = HttpProbe::new(options, timeout) else {
        return false;
    };
    let session = HttpSession {
        probe: &probe,
        id: None,
        version: String::new(),
    };
    match session.post(&initialize(), &[]) {
        Ok(opened) if opened.status == 200 => {
            check_opened(findings, &opened);
            CHECKS.iter().any(|check| findings.has_failed(check))
        }
        _ => is_legacy_sse(findings, &probe),
    }
}

fn is_legacy_sse(findings: &mut CheckFindings, probe: &HttpProbe) -> bool {
    let accept = [("accept", "text/event-stream")];
    let Ok(reply) = probe.send("GET", &accept, "", "endpoint") else {
        return false;
    };
    let text = String::from_utf8_lossy(&reply.body);
    let mut lines = text.lines().map(|line| line.replace(": ", ":"));
    let is_old = lines.any(|line| line == "event:endpoint");
    if is_old {
        let fault = "GET answers as HTTP+SSE of 2024-11-05, and POST does not work";
        findings.fail(HTTP_LEGACY_SSE, fault, reply.exchange);
    }
    is_old
}

/// The answer to `initialize`.
fn check_opened(findings: &mut CheckFindings, opened: &HttpReply) {
    if !is_right(opened) {
        let fault = format!("`initialize` got {}", opened.describe());
        findings.fail(HTTP_MEDIA_TYPE, fault, opened.exchange.clone());
    }
    check_stream(findings, opened);
    check_session_id(findings, opened);
}

fn is_right(reply: &HttpReply) -> bool {
    reply.status == 200 && matches!(reply.media_type.as_str(), JSON | "text/event-stream")
}

/// Calls of read-only tools, with a progress token: likely to be answered with an event stream.
fn sample_calls(run: &mut CheckRun<'_>) -> Vec<String> {
    let list = run.list(ListKind::Tools);
    let tools: Vec<&Value> = list.entries().collect();
    let read_only = read_only(&tools).into_iter();
    let calls = read_only.take(MAX_CALLED).map(|tool| {
        let params = json!({
            "name": tool["name"],
            "arguments": sample_arguments::arguments(&tool["inputSchema"]),
            "_meta": {"progressToken": "gosling"},
        });
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}).to_string()
    });
    calls.collect()
}

fn check(findings: &mut CheckFindings, probe: &HttpProbe, calls: &[String]) {
    findings.pass(HTTP_LEGACY_SSE, "");
    let mut session = HttpSession {
        probe,
        id: None,
        version: String::new(),
    };
    let opened = match session.post(&initialize(), &[]) {
        Ok(opened) => opened,
        Err(exchange) => {
            let reason = format!("`initialize` got no response: {}", exchange.received);
            return findings.none_checked(CHECKS, &reason);
        }
    };
    check_opened(findings, &opened);
    let agreed = opened.messages().0.into_iter().next().unwrap_or_default();
    let agreed = agreed["result"]["protocolVersion"].as_str();
    session.version = agreed.unwrap_or_default().to_owned();
    session.id = opened.header("mcp-session-id").map(str::to_owned);

    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    match session.post(&initialized.to_string(), &[]) {
        Ok(reply) if reply.status == 202 && reply.body.is_empty() => {
            findings.pass(HTTP_NOTIFICATION_STATUS, "");
        }
        Ok(reply) => {
            let body = if reply.body.is_empty() {
                ""
            } else {
                " and a body"
            };
            let fault = format!("`notifications/initialized` got {}{body}", reply.describe());
            findings.fail(HTTP_NOTIFICATION_STATUS, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "`notifications/initialized` got no response";
            findings.fail(HTTP_NOTIFICATION_STATUS, fault, exchange);
        }
    }
    if let Ok(reply) = session.post(&request(2, "ping"), &[]) {
        if !is_right(&reply) {
            let fault = format!("`ping` got {}", reply.describe());
            findings.fail(HTTP_MEDIA_TYPE, fault, reply.exchange.clone());
        }
        check_stream(findings, &reply);
    }
    findings.pass(HTTP_MEDIA_TYPE, opened.media_type.clone());
    for call in calls {
        if let Ok(reply) = session.post(call, &[]) {
            check_stream(findings, &reply);
        }
    }
    check_accept(findings, &session);
    check_refusals(findings, &session);
    check_get(findings, &session);
    check_foreign(findings, &session);
    check_method_errors(findings, &session);
    check_delete(findings, &session);
    findings.not_applicable(HTTP_EVENT_STREAM, "no response was an event stream");
    findings.pass(HTTP_ERROR_BODY, "");
}

fn check_stream(findings: &mut CheckFindings, reply: &HttpReply) {
    if reply.media_type != "text/event-stream" {
        return;
    }
    match events(&reply.body).1 {
        Some(fault) => findings.fail(HTTP_EVENT_STREAM, fault, reply.exchange.clone()),
        None => findings.pass(HTTP_EVENT_STREAM, ""),
    }
}

fn check_session_id(findings: &mut CheckFindings, opened: &HttpReply) {
    let Some(id) = opened.headers.get("mcp-session-id") else {
        let checks = [
            HTTP_SESSION_ID_SHAPE,
            HTTP_UNKNOWN_SESSION,
            HTTP_MISSING_SESSION,
            HTTP_SESSION_DELETED,
        ];
        return findings.none_applicable(&checks, "the server has no sessions");
    };
    let is_visible = |byte: &u8| (0x21..=0x7e).contains(byte);
    if !id.is_empty() && id.as_bytes().iter().all(is_visible) {
        findings.pass(HTTP_SESSION_ID_SHAPE, "");
    } else {
        let shown = printable(&String::from_utf8_lossy(id.as_bytes()), 80);
        let fault = format!("the session id is {shown:?}");
        findings.fail(HTTP_SESSION_ID_SHAPE, fault, opened.exchange.clone());
    }
}

fn check_accept(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    match session.post(&request(3, "ping"), &[("accept", OTHER_ACCEPT)]) {
        Ok(reply) if (200..300).contains(&reply.status) => {
            check_stream(findings, &reply);
            findings.pass(HTTP_ACCEPT, "");
        }
        Ok(reply) => {
            let fault = format!("`Accept: {OTHER_ACCEPT}` got {}", reply.describe());
            findings.fail(HTTP_ACCEPT, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "a request with another `Accept` got no response";
            findings.fail(HTTP_ACCEPT, fault, exchange);
        }
    }
}

/// A request that has to be refused.
struct RefusedRequest<'a> {
    /// The check of the status, other than the check that the refusal can be read.
    check: Option<&'static Check>,
    what: &'static str,
    message: &'a str,
    /// The header that makes it wrong; without a value it is missing.
    header: Option<(&'static str, &'static str)>,
    status: u16,
}

/// HttpSession that have to be refused, with a status and a body that say why.
fn check_refusals(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    let ping = request(4, "ping");
    let mut cases = vec![RefusedRequest {
        check: None,
        what: "a body that is not JSON",
        message: "{\"jsonrpc\":",
        header: None,
        status: 400,
    }];
    if session.version.as_str() >= FIRST_WITH_HEADER {
        cases.push(RefusedRequest {
            check: Some(HTTP_VERSION_HEADER),
            what: "a request with `MCP-Protocol-Version: 1999-01-01`",
            message: &ping,
            header: Some(("mcp-protocol-version", "1999-01-01")),
            status: 400,
        });
    } else {
        let reason = format!("versions before {FIRST_WITH_HEADER} have no such header");
        findings.not_applicable(HTTP_VERSION_HEADER, reason);
    }
    if session.id.is_some() {
        cases.push(RefusedRequest {
            check: Some(HTTP_UNKNOWN_SESSION),
            what: "a request with an unknown session id",
            message: &ping,
            header: Some(("mcp-session-id", "00000000-0000-4000-8000-000000000000")),
            status: 404,
        });
        cases.push(RefusedRequest {
            check: Some(HTTP_MISSING_SESSION),
            what: "a request without a session id",
            message: &ping,
            header: Some(("mcp-session-id", "")),
            status: 400,
        });
    }
    for case in cases {
        check_refusal(findings, session, &case);
    }
}

fn check_refusal(
    findings: &mut CheckFindings,
    session: &HttpSession<'_>,
    case: &RefusedRequest<'_>,
) {
    let what = case.what;
    let check = case.check.unwrap_or(HTTP_ERROR_BODY);
    let reply = match session.post(case.message, case.header.as_slice()) {
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
        findings.fail(HTTP_ERROR_BODY, fault, reply.exchange);
    }
}

/// Whether the body is JSON or plain text, or empty.
fn is_readable(reply: &HttpReply) -> bool {
    match reply.media_type.as_str() {
        "application/json" | "application/problem+json" => {
            crate::text::json::from_slice::<Value>(&reply.body).is_ok()
        }
        "text/event-stream" => !reply.messages().0.is_empty(),
        "text/plain" => true,
        _ => reply.body.is_empty(),
    }
}

fn check_get(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    match session.send("GET", "", &[("accept", "text/event-stream")]) {
        Ok(reply) if reply.status == 405 => findings.pass(HTTP_GET, "405"),
        Ok(reply) if reply.status == 200 && reply.media_type == "text/event-stream" => {
            findings.pass(HTTP_GET, "an event stream");
        }
        Ok(reply) => {
            let fault = format!("GET got {}", reply.describe());
            findings.fail(HTTP_GET, fault, reply.exchange);
        }
        Err(exchange) => {
            // The head of an event stream may come only with its first event.
            findings.not_checked(HTTP_GET, exchange.received);
        }
    }
}

/// HttpSession that a web page could make, on this machine.
fn check_foreign(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    if !session.probe.is_local {
        let reason = "the server is not on this machine";
        return findings.none_applicable(&[HTTP_ORIGIN, HTTP_HOST], reason);
    }
    for (check, header, value, what) in [
        (HTTP_ORIGIN, "origin", FOREIGN_ORIGIN, "a foreign web page"),
        (HTTP_HOST, "host", FOREIGN_HOST, "a foreign host"),
    ] {
        match session.post(&request(5, "ping"), &[(header, value)]) {
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

fn check_method_errors(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    for method in ["gosling/unknown-method", "tools/call"] {
        if let Ok(reply) = session.post(&request(6, method), &[])
            && reply.status >= 500
        {
            let fault = format!("{method} got {}", reply.describe());
            findings.fail(HTTP_METHOD_ERRORS, fault, reply.exchange);
        }
    }
    findings.pass(HTTP_METHOD_ERRORS, "");
}

fn check_delete(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    if session.id.is_none() {
        return;
    }
    let deleted = match session.send("DELETE", "", &[]) {
        Ok(reply) => reply,
        Err(exchange) => {
            let fault = "DELETE got no response";
            return findings.fail(HTTP_SESSION_DELETED, fault, exchange);
        }
    };
    if deleted.status == 405 {
        return findings.pass(HTTP_SESSION_DELETED, "405");
    }
    if !(200..300).contains(&deleted.status) {
        let fault = format!("DELETE got {}", deleted.describe());
        return findings.fail(HTTP_SESSION_DELETED, fault, deleted.exchange);
    }
    match session.post(&request(7, "ping"), &[]) {
        Ok(reply) if reply.status == 404 => findings.pass(HTTP_SESSION_DELETED, ""),
        Ok(reply) => {
            let fault = format!("after DELETE, `ping` got {}", reply.describe());
            findings.fail(HTTP_SESSION_DELETED, fault, reply.exchange);
        }
        Err(exchange) => {
            let fault = "after DELETE, `ping` got no response";
            findings.fail(HTTP_SESSION_DELETED, fault, exchange);
        }
    }
}
