//! Requests with an unknown method. SERVER §8.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::refusals::{self, ERROR_MESSAGES, compare_codes};
use serde_json::json;

declare_checks! {
    UNKNOWN_METHOD = 120 "unknown-method" "8" Must Minimum [("8", 3)]
        requires: "An unknown method gets the error -32601."
        why: "Clients find out by this code what a server does not support."
        fix: "Answer unknown methods with -32601."
}

pub(crate) const GROUP: Group = Group::new("errors", &[CHECKS, refusals::CHECKS], run);

const UNKNOWN: &str = "gosling/unknown-method";

fn run(run: &mut CheckRun<'_>) {
    let Ok(main) = run.main() else {
        return;
    };
    let first = main.request(UNKNOWN, json!({}));
    let second = main.request(UNKNOWN, json!({}));
    let findings = &mut run.findings;
    if first.is_unknown_method() {
        findings.pass(UNKNOWN_METHOD, "");
        compare_codes(findings, "an unknown method", &first, &second);
    } else {
        findings.fail(UNKNOWN_METHOD, first.fault("an unknown method"));
    }
    findings.not_applicable(ERROR_MESSAGES, "no request named anything unknown");
}
