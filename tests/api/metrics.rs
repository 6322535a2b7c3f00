//! `GET /metrics`.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server};
use crate::support::until;
use serde_json::json;
use std::collections::BTreeMap;

/// The samples by name and labels. Fails unless each has a type, and no name occurs in two places.
fn samples(server: &RunningServer) -> BTreeMap<String, f64> {
    let answer = server.get("/metrics").is(200);
    assert!(
        answer
            .head
            .contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"),
        "{}",
        answer.head
    );
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    let mut family = "";
    for line in answer.text.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').unwrap();
            assert!(types.insert(name, kind).is_none(), "{name} occurs twice");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            family = name;
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with(family), "{name} in {family}");
            let value: f64 = value.parse().unwrap();
            assert!(value >= 0.0 && samples.insert(name.to_owned(), value).is_none());
        }
    }
    samples
}

#[test]
fn what_happened_is_counted() {
    let server = Server::scripted(json!({"turns": [
        {"steps": [{"text": "done"}], "usage": {"input": 30, "output": 4}},
    ]}))
    .setting("GOOSE_AUTO_NAME", false)
    .start();
    let before = samples(&server);
    let script = Script::new()
        .tool("good", [Action::text("fine")])
        .tool("bad", [Action::Error(-32000, "no".into())]);
    let session = server.session([Extension::scripted("one", &script)]);
    session.call("one__good", json!({})).is(200);
    session.call("one__good", json!({})).is(200);
    session.call("one__bad", json!({}));
    server.refuses(Extension::dying("dead", "", 1));
    server.session([]).add(Extension::builtin("nosuch"));
    server.ask("GET", "/config", None, None).is(401);
    server.get("/nowhere").is(404);
    session.say("hello");
    let after = samples(&server);
    let grown = |name: &str| after[name] - before[name];
    for (name, by) in [
        ("gosling_tool_call_duration_seconds_count", 3.0),
        (
            "gosling_tool_call_duration_seconds_bucket{le=\"+Inf\"}",
            3.0,
        ),
        ("gosling_tool_call_errors_total", 1.0),
        ("gosling_extension_loads_total", 1.0),
        ("gosling_extension_load_duration_seconds_count", 1.0),
        (
            "gosling_extension_load_failures_total{class=\"initialize\"}",
            1.0,
        ),
        (
            "gosling_extension_load_failures_total{class=\"config\"}",
            1.0,
        ),
        ("gosling_http_refused_requests_total{reason=\"key\"}", 1.0),
        ("gosling_http_refused_requests_total{reason=\"route\"}", 1.0),
        ("gosling_turns_total", 1.0),
        ("gosling_turn_errors_total", 0.0),
        ("gosling_tokens_total{direction=\"input\"}", 30.0),
        ("gosling_tokens_total{direction=\"output\"}", 4.0),
        ("gosling_sessions", 2.0),
        ("gosling_extensions", 1.0),
    ] {
        assert_eq!(grown(name), by, "{name}");
    }
    for name in [
        "gosling_http_received_bytes_total",
        "gosling_http_sent_bytes_total",
        "gosling_http_requests_total",
        "gosling_http_connections_accepted_total",
    ] {
        assert!(grown(name) > 0.0, "{name}");
    }
    server.ask("GET", "/metrics", None, None).is(401);
}

#[test]
fn a_restarted_server_and_closed_connections_are_counted() {
    let server = Server::new().start();
    let script = Script::new().tool("end", [Action::Exit(0)]);
    let session = server.session([Extension::scripted("one", &script)]);
    session.call("one__end", json!({}));
    until("a restart", || {
        session.call("one__end", json!({}));
        (samples(&server)["gosling_extension_restarts_total"] >= 1.0).then_some(())
    });
    until("the end of other connections", || {
        (samples(&server)["gosling_http_connections"] <= 2.0).then_some(())
    });
}

#[test]
fn calls_are_counted_whether_they_are_recorded_or_not() {
    let server = Server::new().env("GOOSE_AUDIT", "off").start();
    let session = server.session([Extension::builtin("developer")]);
    session
        .call("developer__shell", json!({"command": "true"}))
        .is(200);
    let samples = samples(&server);
    assert_eq!(samples["gosling_extension_loads_total"], 1.0);
    assert_eq!(samples["gosling_tool_call_duration_seconds_count"], 1.0);
    assert_eq!(samples["gosling_tool_call_errors_total"], 0.0);
}
