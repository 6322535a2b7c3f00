//! Metadata of requests that the server does not know. SERVER §9.2.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::list_kind::ListKind;
use crate::wire::answer::{RawAnswer, ServerReply};
use serde_json::{Value, json};

declare_checks! {
    UNKNOWN_META = 130 "unknown-meta" "9.2" Must Minimum [("9.2", 1), ("9.2", 2)]
        requires: "Unknown fields in `_meta` of any shape change nothing."
        why: "Goose adds fields of its own to every request, and later versions add more."
        fix: "Read the fields of `_meta` that you know, and ignore the rest."
}

pub(crate) const GROUP: Group = Group::new("metadata", &[CHECKS], run);

/// Values of any shape for unknown fields.
fn shapes() -> [Value; 5] {
    [
        json!({"gosling/unknown": null}),
        json!({"gosling/unknown": "text", "io.example.other": 1.5}),
        json!({"gosling/unknown": [1, "a", null, {"b": []}]}),
        json!({"gosling/unknown": {"a": {"b": {"c": true}}}}),
        json!({"agent-session-id": "20250618_1", "agent-working-dir": "/", "unknown": "ü".repeat(500)}),
    ]
}

fn run(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Tools);
    let mut requests = vec![("ping", json!({}))];
    if list.missing.is_none() {
        requests.push(("tools/list", json!({})));
    }
    requests.extend(run.quick_call().map(|params| ("tools/call", params)));
    for (method, params) in requests {
        let Ok(main) = run.main() else {
            return;
        };
        let plain = main.request(method, params.clone());
        for meta in shapes() {
            let mut params = params.clone();
            params["_meta"] = meta;
            let reply = main.request(method, params);
            if kind(&reply) != kind(&plain) {
                let (fault, exchange) = reply.fault(method);
                let fault = format!("{fault} instead of {}", plain.describe());
                run.findings.fail(UNKNOWN_META, (fault, exchange));
                break;
            }
        }
    }
    run.findings.pass(UNKNOWN_META, "");
}

/// What of an answer has to stay the same.
fn kind(reply: &ServerReply) -> (u8, Option<i64>, bool) {
    match &reply.answer {
        RawAnswer::Result(result) => (0, None, result["isError"] == true),
        RawAnswer::Error { code, .. } => (1, Some(*code), false),
        RawAnswer::Refused(_) => (2, None, false),
        RawAnswer::Silence(_) => (3, None, false),
    }
}
