//! Tools that the client runs: the model calls them, and the client sends the results.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session};
use crate::support::until;
use serde_json::{Value, json};

fn front() -> Extension {
    Extension(json!({
        "type": "frontend", "name": "front", "description": "", "instructions": "Pick a colour first.",
        "tools": [{"name": "pick", "description": "Picks", "inputSchema": {"type": "object"}}],
    }))
}

fn script() -> Value {
    json!({"repeat": true, "turns": [
        {"when": {"user": "hello"}, "steps": [{"text": "Hello."}]},
        {"when": {"user": "tools"}, "steps": [{"text": "{{tools}}"}]},
        {"when": {"user": "system"}, "steps": [{"text": "{{system}}"}]},
        {"when": {"user": "both"}, "steps": [
            {"calls": [{"name": "pick"}, {"name": "one__echo", "arguments": {"message": "mine"}}]},
            {"say_results": true},
        ]},
        {"steps": [
            {"call": {"name": "pick", "arguments": {"of": "{{last_user}}"}}},
            {"text": "So: {{last_result}}"},
        ]},
    ]})
}

fn started() -> RunningServer {
    Server::scripted(script()).start()
}

fn with_front(server: &RunningServer) -> Session<'_> {
    let session = server.session([Extension::scripted("one", &Script::new())]);
    session.add(front()).is(200);
    session
}

fn picked(text: &str) -> Value {
    json!({"status": "success", "value": {"content": [{"type": "text", "text": text}]}})
}

fn response(id: &str, result: Value) -> Value {
    json!([{"type": "toolResponse", "id": id, "toolResult": result}])
}

#[test]
fn the_model_sees_them_with_their_instructions() {
    let server = started();
    let session = with_front(&server);
    session.say("tools").finishes().says("one__echo, pick");
    session
        .say("system")
        .finishes()
        .says("Pick a colour first.");
}

#[test]
fn the_client_answers_with_a_request_of_its_own() {
    let server = started();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, call) = turn.delegates();
    assert_eq!(call["status"], "success");
    assert_eq!(
        call["value"],
        json!({"name": "pick", "arguments": {"of": "colours"}})
    );
    let answer = json!({"id": id, "result": picked("red")});
    session.post("/tool_result", answer.clone()).is(200);
    let turn = turn.rest().finishes().gives(&["red"]);
    assert_eq!(turn.text(), "So: red");
    session
        .post("/tool_result", answer)
        .is(404)
        .says("waits for a result");
    let call = format!("assistant: call {id}");
    let all = [
        "user: colours",
        &call,
        "user: result red",
        "assistant: So: red",
    ];
    assert_eq!(session.transcript(), all);
}

#[test]
fn the_client_answers_with_a_message() {
    let server = started();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    let answer = session.sends(response(&id, picked("blue"))).finishes();
    assert_eq!(answer.events.len(), 1, "it begins no turn");
    turn.rest().finishes().says("So: blue");
    let again = session.sends(response(&id, picked("green"))).finishes();
    assert_eq!(again.events.len(), 1, "nobody waits any more");
    assert_eq!(session.conversation().len(), 4);
}

#[test]
fn an_answer_that_comes_after_a_hang_up_goes_on_where_the_turn_broke_off() {
    let server = started();
    let record = Record::new();
    let one = Script::new().recorded(&record.path());
    let session = server.session([Extension::scripted("one", &one)]);
    session.add(front()).is(200);
    session.say("hello").finishes();
    let rest = server.settled();
    let mut turn = session.begin_turn("both");
    let (id, _) = turn.delegates();
    until("the other call begins", || {
        (!record.all("tools/call").is_empty()).then_some(())
    });
    // Its answer has come before that of a later call.
    session.call("one__echo", json!({"message": "x"})).is(200);
    drop(turn);
    server.returns_to(rest);
    session
        .post("/tool_result", json!({"id": id, "result": picked("red")}))
        .is(404);
    let turn = session.sends(response(&id, picked("late red"))).finishes();
    assert_eq!(turn.text(), "late red\nmine");
    session.say("hello").finishes().says("Hello.");
}

#[test]
fn an_answer_that_never_comes_is_told_to_the_model_as_lost() {
    let server = started();
    let session = with_front(&server);
    session.say("hello").finishes();
    let rest = server.settled();
    let mut turn = session.begin_turn("colours");
    turn.delegates();
    drop(turn);
    server.returns_to(rest);
    server.plays(json!({"turns": [{"steps": [{"text": "{{last_result}}"}]}], "repeat": true}));
    session
        .say("and?")
        .finishes()
        .says("interrupted before it gave an answer");
}

#[test]
fn a_failure_of_the_client_is_a_result() {
    let server = started();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    let result = json!({"status": "error", "error": "the user closed the window"});
    session
        .post("/tool_result", json!({"id": id, "result": result}))
        .is(200);
    let turn = turn
        .rest()
        .finishes()
        .says("So: the user closed the window");
    let result = &turn.parts_of("toolResponse")[0]["toolResult"]["value"];
    assert_eq!(result["isError"], true);
}

#[test]
fn an_answer_that_is_too_large_goes_to_a_file() {
    let server = started();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    let many = picked(&"red and blue".repeat(30_000));
    session
        .post("/tool_result", json!({"id": id, "result": many}))
        .is(200);
    let turn = turn.rest().finishes().says("360000 characters");
    assert!(turn.results()[0].len() < 10_000);
}

#[test]
fn an_answer_that_is_none_is_refused_and_the_call_still_waits() {
    let server = started();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    let bad = json!({"status": "success", "value": {"content": "red"}});
    session
        .post("/tool_result", json!({"id": id, "result": bad}))
        .is(422);
    session.post("/tool_result", json!({"id": id})).is(422);
    session
        .post(
            "/tool_result",
            json!({"id": "other", "result": picked("red")}),
        )
        .is(404);
    let other = server.session([]);
    other
        .post("/tool_result", json!({"id": id, "result": picked("red")}))
        .is(404);
    session
        .post("/tool_result", json!({"id": id, "result": picked("red")}))
        .is(200);
    turn.rest().finishes().says("So: red");
}

#[test]
fn approval_is_left_to_the_client_but_not_what_is_forbidden() {
    let server = Server::scripted(script())
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    session
        .post("/tool_result", json!({"id": id, "result": picked("red")}))
        .is(200);
    let turn = turn.rest().finishes();
    assert!(turn.parts_of("actionRequired").is_empty());
    let forbid = json!({"tool_permissions": [{"tool_name": "pick", "permission": "never_allow"}]});
    server.post("/config/permissions", forbid).is(200);
    let turn = session.say("colours").finishes();
    assert!(turn.parts_of("frontendToolRequest").is_empty());
    assert!(
        turn.results()[0].contains("forbidden"),
        "{:?}",
        turn.results()
    );
}

#[test]
fn a_server_is_not_held_up_by_the_client() {
    let server = started();
    let slow = Script::new().tool("echo", [Action::text("fast")]);
    let session = server.session([Extension::scripted("one", &slow)]);
    session.add(front()).is(200);
    let mut turn = session.begin_turn("both");
    let (id, _) = turn.delegates();
    until("the other tool answers", || {
        session.call("one__echo", json!({})).is(200);
        Some(())
    });
    session
        .post("/tool_result", json!({"id": id, "result": picked("red")}))
        .is(200);
    turn.rest().finishes().gives(&["red", "fast"]);
}

#[test]
fn a_client_that_does_not_answer_in_time_has_given_no_result() {
    let server = Server::scripted(script())
        .setting("GOOSE_FRONTEND_TIMEOUT", 1)
        .start();
    let session = with_front(&server);
    let mut turn = session.begin_turn("colours");
    let (id, _) = turn.delegates();
    let turn = turn.rest().finishes().says("did not say in time");
    let result = &turn.parts_of("toolResponse")[0]["toolResult"]["value"];
    assert_eq!(result["isError"], true);
    let late = json!({"id": id, "result": picked("red")});
    session.post("/tool_result", late).is(404);
}
