//! Messages that the user sends to a turn that is running.

use crate::support::client::Answer;
use crate::support::scripted::Script;
use crate::support::server::{Extension, RunningServer, Server, Session};
use crate::support::turns::{assistant, user};
use crate::support::until;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// A model that works when it hears `go`, and answers what is added meanwhile.
fn server() -> Server {
    let call = json!({"call": {"id": "a", "name": "one__echo", "arguments": {"message": "A"}}});
    let never = json!({"call": {"id": "n", "name": "one__never"}});
    let failure = json!({"error": {"class": "refused", "message": "not that"}});
    let script = json!({"turns": [
        {"when": {"user": "go"}, "steps": [call, {"text": "done"}]},
        {"when": {"user": "slow"}, "steps": [{"text": "abcdef", "chunks": 6, "delay_ms": 200}]},
        {"when": {"user": "wait"}, "steps": [never, {"text": "never"}]},
        {"when": {"user": "fail"}, "steps": [{"wait_ms": 1_000}, failure]},
        {"when": {"user": "quick"}, "steps": [{"text": "short", "chunks": 2, "delay_ms": 2}]},
        {"steps": [{"text": "I heard {{last_user}}"}]},
    ], "repeat": true});
    Server::scripted(script)
}

fn one(server: &RunningServer) -> Session<'_> {
    server.session([Extension::scripted("one", &Script::new().tool("never", []))])
}

fn steer(session: &Session<'_>, text: &str) -> Answer {
    let mut message = user(text);
    message["created"] = 1_700_000_001.into();
    send(session, message)
}

fn send(session: &Session<'_>, message: Value) -> Answer {
    let path = format!("/sessions/{}/steer", session.id);
    session
        .server
        .post(&path, json!({ "user_message": message }))
}

#[test]
fn a_message_reaches_the_model_with_its_next_request() {
    let server = server().setting("GOOSE_MODE", "approve").start();
    let session = one(&server);
    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    let taken = steer(&session, "and blue").is(200).body;
    // Stored at once, though the model is told later.
    let early = ["user: go", "assistant: call a", "user: and blue"];
    assert_eq!(session.transcript(), early);
    session.confirm(&question, "allow_once");
    let turn = turn
        .rest()
        .finishes()
        .says("I heard and blue")
        .never_says("done");
    let shown = turn.events_of("Message").into_iter();
    let shown: Vec<&Value> = shown
        .filter(|it| it["message"]["metadata"]["steer"] == true)
        .collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(taken["message_id"].is_string());
    assert_eq!(shown[0]["message"]["id"], taken["message_id"]);
    let whole = [
        "user: go",
        "assistant: call a",
        "user: result A",
        "user: and blue",
        "assistant: I heard and blue",
    ];
    assert_eq!(session.transcript(), whole);
    session.say("more").finishes().says("I heard more");
    let id = session.id.clone();
    let server = server.restart();
    assert_eq!(server.known(&id).transcript()[..5], whole);
}

#[test]
fn a_message_during_the_last_answer_is_answered_in_the_same_turn() {
    let server = server().start();
    let session = one(&server);
    let mut turn = session.begin_turn("slow");
    turn.wait_for_text("ab");
    for text in ["and blue", "and round"] {
        steer(&session, text).is(200);
    }
    turn.rest().finishes().says("I heard and round");
    let said = [
        "user: slow",
        "assistant: abcdef",
        "user: and blue",
        "user: and round",
        "assistant: I heard and round",
    ];
    assert_eq!(session.transcript(), said);
    assert_eq!(session.stored()["message_count"], 5);
}

#[test]
fn a_message_outlives_the_error_of_the_model_that_it_interrupts() {
    let server = server().start();
    let session = one(&server);
    let turn = session.begin_turn("fail");
    until("the turn takes messages", || {
        (steer(&session, "or blue").status == 200).then_some(())
    });
    turn.rest()
        .finishes()
        .says("not that")
        .says("I heard or blue");
}

#[test]
fn what_a_cancelled_turn_has_not_taken_comes_before_the_next_message() {
    let server = server().start();
    let session = one(&server);
    let mut turn = session.begin_turn("wait");
    turn.calls();
    steer(&session, "and blue").is(200);
    drop(turn);
    until("the session is free", || {
        (session.say("then").events.last()?["type"] == "Finish").then_some(())
    });
    let said = session.transcript();
    assert_eq!(said[..2], ["user: wait", "assistant: call n"]);
    assert!(
        said[2].starts_with("user: result The call was cancelled"),
        "{said:?}"
    );
    assert_eq!(
        said[3..],
        ["user: and blue", "user: then", "assistant: I heard then"]
    );
}

#[test]
fn a_message_survives_the_process() {
    let server = server().start();
    let session = one(&server);
    let mut turn = session.begin_turn("wait");
    turn.calls();
    // The call reaches the client as it streams, and the journal once the answer has ended.
    until("the call is stored", || {
        (session.transcript().len() == 2).then_some(())
    });
    steer(&session, "and blue").is(200);
    let id = session.id.clone();
    server.kill();
    drop(turn);
    let server = server.again();
    let session = server.known(&id);
    assert_eq!(session.transcript()[2..], ["user: and blue"]);
    session
        .post("/agent/resume", json!({"load_model_and_extensions": true}))
        .is(200);
    session.say("then").finishes().says("I heard then");
    assert_eq!(
        session.transcript()[2..],
        ["user: and blue", "user: then", "assistant: I heard then"]
    );
}

#[test]
fn what_cannot_be_taken_is_refused() {
    let server = server().start();
    let session = one(&server);
    steer(&session, "early")
        .is(409)
        .says("no turn of the session is running");
    let unknown = server.post(
        "/sessions/20200101_1/steer",
        json!({"user_message": user("a")}),
    );
    unknown.is(404);
    let mut turn = session.begin_turn("wait");
    turn.calls();
    send(&session, user(" "))
        .is(400)
        .says("nothing for the model");
    send(&session, assistant("I am you")).is(400);
    let path = format!("/sessions/{}/steer", session.id);
    server
        .post(&path, json!({"user_message": 1}))
        .is(422)
        .says("user_message");
    drop(turn);
    until("the turn is over", || {
        (steer(&session, "late").status == 409).then_some(())
    });
    let said = session.transcript();
    assert_eq!(said[0], "user: wait", "{said:?}");
}

#[test]
fn no_message_that_was_taken_is_without_an_answer() {
    let server = server().start();
    let session = one(&server);
    let mut taken = Vec::new();
    for n in 0..40 {
        // On a slow system a message is never in time for the quick ones.
        let turn = session.begin_turn(if n == 0 { "slow" } else { "quick" });
        thread::scope(|scope| {
            let late = scope.spawn(|| {
                thread::sleep(Duration::from_micros(n * 400));
                let text = format!("steer {n}.");
                (steer(&session, &text).status == 200).then_some(text)
            });
            turn.rest().finishes();
            taken.extend(late.join().unwrap());
        });
    }
    assert!(
        !taken.is_empty(),
        "every message came when no turn was running"
    );
    let said = session.transcript();
    for text in taken {
        let place = said.iter().position(|it| *it == format!("user: {text}"));
        let place = place.unwrap_or_else(|| panic!("{text} is lost: {said:?}"));
        assert_eq!(said[place + 1], format!("assistant: I heard {text}"));
    }
}
