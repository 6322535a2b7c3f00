//! Streamable HTTP: status codes, headers, sessions and event streams. SERVER §4.3.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::fetched_list::read_only;
use crate::findings::{CheckFindings, Fault, Observed, ShownExchange};
use crate::list_kind::ListKind;
use crate::mcp::transport::http::HttpOptions;
use crate::sample_arguments;
use crate::text::printable;
use crate::wire::http_probe::{HttpProbe, HttpReply, events};
use crate::wire::http_session::{EVENT_STREAM, HttpSession, JSON, initialize, request};
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

declare_checks! {
    HTTP_MEDIA_TYPE = 30 "http-media-type" "4.3" Must Minimum [("4.3", 1)]
        requires: "A request is answered with status 200 and `application/json` or `text/event-stream`."
        why: "Clients choose the parser by `Content-Type` and refuse others."
        fix: "Set the `Content-Type` that fits the body."
    HTTP_ACCEPT = 31 "http-accept" "4.3" Must Minimum [("4.3", 1)]
        requires: "`Accept` is understood in any order of its types, with parameters and with white space."
        why: "HTTP libraries write the header differently."
        fix: "Parse the list of media types; do not compare the whole header."
    HTTP_NOTIFICATION_STATUS = 32 "http-notification-status" "4.3" Must Minimum [("4.3", 1)]
        requires: "A notification is answered with status 202 and no body."
        why: "Clients that expect 202 take another status for a failure."
        fix: "Answer POSTs that contain no request with 202 and an empty body."
    HTTP_SESSION_ID_SHAPE = 33 "http-session-id" "4.3" Must Minimum [("4.3", 1)]
        requires: "A session id consists of visible ASCII characters."
        why: "Clients refuse header values with other characters."
        fix: "Use a UUID, hexadecimal digits or base64url."
    HTTP_UNKNOWN_SESSION = 34 "http-unknown-session" "4.3" Must Minimum [("4.3", 1)]
        requires: "With sessions, a request with an unknown session id is answered with status 404."
        why: "404 tells the client to start a new session. With another status it stays disconnected after a restart of the server."
        fix: "Answer 404 if the value of `Mcp-Session-Id` is not a running session."
    HTTP_MISSING_SESSION = 35 "http-missing-session" "4.3" Should Minimum [("4.3", 1)]
        requires: "With sessions, a request without a session id, other than `initialize`, is answered with status 400."
        why: "A server that answers anyway mixes the state of its clients."
        fix: "Answer 400 if `Mcp-Session-Id` is missing."
    HTTP_SESSION_DELETED = 36 "http-session-deleted" "4.3" Must Minimum [("4.3", 1)]
        requires: "After a successful DELETE, requests of that session are answered with status 404; a server that does not let clients end sessions answers the DELETE with 405."
        why: "A session that outlives its DELETE uses memory until the server ends."
        fix: "Remove the session on DELETE."
    HTTP_VERSION_HEADER = 37 "http-version-header" "4.3" Must Minimum [("4.3", 1)]
        requires: "A request with an unsupported `MCP-Protocol-Version` is answered with status 400."
        why: "MCP says so since version 2025-06-18. Otherwise client and server may follow different versions."
        fix: "Compare the header with the supported versions; a request without the header is accepted."
    HTTP_GET = 38 "http-get" "4.3" Must Minimum [("4.3", 1)]
        requires: "GET opens an event stream or is answered with status 405."
        why: "Clients open this stream after `initialize`. With another status some of them disconnect."
        fix: "Answer GET with 405 if the server never sends messages of its own."
    HTTP_EVENT_STREAM = 39 "http-event-stream" "4.3" Must Minimum [("4.3", 4), ("12", 8)]
        requires: "Event streams follow the format: UTF-8, fields with a colon, an empty line after each event, one message in the data of an event."
        why: "A strict parser drops what does not follow the format."
        fix: "Write `data: MESSAGE`, then an empty line. Prefix each line of a message that has several with `data: `."
    HTTP_ERROR_BODY = 40 "http-error-body" "4.3" Must Minimum [("4.3", 3)]
        requires: "A refused request has a status from 400 to 499 and a readable body: a JSON-RPC error, or at least JSON or plain text."
        why: "An HTML page or a status 500 tells neither the client nor its user what to change."
        fix: "Answer refusals with a JSON-RPC error and the status that fits."
    HTTP_ORIGIN = 41 "http-origin" "4.3" Should Minimum [("4.3", 1)]
        requires: "On this machine, a request of a foreign web page (header `Origin`) is answered with status 403."
        why: "Any page in the user's browser could call the tools (DNS rebinding). MCP makes this a MUST."
        fix: "Compare `Origin` with a list of allowed origins; accept requests without it."
    HTTP_HOST = 42 "http-host" "4.3" Should Minimum [("4.3", 1)]
        requires: "On this machine, a request for a foreign host (header `Host`) is refused."
        why: "Without it, a page in the user's browser can read the answers (DNS rebinding)."
        fix: "Accept `localhost`, `127.0.0.1` and `[::1]`, with the port, and the host names of the deployment."
    HTTP_LEGACY_SSE = 43 "http-legacy-sse" "4.1" MustNot Minimum [("4.1", 2)]
        requires: "The address does not speak only the HTTP+SSE transport of 2024-11-05."
        why: "Goose does not support that transport."
        fix: "Serve Streamable HTTP; most SDKs have it beside SSE."
    HTTP_METHOD_ERRORS = 44 "http-method-errors" "8" Must Minimum [("8", 2)]
        requires: "Over HTTP, a failed method is a JSON-RPC error, not a failure of the transport (5xx)."
        why: "Clients reconnect or retry after a failure of the transport."
        fix: "Answer with status 200 and the JSON-RPC error in the body."
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
    match HttpSession::new(&probe).post(&initialize(), &[]) {
        Ok(opened) if opened.status == 200 => {
            check_opened(findings, &opened);
            CHECKS.iter().any(|check| findings.has_failed(check))
        }
        _ => is_legacy_sse(findings, &probe),
    }
}

fn is_legacy_sse(findings: &mut CheckFindings, probe: &HttpProbe) -> bool {
    let accept = [("accept", EVENT_STREAM)];
    let Ok(reply) = probe.send("GET", &accept, "", "endpoint") else {
        return false;
    };
    let text = String::from_utf8_lossy(&reply.body);
    let mut lines = text.lines().map(|line| line.replace(": ", ":"));
    let is_old = lines.any(|line| line == "event:endpoint");
    if is_old {
        let fault = "GET answers as HTTP+SSE of 2024-11-05, and POST does not work";
        findings.fail(HTTP_LEGACY_SSE, (fault, reply.exchange));
    }
    is_old
}

/// The answer to `initialize`.
fn check_opened(findings: &mut CheckFindings, opened: &HttpReply) {
    check_media_type(findings, opened, "`initialize`");
    check_session_id(findings, opened);
}

/// The media type of an answer, and its body if that is an event stream.
fn check_media_type(findings: &mut CheckFindings, reply: &HttpReply, what: &str) {
    if reply.status != 200 || !matches!(reply.media_type.as_str(), JSON | EVENT_STREAM) {
        findings.fail(HTTP_MEDIA_TYPE, reply.fault(what));
    }
    check_stream(findings, reply);
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
    let mut session = HttpSession::new(probe);
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
    findings.note(HTTP_NOTIFICATION_STATUS, notify(&session));
    if let Ok(reply) = session.post(&request(2, "ping"), &[]) {
        check_media_type(findings, &reply, "`ping`");
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
    if session.id.is_some() {
        findings.note(HTTP_SESSION_DELETED, delete(&session));
    }
    findings.not_applicable(HTTP_EVENT_STREAM, "no response was an event stream");
    findings.pass(HTTP_ERROR_BODY, "");
}

/// The response to `what`; that there is none is a fault.
fn responded(what: &str, outcome: Result<HttpReply, ShownExchange>) -> Result<HttpReply, Fault> {
    outcome.map_err(|exchange| (format!("{what} got no response"), exchange))
}

fn notify(session: &HttpSession<'_>) -> Observed {
    let what = "`notifications/initialized`";
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let reply = responded(what, session.post(&message, &[]))?;
    let (mut fault, exchange) = reply.fault(what);
    if !reply.body.is_empty() {
        fault += " and a body";
    } else if reply.status == 202 {
        return Ok(String::new());
    }
    Err((fault, exchange))
}

fn check_stream(findings: &mut CheckFindings, reply: &HttpReply) {
    if reply.media_type == EVENT_STREAM {
        match events(&reply.body).1 {
            Some(fault) => findings.fail(HTTP_EVENT_STREAM, (fault, reply.exchange.clone())),
            None => findings.pass(HTTP_EVENT_STREAM, ""),
        }
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
        findings.fail(HTTP_SESSION_ID_SHAPE, (fault, opened.exchange.clone()));
    }
}

fn check_accept(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    let outcome = session.post(&request(3, "ping"), &[("accept", OTHER_ACCEPT)]);
    match responded("a request with another `Accept`", outcome) {
        Ok(reply) if (200..300).contains(&reply.status) => {
            check_stream(findings, &reply);
            findings.pass(HTTP_ACCEPT, "");
        }
        Ok(reply) => {
            let what = format!("`Accept: {OTHER_ACCEPT}`");
            findings.fail(HTTP_ACCEPT, reply.fault(&what));
        }
        Err(fault) => findings.fail(HTTP_ACCEPT, fault),
    }
}

/// Requests that have to be refused, with a status and a body that say why.
fn check_refusals(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    let what = "a body that is not JSON";
    let broken = session.post("{\"jsonrpc\":", &[]);
    check_refusal(findings, HTTP_ERROR_BODY, what, broken, 400..500);
    // The header that makes a request wrong; without a value it is missing.
    let mut refused = |check, status: u16, what, header| {
        let reply = session.post(&request(4, "ping"), &[header]);
        check_refusal(findings, check, what, reply, status..status + 1)
    };
    if session.version.as_str() >= FIRST_WITH_HEADER {
        let what = "a request with `MCP-Protocol-Version: 1999-01-01`";
        let header = ("mcp-protocol-version", "1999-01-01");
        refused(HTTP_VERSION_HEADER, 400, what, header);
    }
    if session.id.is_some() {
        let unknown = ("mcp-session-id", "00000000-0000-4000-8000-000000000000");
        let what = "a request with an unknown session id";
        refused(HTTP_UNKNOWN_SESSION, 404, what, unknown);
        let what = "a request without a session id";
        refused(HTTP_MISSING_SESSION, 400, what, ("mcp-session-id", ""));
    }
    let reason = format!("versions before {FIRST_WITH_HEADER} have no such header");
    findings.not_applicable(HTTP_VERSION_HEADER, reason);
}

/// Whether a request was refused with such a status, which `check` sees, and with a body that can be read.
fn check_refusal(
    findings: &mut CheckFindings,
    check: &'static Check,
    what: &str,
    outcome: Result<HttpReply, ShownExchange>,
    status: Range<u16>,
) {
    let reply = match responded(what, outcome) {
        Ok(reply) => reply,
        Err(fault) => return findings.fail(check, fault),
    };
    if !status.contains(&reply.status) {
        findings.fail(check, reply.fault(what));
    } else if check != HTTP_ERROR_BODY {
        findings.pass(check, "");
    }
    if (400..500).contains(&reply.status) && !is_readable(&reply) {
        let fault = format!("the body for {what} is not readable: {}", reply.describe());
        findings.fail(HTTP_ERROR_BODY, (fault, reply.exchange));
    }
}

/// Whether the body is JSON or plain text, or empty.
fn is_readable(reply: &HttpReply) -> bool {
    match reply.media_type.as_str() {
        JSON | "application/problem+json" => {
            crate::text::json::from_slice::<Value>(&reply.body).is_ok()
        }
        EVENT_STREAM => !reply.messages().0.is_empty(),
        "text/plain" => true,
        _ => reply.body.is_empty(),
    }
}

fn check_get(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    match session.send("GET", "", &[("accept", EVENT_STREAM)]) {
        Ok(reply) if reply.status == 405 => findings.pass(HTTP_GET, "405"),
        Ok(reply) if reply.status == 200 && reply.media_type == EVENT_STREAM => {
            findings.pass(HTTP_GET, "an event stream");
        }
        Ok(reply) => findings.fail(HTTP_GET, reply.fault("GET")),
        // The head of an event stream may come only with its first event.
        Err(exchange) => findings.not_checked(HTTP_GET, exchange.received),
    }
}

/// Requests that a web page could make, on this machine.
fn check_foreign(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    if !session.probe.is_local {
        let reason = "the server is not on this machine";
        return findings.none_applicable(&[HTTP_ORIGIN, HTTP_HOST], reason);
    }
    for (check, header, value, what) in [
        (HTTP_ORIGIN, "origin", FOREIGN_ORIGIN, "a foreign web page"),
        (HTTP_HOST, "host", FOREIGN_HOST, "a foreign host"),
    ] {
        let observed = match session.post(&request(5, "ping"), &[(header, value)]) {
            Ok(reply) if (400..500).contains(&reply.status) => Ok(reply.describe()),
            Ok(reply) => Err(reply.fault(&format!("a request of {what}"))),
            // A refusal, though not a polite one.
            Err(_) => Ok("no response".to_owned()),
        };
        findings.note(check, observed);
    }
}

fn check_method_errors(findings: &mut CheckFindings, session: &HttpSession<'_>) {
    for method in ["gosling/unknown-method", "tools/call"] {
        if let Ok(reply) = session.post(&request(6, method), &[])
            && reply.status >= 500
        {
            findings.fail(HTTP_METHOD_ERRORS, reply.fault(method));
        }
    }
    findings.pass(HTTP_METHOD_ERRORS, "");
}

fn delete(session: &HttpSession<'_>) -> Observed {
    let deleted = responded("DELETE", session.send("DELETE", "", &[]))?;
    match deleted.status {
        405 => return Ok("405".to_owned()),
        200..300 => {}
        _ => return Err(deleted.fault("DELETE")),
    }
    let what = "after DELETE, `ping`";
    let ping = responded(what, session.post(&request(7, "ping"), &[]))?;
    match ping.status {
        404 => Ok(String::new()),
        _ => Err(ping.fault(what)),
    }
}
