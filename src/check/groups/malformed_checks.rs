//! Messages that cannot be read, over stdio, on a connection of their own. SERVER §8.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::findings::{CheckFindings, ShownExchange};
use crate::wire::client_kind::ClientKind;
use crate::wire::raw_connection::RawConnection;
use serde_json::Value;

declare_checks! {
    PARSE_ERROR = 122 "parse-error" "8" Should Minimum [("8", 3)]
        requires: "A message that is not JSON gets the error -32700, or none."
        why: "Another answer may be taken for the response to a request."
        fix: "Answer with -32700 and `\"id\": null`."
    INVALID_REQUEST = 123 "invalid-request" "8" Should Minimum [("8", 3)]
        requires: "JSON that is not a JSON-RPC message gets the error -32600, or none."
        why: "Another answer may be taken for the response to a request."
        fix: "Answer with -32600, and with the `id` if it can be read."
    SURVIVES_MALFORMED = 124 "survives-malformed" "4.2" Must Minimum [("4.2", 5)]
        requires: "The server goes on after messages that it cannot read."
        why: "One broken message ends all running calls."
        fix: "Catch the parser's error in the read loop."
}

pub(crate) const GROUP: Group = Group::new("malformed messages", &[CHECKS], run);

/// Messages that are not JSON.
const BROKEN_JSON: [&str; 3] = ["{\"jsonrpc\": \"2.0\", \"id\": 1,", "gosling", "{]"];
/// JSON that is no message.
const NO_MESSAGE: [&str; 3] = ["{}", "17", "{\"jsonrpc\": \"2.0\", \"method\": 17}"];

fn run(run: &mut CheckRun<'_>) {
    let connection = match run.open_initialized(ClientKind::Full) {
        Ok((connection, _)) => connection,
        Err(reason) => return run.findings.none_checked(CHECKS, &reason),
    };
    let findings = &mut run.findings;
    if connection.process.is_none() {
        let reason = "over HTTP, `http-error-body` sees it";
        findings.none_applicable(CHECKS, reason);
        return connection.close(findings);
    }
    let ping = connection.ping();
    // Responses to `notifications/initialized` have their own check.
    connection.inbox.take_strays();
    if !ping.is_answered() {
        findings.none_checked(CHECKS, &ping.describe());
    } else if send_all(findings, &connection, &BROKEN_JSON, PARSE_ERROR, -32700)
        && send_all(findings, &connection, &NO_MESSAGE, INVALID_REQUEST, -32600)
    {
        findings.pass(SURVIVES_MALFORMED, "");
    }
    connection.close(findings);
}

/// Sends each of the messages, and looks at what comes back before the answer to a `ping`; false if there is no
/// such answer.
fn send_all(
    findings: &mut CheckFindings,
    connection: &RawConnection,
    messages: &[&str],
    check: &'static Check,
    expected: i64,
) -> bool {
    for message in messages {
        connection.send_unframed(format!("{message}\n").as_bytes());
        let ping = connection.ping();
        let with = |received: String| ShownExchange {
            sent: (*message).to_owned(),
            received,
        };
        if !ping.is_answered() {
            let (fault, exchange) = ping.fault(&format!("after {message:?}, `ping`"));
            findings.fail(SURVIVES_MALFORMED, (fault, with(exchange.received)));
            findings.not_checked(check, "the server does not go on");
            return false;
        }
        for text in connection.inbox.take_strays() {
            let answer: Value = crate::text::json::from_str(&text).unwrap_or_default();
            let code = &answer["error"]["code"];
            // A server may read a broken message further than to its first fault.
            let is_right = *code == expected || *code == -32600;
            if !is_right {
                let fault = format!("{message:?} got a response other than the error {expected}");
                let exchange = with(connection.excerpt(text.as_bytes()));
                findings.fail(check, (fault, exchange));
            }
        }
    }
    findings.pass(check, "");
    true
}
