//! Refused requests: equal ones get equal codes, and the message names what was wrong. SERVER §8.

use super::check_run::CheckRun;
use super::declaration::{Check, declare_checks};
use super::findings::CheckFindings;
use super::wire::answer::{RawAnswer, ServerReply};
use serde_json::Value;

declare_checks! {
    ERRORS_STEADY = 125 "errors-steady" "8" Must Minimum [("8", 3)]
        requires: "The same wrong request gets the same error code again."
        why: "Clients decide by the code what to do."
        fix: "Choose the code by the kind of failure."
    ERROR_MESSAGES = 126 "error-messages" "8" Should Minimum [("8", 4)]
        requires: "Errors about parameters have a message, which names what is wrong."
        why: "Users and models see only this message."
        fix: "Name the parameter or tool, and what was expected."
}

/// Whether a call failed, in either way.
pub(super) fn is_failure(reply: &ServerReply) -> bool {
    match &reply.answer {
        RawAnswer::Result(result) => result["isError"] == true,
        RawAnswer::Error { .. } | RawAnswer::Refused(_) => true,
        RawAnswer::Silence(_) => false,
    }
}

/// The text of a failure, to compare it with another one.
pub(super) fn failure_text(reply: &ServerReply) -> String {
    match &reply.answer {
        RawAnswer::Result(result) => result["content"].to_string(),
        RawAnswer::Error { code, message } => format!("{code} {message}"),
        RawAnswer::Refused(reason) | RawAnswer::Silence(reason) => reason.clone(),
    }
}

/// Whether a request for something that does not exist gets an error, the same one again, which names it.
pub(super) fn check_unknown(
    run: &mut CheckRun<'_>,
    check: &'static Check,
    what: &str,
    name: &str,
    (method, params): (&str, Value),
) {
    let Ok(main) = run.main() else {
        return;
    };
    let first = main.request(method, params.clone());
    let second = main.request(method, params);
    let findings = &mut run.findings;
    if let RawAnswer::Error { .. } = first.answer {
        findings.pass(check, first.describe());
        compare_codes(findings, what, &first, &second);
        check_message(findings, what, name, &first);
    } else {
        findings.fail(check, first.fault(what));
    }
}

/// Whether two equal wrong requests got the same code.
pub(super) fn compare_codes(
    findings: &mut CheckFindings,
    what: &str,
    first: &ServerReply,
    second: &ServerReply,
) {
    let code = |reply: &ServerReply| match reply.answer {
        RawAnswer::Error { code, .. } => Some(code),
        _ => None,
    };
    if code(first) == code(second) {
        findings.pass(ERRORS_STEADY, "");
    } else {
        let (before, now) = (first.describe(), second.describe());
        let fault = format!("{what} got {before}, then {now}");
        findings.fail(ERRORS_STEADY, (fault, second.exchange.clone()));
    }
}

/// Whether the message of an error names what was wrong.
pub(super) fn check_message(
    findings: &mut CheckFindings,
    what: &str,
    name: &str,
    reply: &ServerReply,
) {
    if failure_text(reply).contains(name) {
        findings.pass(ERROR_MESSAGES, "");
    } else {
        let fault = format!("the error for {what} does not name {name}");
        findings.fail(ERROR_MESSAGES, (fault, reply.exchange.clone()));
    }
}
