//! The MCP servers of an idle session end, and the next request restarts them.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;
mod support;

use http_peer::{Peer, answer_as_mcp_server};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use support::scripted::{Action, Script};
use support::server::{Extension, Record, RunningServer, Server, Session};
use support::{process, until};

/// A server whose sessions are idle after a second.
fn soon_idle() -> Server {
    Server::new().env("GOOSE_SESSION_IDLE_SECS", "1")
}

fn scripted(name: &str, record: &Record) -> Extension {
    Extension::scripted(name, &Script::new().recorded(&record.path()))
}

fn children(server: &RunningServer) -> usize {
    let all = server.descendants();
    all.iter().filter(|p| p.name() != process::GUARDIAN).count()
}

fn at_rest(server: &RunningServer) {
    until("the end of its servers", || {
        (children(server) == 0).then_some(())
    });
}

fn status(session: &Session<'_>) -> Vec<Value> {
    let path = format!("/agent/extensions?session_id={}", session.id);
    let answer = session.server.get(&path).is(200);
    answer.body["extensions"].as_array().unwrap().clone()
}

/// The difference between the most memory that the server had and what it has now, in bytes.
fn returned(server: &RunningServer) -> usize {
    server
        .memory("VmHWM")
        .saturating_sub(server.memory("VmRSS"))
}

#[test]
fn the_server_returns_the_memory_of_code_that_only_the_start_used() {
    let server = Server::new().start();
    until("less memory", || {
        (returned(&server) > 1 << 20).then_some(())
    });
    server.get("/status").is(200);
}

#[test]
fn its_servers_end_and_come_back_when_they_are_needed() {
    let (one, two) = (Record::new(), Record::new());
    let server = soon_idle().start();
    let session = server.session([scripted("one", &one), scripted("two", &two)]);
    session.echoes("one");
    at_rest(&server);
    // Reading the status does not count as use of the session.
    for extension in status(&session) {
        assert_eq!(extension["state"], "idle", "{extension}");
        assert_eq!(extension["pid"], Value::Null);
    }
    assert_eq!(children(&server), 0);
    session.echoes("one");
    // The other server is not contacted.
    until("both of them", || {
        ((one.starts().len(), two.starts().len()) == (2, 2)).then_some(())
    });
    for extension in status(&session) {
        assert_eq!(extension["restarts"], 0, "that was no loss: {extension}");
    }
    server.never_logs("restarted");
    server.never_logs("restart failed");
    at_rest(&server);
    let tools = session.tools();
    assert_eq!(tools, ["one__echo", "two__echo"]);
    at_rest(&server);
    assert!(
        session
            .resume()
            .iter()
            .all(|result| result["success"] == true)
    );
    until("both of them", || (two.starts().len() == 4).then_some(()));
}

#[test]
fn it_may_be_often() {
    // More often than a lost server is restarted.
    let record = Record::new();
    let server = soon_idle().start();
    let session = server.session([scripted("one", &record)]);
    for _ in 0..4 {
        at_rest(&server);
        session.echoes("one");
    }
    assert_eq!(record.starts().len(), 5);
}

#[test]
fn what_is_under_way_is_not_ended() {
    let record = Record::new();
    let slow = Script::new()
        .recorded(&record.path())
        .tool("slow", [Action::Sleep(3_000), Action::text("done")]);
    let server = soon_idle().start();
    let session = server.session([Extension::scripted("one", &slow)]);
    let answer = session.call("one__slow", json!({})).is(200);
    assert_eq!(answer.content(), "done");
    assert_eq!(record.starts().len(), 1);
    // Nor immediately after that.
    session.echoes("one");
    assert_eq!(record.starts().len(), 1);
    at_rest(&server);
}

#[test]
fn a_turn_goes_on_where_the_last_one_ended() {
    let record = Record::new();
    let turns = json!({"repeat": true, "turns": [{"steps": [
        {"calls": [{"name": "one__echo", "arguments": {"message": "fine"}}]},
        {"text": "So: {{last_result}}"},
    ]}]});
    let server = Server::scripted(turns)
        .env("GOOSE_SESSION_IDLE_SECS", "1")
        .start();
    let session = server.session([scripted("one", &record)]);
    session.say("go").finishes().says("So: fine");
    at_rest(&server);
    let turn = session.say("go").finishes().says("So: fine");
    assert!(turn.notifications().is_empty(), "nothing was lost");
    assert_eq!(record.starts().len(), 2);
    let path = format!("/sessions/{}", session.id);
    let kept = server.get(&path).is(200);
    let messages = kept.body["conversation"].as_array().unwrap().len();
    assert_eq!(messages, 8, "two turns of four messages");
}

#[test]
fn a_session_that_is_used_keeps_them() {
    let record = Record::new();
    let server = Server::new().env("GOOSE_SESSION_IDLE_SECS", "2").start();
    let session = server.session([scripted("one", &record)]);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(3_500) {
        session.echoes("one");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(record.starts().len(), 1);
}

#[test]
fn zero_is_never() {
    let record = Record::new();
    let server = Server::new().env("GOOSE_SESSION_IDLE_SECS", "0").start();
    let session = server.session([scripted("one", &record)]);
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(children(&server), 1);
    session.echoes("one");
    assert_eq!(record.starts().len(), 1);
}

#[test]
fn a_server_that_does_not_come_back_is_an_error_and_is_tried_again() {
    let record = Record::new();
    let mark = record.path().with_extension("mark");
    let script = support::server::as_argument(&Script::new());
    let command = format!(
        "if [ -e '{0}' ]; then echo 'not today' >&2; exit 3; fi; exec '{1}' '{script}'",
        mark.display(),
        support::server::scripted_mcp(),
    );
    let server = soon_idle().start();
    let session = server.session([Extension::shell("one", &command)]);
    session.echoes("one");
    at_rest(&server);
    std::fs::write(&mark, "").unwrap();
    session
        .call("one__echo", json!({}))
        .is(500)
        .says("not today");
    let broken = &status(&session)[0];
    assert_eq!(broken["state"], "broken", "{broken}");
    assert!(broken["error"].as_str().unwrap().contains("not today"));
    std::fs::remove_file(&mark).unwrap();
    session.echoes("one");
    assert_eq!(status(&session)[0]["state"], "active");
}

#[test]
fn many_that_come_at_once_start_it_once() {
    let record = Record::new();
    let server = soon_idle().start();
    let session = server.session([scripted("one", &record)]);
    for round in 2..5 {
        at_rest(&server);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| session.echoes("one"));
            }
        });
        assert_eq!(record.starts().len(), round);
    }
}

#[test]
fn stop_and_the_end_of_the_server_find_nothing_left() {
    let record = Record::new();
    let server = soon_idle().start();
    let rest = server.at_rest();
    let session = server.session([scripted("one", &record)]);
    session.echoes("one");
    at_rest(&server);
    session.stop();
    session.call("one__echo", json!({})).is(424);
    session.resume();
    session.echoes("one");
    at_rest(&server);
    session.stop();
    // The housekeeper thread stays.
    until("the threads to end", || {
        let now = server.census();
        (now.threads <= rest.threads + 1 && now.descendants == 0).then_some(())
    });
    assert!(server.terminate().success());
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn an_address_that_refuses_is_tried_again_and_was_not_lost() {
    let peer = Peer::new(|seen, stream| answer_as_mcp_server(seen, stream, None, "here"));
    let server = soon_idle().start();
    let far = json!({"type": "streamable_http", "name": "far", "uri": peer.url, "timeout": 2});
    let session = server.session([Extension(far)]);
    until("it to be idle", || {
        (status(&session)[0]["state"] == "idle").then_some(())
    });
    drop(peer);
    for _ in 0..4 {
        let begin = Instant::now();
        let answer = session.call("far__any", json!({})).is(500);
        answer.says("refused").never_says("keeps");
        assert!(begin.elapsed() > Duration::from_millis(500), "tried once");
    }
    assert_eq!(status(&session)[0]["restarts"], 0);
}

/// How many sessions' agents would be noticed in the server's memory.
const MANY: usize = 800;

#[test]
fn many_idle_sessions_take_next_to_no_memory() {
    let server = soon_idle().start();
    let first = server.session([]);
    let before = server.memory("RssAnon");
    let others: Vec<_> = (0..MANY).map(|_| server.session([])).collect();
    // An agent has more than ten kilobytes. What the server keeps of a session may hold one page that the agent had.
    until("the agents to be put away", || {
        let more = server.memory("RssAnon").saturating_sub(before);
        (more < MANY * 7_000).then_some(())
    });
    for session in others.iter().chain([&first]) {
        session.tools();
    }
}

#[test]
fn what_was_put_away_answers_as_before_and_what_was_stopped_does_not() {
    let (one, two) = (Record::new(), Record::new());
    let server = soon_idle().start();
    let session = server.session([
        scripted("one", &one),
        scripted("two", &two),
        Extension(json!({"type": "frontend", "name": "mine", "tools": [
            {"name": "paint", "description": "Paints.", "inputSchema": {"type": "object"}},
        ]})),
    ]);
    session.echoes("one");
    let status_of = |key: &str| {
        let all = status(&session);
        all.into_iter().find(|extension| extension["key"] == key)
    };
    until_put_away(&session);
    assert_eq!(status_of("mine").unwrap()["state"], "frontend");
    assert_eq!(status_of("mine").unwrap()["tools"], 1);
    assert_eq!(one.starts().len(), 1, "the status starts nothing");
    // An extension that is removed does not come back.
    let remove = json!({"session_id": session.id, "name": "two"});
    server.post("/agent/remove_extension", remove).is(200);
    until_put_away(&session);
    assert_eq!(session.tools(), ["one__echo", "paint"]);
    assert!(status_of("two").is_none());
    until_put_away(&session);
    let results = session.resume();
    let all_up = results.iter().all(|result| result["success"] == true);
    assert!(all_up && results.len() == 2, "{results:?}");
    until_put_away(&session);
    session.stop();
    session.call("one__echo", json!({})).is(424);
    let path = format!("/agent/extensions?session_id={}", session.id);
    server.get(&path).is(424);
}

#[test]
#[cfg(feature = "developer")]
fn a_server_that_the_developer_has_started_keeps_its_session() {
    let server = soon_idle().start();
    let session = server.session([Extension::builtin("developer")]);
    let run = |command: &str| {
        let arguments = json!({"command": command});
        session
            .call("developer__shell", arguments)
            .is(200)
            .content()
            .to_owned()
    };
    run("echo quick");
    until_put_away(&session);
    run("sleep 1000 >/dev/null 2>&1 & echo $! >pid");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(run("kill -0 $(cat pid) && echo lives").trim(), "lives");
    run("kill $(cat pid)");
    until_put_away(&session);
}

/// Waits until the session's agent is put away: its extensions no longer know their servers.
fn until_put_away(session: &Session<'_>) {
    until("its agent to be put away", || {
        let all = status(session);
        let is_idle = |extension: &Value| {
            ["idle", "frontend"].contains(&extension["state"].as_str().unwrap())
                && extension.get("server").is_none()
        };
        all.iter().all(is_idle).then_some(())
    });
}
