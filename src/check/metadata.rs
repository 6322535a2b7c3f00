//! Metadata of requests that the server does not know. SERVER §9.2.

use super::checks::Check;
use super::listing::Kind;
use super::runner::Runner;
use super::session::{Answer, Reply};
use serde_json::{Value, json};

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

pub(super) fn run(runner: &mut Runner<'_>) {
    let listing = runner.listing(Kind::Tools);
    let mut requests = vec![("ping", json!({}))];
    if listing.missing.is_none() {
        requests.push(("tools/list", json!({})));
    }
    requests.extend(runner.quick_call().map(|params| ("tools/call", params)));
    for (method, params) in requests {
        let Ok(main) = runner.main() else {
            return;
        };
        let plain = main.request(method, params.clone());
        for meta in shapes() {
            let mut params = params.clone();
            params["_meta"] = meta;
            let reply = main.request(method, params);
            if kind(&reply) != kind(&plain) {
                let fault = format!(
                    "{method} got {} instead of {}",
                    reply.describe(),
                    plain.describe()
                );
                runner
                    .findings
                    .fail(Check::UnknownMeta, fault, reply.exchange);
                break;
            }
        }
    }
    runner.findings.pass(Check::UnknownMeta, "");
}

/// What of an answer has to stay the same.
fn kind(reply: &Reply) -> (u8, Option<i64>, bool) {
    match &reply.answer {
        Answer::Result(result) => (0, None, result["isError"] == true),
        Answer::Error { code, .. } => (1, Some(*code), false),
        Answer::Refused(_) => (2, None, false),
        Answer::Silence(_) => (3, None, false),
    }
}
