//! Two processes on one root: only one of them runs a turn of a session at a time.

use crate::support::client::KEY;
use crate::support::scripted::Script;
use crate::support::server::{Extension, RunningServer, Server, gosling};
use crate::support::turns::Stream;
use serde_json::{Value, json};
use std::process::{Command, Output};

/// A model that answers `go` with a call that needs approval, and then with text.
fn asking() -> Server {
    let call = json!({"call": {"id": "a", "name": "one__echo", "arguments": {"message": "A"}}});
    let script = json!({"turns": [
        {"when": {"user": "go"}, "steps": [call, {"text": "done"}]},
        {"when": {"user": "hi"}, "steps": [{"text": "hello"}]},
    ]});
    Server::scripted(script).setting("GOOSE_MODE", "approve")
}

const GO: [&str; 4] = [
    "user: go",
    "assistant: call a",
    "user: result A",
    "assistant: done",
];
const HI: [&str; 2] = ["user: hi", "assistant: hello"];

/// A session with a turn that waits for approval, the turn, and the id of the question.
fn at_work(server: &RunningServer) -> (String, Stream, String) {
    let session = server.session([Extension::scripted("one", &Script::new())]);
    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    (session.id.clone(), turn, question)
}

fn chat(server: &RunningServer, id: &str, text: &str) -> Output {
    let mut command: Command = gosling();
    command
        .args(["chat", "--session", id, "-m", text])
        .env("GOOSE_PATH_ROOT", server.root())
        .env("HOME", server.root().join("home"))
        .stdin(std::process::Stdio::null());
    command.output().expect("gosling runs")
}

fn fork(server: &RunningServer, id: &str, copy: bool) -> crate::support::client::Answer {
    let body = json!({"timestamp": 1_700_000_001, "truncate": !copy, "copy": copy});
    server.post(&format!("/sessions/{id}/fork"), body)
}

#[cfg(feature = "chat")]
#[test]
fn a_session_at_work_in_one_process_is_refused_in_the_other() {
    let one = asking().start();
    let two = one.beside();
    let (id, turn, question) = at_work(&one);
    let holder = format!("`gosling agent`, process {}", one.pid());
    let refused = two.known(&id).say("hi");
    let error = refused.events.last().expect("an event");
    assert_eq!(error["type"], "Error", "{error}");
    let reason = error["error"].as_str().unwrap();
    assert!(reason.contains(&holder), "{reason}");
    let chatted = chat(&one, &id, "hi");
    let said = String::from_utf8_lossy(&chatted.stderr);
    assert!(said.contains(&holder), "{said}");
    assert_eq!(chatted.status.code(), Some(1), "{said}");
    // Sessions without a running turn are not affected.
    two.session([]).say("hi").finishes();

    one.known(&id).confirm(&question, "allow_once");
    turn.rest().finishes().says("done");
    assert_eq!(two.known(&id).transcript(), GO);
    two.known(&id).say("hi").finishes().says("hello");
    assert!(chat(&one, &id, "hi").status.success());
    one.known(&id).say("hi").finishes().says("hello");
    let expected: Vec<&str> = [&GO[..], &HI, &HI, &HI].concat();
    assert_eq!(one.known(&id).transcript(), expected);
    assert_eq!(two.known(&id).transcript(), expected);
}

#[test]
fn a_turn_ends_its_hold_on_the_session_however_it_ends() {
    let one = asking().start();
    let two = one.beside();
    // The client disconnects.
    let (id, turn, _) = at_work(&one);
    drop(turn);
    two.known(&id).say("hi").finishes().says("hello");
    // The session is stopped.
    let (id, turn, _) = at_work(&one);
    one.known(&id).stop();
    two.known(&id).say("hi").finishes().says("hello");
    drop(turn);
    // The process is killed.
    let (id, turn, _) = at_work(&one);
    one.kill();
    two.known(&id).say("hi").finishes().says("hello");
    drop(turn);
    let said = two.known(&id).transcript();
    assert_eq!((said[0].as_str(), said.len()), (GO[0], 4), "{said:?}");
    assert_eq!(said[2..], HI);
}

#[test]
fn what_another_process_may_do_to_a_session_at_work() {
    let one = asking().start();
    let two = one.beside();
    let (id, turn, question) = at_work(&one);
    let holder = format!("process {}", one.pid());

    // Both processes refuse requests that would remove messages during the turn.
    fork(&two, &id, false).is(409).says(&holder);
    fork(&one, &id, false).is(409).says("still busy");
    two.delete(&format!("/sessions/{id}")).is(409).says(&holder);
    // A copy has the messages so far, and an import is another session.
    let copy = fork(&two, &id, true).is(200).body["sessionId"].clone();
    let copy = copy.as_str().unwrap();
    assert_eq!(two.known(copy).transcript(), GO[..2]);
    two.known(copy).say("hi").finishes().says("hello");
    let text = two.get(&format!("/sessions/{id}/export")).is(200).body;
    let import = two.post("/sessions/import", json!({"json": text})).is(200);
    assert_ne!(import.body["id"], id.as_str());
    // The stored fields of the session can change, apart from its messages.
    let path = format!("/sessions/{id}/name");
    let name = json!({"name": "by two"}).to_string();
    two.ask("PUT", &path, Some(KEY), Some(&name)).is(200);

    one.known(&id).confirm(&question, "allow_once");
    turn.rest().finishes().says("done");
    let stored: Value = two.known(&id).stored();
    assert_eq!(two.known(&id).transcript(), GO);
    assert_eq!(stored["name"], "by two");
    // After the turn all of these requests succeed.
    fork(&two, &id, false).is(200);
    one.known(&id).say("hi").finishes().says("hello");
    two.delete(&format!("/sessions/{id}")).is(200);
    let gone = one.known(&id).say("hi");
    assert_eq!(gone.events.last().unwrap()["type"], "Error");
}

#[test]
fn the_process_that_works_on_a_session_may_delete_it() {
    let one = asking().start();
    let (id, turn, _) = at_work(&one);
    one.delete(&format!("/sessions/{id}")).is(200);
    drop(turn);
    one.get(&format!("/sessions/{id}")).is(404);
    one.session([]).say("hi").finishes().says("hello");
}
