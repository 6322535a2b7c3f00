//! Turns that are cancelled: the client disconnects, the session is stopped, or the server ends.

use crate::support::process::Census;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session};
use crate::support::turns::shown;
use crate::support::until;
use serde_json::{Value, json};

/// A model that sends text, calls a tool that never answers, and then repeats what it sees.
fn waiting() -> Value {
    json!({"turns": [
        {"when": {"user": "wait"}, "steps": [
            {"text": "I wait. "}, {"call": {"id": "w", "name": "one__never"}}, {"text": "Never."},
        ]},
        {"when": {"user": "stream"}, "steps": [{"text": "abcdefghij", "chunks": 10, "delay_ms": 200}]},
        {"when": {"user": "then"}, "steps": [{"text": "Last I heard: {{last_result}}"}]},
        {"steps": [{"text": "Hello."}]},
    ], "repeat": true})
}

fn never(record: &Record) -> Extension {
    let script = Script::new().recorded(&record.path()).tool("never", []);
    Extension::scripted("one", &script)
}

/// Waits until the session accepts the next message; returns the answer of the model.
#[track_caller]
fn free(session: &Session<'_>, text: &str) -> String {
    until("the session is free", || {
        let turn = session.say(text);
        let over = turn.events.last()?["type"] == "Finish";
        over.then(|| turn.text())
    })
}

/// Runs a first turn, which creates what is created once; then returns the resources that the server holds.
fn settled(server: &RunningServer, session: &Session<'_>) -> Census {
    session.say("hello").finishes();
    server.settled()
}

#[test]
fn hanging_up_cancels_a_slow_tool() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let rest = settled(&server, &session);
    for n in 1..=3 {
        let mut turn = session.begin_turn("wait");
        turn.wait_for_text("I wait. ");
        let call = until("the call", || {
            record.all("tools/call").into_iter().nth(n - 1)
        });
        drop(turn);
        let cancelled = until("the cancellation", || {
            record.all("notifications/cancelled").into_iter().nth(n - 1)
        });
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        server.returns_to(rest);
    }
    let said = free(&session, "then");
    assert!(
        said.contains("cancelled before it gave an answer"),
        "{said}"
    );
    let stored = session.transcript();
    assert_eq!(stored[2..4], ["user: wait", "assistant: I wait.  | call w"]);
    assert!(
        stored[4].starts_with("user: result The call was cancelled"),
        "{stored:?}"
    );
    server.returns_to(rest);
    session.echoes("one");
}

#[test]
fn hanging_up_stops_a_model_and_keeps_what_it_said() {
    let server = Server::scripted(waiting()).start();
    let session = server.session([]);
    let rest = settled(&server, &session);
    let mut turn = session.begin_turn("stream");
    turn.wait_for_text("abc");
    drop(turn);
    server.returns_to(rest);
    assert_eq!(free(&session, "hello"), "Hello.");
    let stored = session.conversation();
    let partial = shown(&stored[3]);
    let said = partial.strip_prefix("assistant: ").unwrap();
    assert!(
        "abcdefghij".starts_with(said) && said.len() >= 3 && said.len() < 10,
        "{said}"
    );
    assert_eq!(stored.len(), 6);
}

#[test]
fn hanging_up_takes_a_question_back() {
    let record = Record::new();
    let server = Server::scripted(waiting())
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([never(&record)]);
    let rest = settled(&server, &session);
    let mut turn = session.begin_turn("wait");
    let id = turn.asks();
    drop(turn);
    server.returns_to(rest);
    session.confirm(&id, "always_allow");
    let said = free(&session, "then");
    assert!(
        said.contains("cancelled") && said.contains("was not run"),
        "{said}"
    );
    assert!(!session.stored().to_string().contains("is not known"));
    assert!(record.all("tools/call").is_empty());
    assert!(!server.root().join("config/permission.yaml").exists());
}

#[test]
fn stopping_the_session_ends_its_turn() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let mut turn = session.begin_turn("wait");
    turn.wait_for_text("I wait. ");
    record.wait_for_message("tools/call");
    session.stop();
    turn.rest().fails("cancelled");
    assert!(
        server
            .descendants()
            .iter()
            .all(|p| p.name() != "scripted-mcp")
    );
    assert!(session.transcript().len() >= 2);
    let said = free(&session, "then");
    assert!(said.contains("Last I heard: The call was"), "{said}");
    session.resume();
    session.echoes("one");
}

#[test]
fn restarting_the_session_ends_its_turn() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let mut turn = session.begin_turn("wait");
    turn.wait_for_text("I wait. ");
    record.wait_for_message("tools/call");
    assert_eq!(session.restart()[0]["success"], true);
    turn.rest().fails("cancelled");
    session.echoes("one");
    let said = free(&session, "then");
    assert!(said.contains("Last I heard: The call was"), "{said}");
}

#[test]
fn deleting_the_session_ends_its_turn() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let mut turn = session.begin_turn("wait");
    turn.wait_for_text("I wait. ");
    record.wait_for_message("tools/call");
    let path = format!("/sessions/{}", session.id);
    server.delete(&path).is(200);
    let turn = turn.rest();
    assert_eq!(turn.events.last().unwrap()["type"], "Error");
    server.get(&path).is(404);
    session.say("hello").fails("Session not found");
    until("the tool's server is gone", || {
        let mut all = server.descendants().into_iter();
        all.all(|p| !p.name().starts_with("scripted")).then_some(())
    });
}

#[test]
fn the_server_ends_in_the_middle_of_turns() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let other = server.session([]);
    let mut turn = session.begin_turn("wait");
    turn.wait_for_text("I wait. ");
    record.wait_for_message("tools/call");
    let mut streaming = other.begin_turn("stream");
    streaming.wait_for_text("ab");
    let (id, children) = (session.id.clone(), server.descendants());
    assert_eq!(server.terminate().code(), Some(0));
    until("its children are gone", || {
        children.iter().all(|child| !child.is_alive()).then_some(())
    });
    turn.rest().fails("cancelled");
    streaming.rest().fails("cancelled");
    let server = server.again();
    let session = server.known(&id);
    let stored = session.transcript();
    assert_eq!(stored[..2], ["user: wait", "assistant: I wait.  | call w"]);
    assert!(free(&session, "then").contains("Last I heard: The call was"));
}

#[test]
fn a_turn_waits_for_the_extensions_and_ends_with_its_client() {
    let server = Server::scripted(waiting()).start();
    let slow = Script::new().begin([Action::Sleep(1_000)]);
    let session = server.begin_session([Extension::scripted("one", &slow)]);
    drop(session.begin_turn("hello"));
    assert_eq!(free(&session, "hello"), "Hello.");
}

#[test]
fn who_leaves_with_unread_words_has_left() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    let mut turn = session.begin_turn("wait");
    turn.wait_for_text("I wait. ");
    record.wait_for_message("tools/call");
    turn.send(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    drop(turn);
    record.wait_for_message("notifications/cancelled");
    assert!(free(&session, "then").contains("cancelled"));
}

#[test]
fn sessions_that_come_and_go_leave_nothing_behind() {
    let server = Server::scripted(waiting()).start();
    let rest = server.at_rest();
    let record = Record::new();
    for round in 0..6 {
        let session = server.session([never(&record)]);
        let mut turn = session.begin_turn(["wait", "stream", "hello"][round % 3]);
        turn.any();
        if round < 3 {
            drop(turn);
            session.stop();
        } else {
            session.stop();
            turn.rest();
        }
    }
    server.returns_to(rest);
    server.never_logs("panicked");
}

#[test]
fn who_interrupts_an_answer_may_go_on_at_once() {
    let record = Record::new();
    let server = Server::scripted(waiting()).start();
    let session = server.session([never(&record)]);
    for _ in 0..3 {
        let mut turn = session.begin_turn("wait");
        turn.calls();
        drop(turn);
        session
            .say("then")
            .finishes()
            .says("Last I heard: The call was");
        let mut turn = session.begin_turn("stream");
        turn.wait_for_text("a");
        drop(turn);
        session.say("then").finishes();
    }
}
