//! Errors: unknown methods, and messages that cannot be read. SERVER §8.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::runner::Runner;
use super::session::{ClientKind, Session};
use super::tools::compare_codes;
use serde_json::{Value, json};

const UNKNOWN: &str = "gosling/unknown-method";

/// Messages that are not JSON.
const BROKEN_JSON: [&str; 3] = ["{\"jsonrpc\": \"2.0\", \"id\": 1,", "gosling", "{]"];
/// JSON that is no message.
const NO_MESSAGE: [&str; 3] = ["{}", "17", "{\"jsonrpc\": \"2.0\", \"method\": 17}"];

/// Unknown methods.
pub(super) fn run(runner: &mut Runner<'_>) {
    let Ok(main) = runner.main() else {
        return;
    };
    let first = main.request(UNKNOWN, json!({}));
    let second = main.request(UNKNOWN, json!({}));
    let findings = &mut runner.findings;
    if first.is_unknown_method() {
        findings.pass(Check::UnknownMethod, "");
        compare_codes(findings, "an unknown method", &first, &second);
    } else {
        let fault = format!("an unknown method got {}", first.describe());
        findings.fail(Check::UnknownMethod, fault, first.exchange);
    }
    findings.not_applicable(Check::ErrorMessages, "no request named anything unknown");
}

/// Messages that cannot be read, over stdio, on a connection of their own.
pub(super) fn run_malformed(runner: &mut Runner<'_>) {
    const CHECKS: [Check; 3] = [
        Check::ParseError,
        Check::InvalidRequest,
        Check::SurvivesMalformed,
    ];
    let session = match runner.open_initialized(ClientKind::Full) {
        Ok((session, _)) => session,
        Err(reason) => return runner.findings.none_checked(&CHECKS, &reason),
    };
    if session.process.is_none() {
        let reason = "over HTTP, `http-error-body` sees it";
        runner.findings.none_applicable(&CHECKS, reason);
        return session.close(&mut runner.findings);
    }
    let ping = session.request("ping", json!({}));
    // Responses to `notifications/initialized` have their own check.
    session.inbox.take_strays();
    if !ping.is_answered() {
        runner.findings.none_checked(&CHECKS, &ping.describe());
        return session.close(&mut runner.findings);
    }
    let findings = &mut runner.findings;
    let is_alive = send_all(findings, &session, &BROKEN_JSON, Check::ParseError, -32700)
        && send_all(
            findings,
            &session,
            &NO_MESSAGE,
            Check::InvalidRequest,
            -32600,
        );
    if is_alive {
        findings.pass(Check::SurvivesMalformed, "");
    }
    session.close(findings);
}

/// Sends each of the messages, and looks at what comes back before the answer to a `ping`; false if there is no
/// such answer.
fn send_all(
    findings: &mut Findings,
    session: &Session,
    messages: &[&str],
    check: Check,
    expected: i64,
) -> bool {
    for message in messages {
        session.send_unframed(format!("{message}\n").as_bytes());
        let ping = session.request("ping", json!({}));
        let with = |received: String| Exchange {
            sent: (*message).to_owned(),
            received,
        };
        if !ping.is_answered() {
            let fault = format!("after {message:?}, `ping` got {}", ping.describe());
            let exchange = with(ping.exchange.received);
            findings.fail(Check::SurvivesMalformed, fault, exchange);
            findings.not_checked(check, "the server does not go on");
            return false;
        }
        for text in session.inbox.take_strays() {
            let answer: Value = crate::json::from_str(&text).unwrap_or_default();
            let code = &answer["error"]["code"];
            // A server may read a broken message further than to its first fault.
            let is_right = *code == expected || *code == -32600;
            if !is_right {
                let fault = format!("{message:?} got a response other than the error {expected}");
                findings.fail(check, fault, with(session.excerpt(text.as_bytes())));
            }
        }
    }
    findings.pass(check, "");
    true
}
