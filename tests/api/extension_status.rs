//! `GET /agent/extensions`: the status of the extensions of a session.

use crate::http_peer::{Peer, accepted, answer, json as answers};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server, Session, as_argument, scripted_mcp};
use crate::support::{process, until};
use serde_json::{Value, json};

fn status(session: &Session<'_>) -> Vec<Value> {
    let path = format!("/agent/extensions?session_id={}", session.id);
    let answer = session.server.get(&path).is(200);
    answer.body["extensions"].as_array().unwrap().clone()
}

fn of(session: &Session<'_>, key: &str) -> Value {
    let all = status(session);
    let found = all.iter().find(|extension| extension["key"] == key);
    found.unwrap_or_else(|| panic!("{key} in {all:?}")).clone()
}

#[test]
fn every_kind_of_extension_is_shown_as_it_is() {
    let record = Record::new();
    let good = Script::new()
        .recorded(&record.path())
        .tool("odd", [Action::Error(-32000, "no".to_owned())]);
    let server = Server::new().start();
    let session = server.begin_session([
        Extension::scripted("Good One", &good),
        Extension::dying("bad", "no licence", 4),
        Extension(json!({"type": "frontend", "name": "front", "tools": [{"name": "pick"}]})),
    ]);
    session.resume();
    let good = of(&session, "goodone");
    assert_eq!(good["name"], "Good One");
    assert_eq!(good["type"], "stdio");
    assert_eq!(good["state"], "active");
    assert_eq!(good["pid"], record.starts()[0]["pid"]);
    assert_eq!(good["protocol_version"], "2025-11-25");
    assert_eq!(good["server"], json!({"name": "scripted", "version": "1"}));
    assert_eq!(good["tools"], 2);
    assert!(good["uptime"].as_u64().unwrap() < 60, "{good}");
    assert_eq!((&good["calls"], &good["errors"]), (&json!(0), &json!(0)));
    for absent in ["latency_ms", "url", "error", "class"] {
        assert!(good.get(absent).is_none(), "{absent} in {good}");
    }
    let bad = of(&session, "bad");
    assert_eq!(bad["state"], "failed");
    assert_eq!(bad["class"], "initialize");
    assert!(
        bad["error"].as_str().unwrap().contains("no licence"),
        "{bad}"
    );
    let front = of(&session, "front");
    assert_eq!(
        (&front["state"], &front["tools"]),
        (&json!("frontend"), &json!(1))
    );

    for _ in 0..3 {
        session.echoes("goodone");
    }
    session.call("goodone__odd", json!({})).is(500);
    let good = of(&session, "goodone");
    assert_eq!((&good["calls"], &good["errors"]), (&json!(4), &json!(1)));
    let [p50, p99] = ["p50", "p99"].map(|p| good["latency_ms"][p].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99 && p99 < 60_000.0, "{good}");

    session
        .add(Extension::scripted("bad", &Script::new()))
        .is(200);
    assert_eq!(of(&session, "bad")["state"], "active");
    assert_eq!(status(&session).len(), 3);
    session.stop();
    let path = format!("/agent/extensions?session_id={}", session.id);
    server.get(&path).is(424);
    server.get("/agent/extensions?session_id=none").is(404);
    server.get("/agent/extensions").is(400);
}

#[test]
fn a_loss_and_its_mending_are_counted() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let pid = record.starts()[0]["pid"].as_u64().unwrap() as u32;
    process::signal(pid, "KILL");
    let lost = until("the loss", || {
        let now = of(&session, "one");
        (now["state"] == "lost").then_some(now)
    });
    assert!(
        lost.get("pid").is_none() && lost.get("uptime").is_none(),
        "{lost}"
    );
    session.echoes("one");
    let back = of(&session, "one");
    assert_eq!(
        (&back["state"], &back["restarts"]),
        (&json!("active"), &json!(1))
    );
    assert_eq!(back["pid"], record.starts()[1]["pid"]);
}

#[test]
fn what_is_being_started_is_shown_and_not_waited_for() {
    let server = Server::new().start();
    let session = server.begin_session([Extension::silent("slow")]);
    until("the start", || {
        let all = status(&session);
        (all.first()?["state"] == "starting").then_some(())
    });
    session.stop();
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn a_server_elsewhere_is_shown_without_what_may_be_secret() {
    let peer = Peer::new(|seen, stream| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let result = match body["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "\u{1b}[31mpeer hunter2hunter2", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": []}),
            _ if seen.method == "GET" => return answer(stream, "405 Method Not Allowed", ""),
            _ => return accepted(stream),
        };
        let text = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        answers(stream, &text.to_string())
    });
    let server = Server::new().secrets("KEY: hunter2hunter2\n").start();
    let session = server.session([Extension(json!({
        "type": "streamable_http", "name": "far", "uri": format!("{}/mcp?key=hunter2hunter2", peer.url),
        "headers": {"x-key": "$KEY"}, "env_keys": ["KEY"],
    }))]);
    let far = of(&session, "far");
    assert_eq!(far["url"], peer.url);
    assert_eq!(far["server"]["name"], "\\u{1b}[31mpeer [secret]");
    assert!(far.get("pid").is_none());
}

#[test]
fn the_log_level_is_set_on_every_connection() {
    let record = Record::new();
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "s", "version": "1"},
    });
    let script = Script::new()
        .recorded(&record.path())
        .on("initialize", [Action::Result(hello)])
        .on("logging/setLevel", [Action::Result(json!({}))]);
    let arguments = [as_argument(&script)];
    let server = Server::new().env("GOOSE_MCP_LOG_LEVEL", "Warning").start();
    let one = Extension::stdio("one", &scripted_mcp(), &[&arguments[0]]);
    let session = server.session([one]);
    let levels = || {
        let all = record.all("logging/setLevel");
        let levels = all.iter().map(|message| message["params"]["level"].clone());
        levels.collect::<Vec<_>>()
    };
    assert_eq!(levels(), ["warning"]);
    process::signal(record.starts()[0]["pid"].as_u64().unwrap() as u32, "KILL");
    until("the loss", || {
        (of(&session, "one")["state"] == "lost").then_some(())
    });
    session.echoes("one");
    assert_eq!(levels(), ["warning", "warning"]);
    // A server without the capability gets no request.
    let silent = Record::new();
    let script = Script::new().recorded(&silent.path());
    session.add(Extension::scripted("two", &script)).is(200);
    assert!(silent.all("logging/setLevel").is_empty());
}
