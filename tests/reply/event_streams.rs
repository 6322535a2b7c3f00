//! The event stream of a turn: its frames, its ids, and slow or disconnecting clients.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server};
use crate::support::turns::{Stream, assistant, shown, user};
use serde_json::{Value, json};
use std::net::TcpStream;

fn text(text: &str) -> Value {
    json!({"turns": [{"steps": [{"text": text}]}], "repeat": true})
}

fn body(session: &str, text: &str) -> String {
    json!({"session_id": session, "user_message": user(text)}).to_string()
}

fn connect(server: &RunningServer) -> TcpStream {
    TcpStream::connect(server.address()).unwrap()
}

#[test]
fn an_answer_comes_as_it_is_said_and_is_stored_under_the_same_id() {
    let script = json!({"turns": [{
        "steps": [{"text": "One two three", "chunks": 4, "delay_ms": 5}],
        "usage": {"input": 100, "output": 7},
    }]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("count").finishes();
    let head = turn.head.to_ascii_lowercase();
    assert!(
        head.contains("content-type: text/event-stream\r\n"),
        "{head}"
    );
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    assert!(head.contains("cache-control: no-cache"), "{head}");
    assert_eq!(turn.text(), "One two three");
    let pieces = turn.events_of("Message");
    assert_eq!(pieces.len(), 4);
    let id = &pieces[0]["message"]["id"];
    assert!(id.as_str().is_some_and(|id| !id.is_empty()));
    assert!(pieces.iter().all(|piece| piece["message"]["id"] == *id));
    let stored = session.conversation();
    assert_eq!(stored.len(), 2);
    assert_eq!(shown(&stored[0]), "user: count");
    assert_eq!(shown(&stored[1]), "assistant: One two three");
    assert_eq!(stored[1]["id"], *id);
    assert!(stored[0]["id"].is_string());
    let tokens = turn.tokens();
    assert_eq!(tokens["inputTokens"], 100);
    assert_eq!(tokens["accumulatedTotalTokens"], 107);
}

#[test]
fn tokens_add_up_over_turns() {
    let script = json!({"repeat": true, "turns": [{
        "steps": [{"text": "yes"}], "usage": {"input": 10, "output": 5},
    }]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    for n in 1..=3 {
        let tokens = session.say("well?").finishes().tokens();
        assert_eq!(tokens["totalTokens"], 15);
        assert_eq!(tokens["accumulatedTotalTokens"], 15 * n);
    }
    let stored = session.stored();
    assert_eq!(stored["accumulated_total_tokens"], 45);
    assert_eq!(stored["input_tokens"], 10);
}

#[test]
fn thoughts_are_told_apart_from_words() {
    let script = json!({"turns": [{"steps": [{"reasoning": "hm, a"}, {"text": "Aha."}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("well?").finishes();
    assert_eq!(turn.text(), "Aha.");
    assert_eq!(turn.parts_of("reasoning")[0]["text"], "hm, a");
    assert_eq!(session.transcript()[1], "assistant: (reasoning) | Aha.");
}

#[test]
fn a_client_of_1996_gets_a_body_that_ends_with_the_connection() {
    let server = Server::scripted(text("Hello.")).start();
    let session = server.session([]);
    let mut stream = Stream::begin(connect(&server), &body(&session.id, "hi"), "1.0");
    assert!(!stream.head.contains("chunked"), "{}", stream.head);
    stream.wait_for_text("Hello.");
    stream.rest().finishes();
}

#[test]
fn a_connection_serves_one_turn_after_the_other() {
    let server = Server::scripted(text("You said {{last_user}}.")).start();
    let session = server.session([]);
    let mut connection = connect(&server);
    for word in ["one", "two", "three"] {
        let stream = Stream::begin(connection, &body(&session.id, word), "1.1");
        let (turn, same, more) = stream.rest_and_connection();
        assert_eq!(more, "");
        turn.finishes().says(&format!("You said {word}."));
        connection = same;
    }
}

#[test]
fn a_client_that_talks_while_it_listens_is_heard_afterwards() {
    let script = json!({"repeat": true, "turns": [
        {"steps": [{"text": "slowly, slowly", "chunks": 5, "delay_ms": 60}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let mut stream = Stream::begin(connect(&server), &body(&session.id, "one"), "1.1");
    stream.wait_for_text("slow");
    stream.send(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (turn, mut connection, mut answer) = stream.rest_and_connection();
    turn.finishes().says("slowly, slowly");
    std::io::Read::read_to_string(&mut connection, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
}

#[test]
fn a_silent_stream_shows_that_it_lives() {
    let tool = Script::new().tool("slow", [Action::Sleep(1_900), Action::text("done")]);
    let script = json!({"turns": [{"steps": [
        {"call": {"name": "one__slow"}}, {"text": "It says {{last_result}}."},
    ]}]});
    let server = Server::scripted(script).start();
    let session = server.session([Extension::scripted("one", &tool)]);
    let turn = session.say("go").finishes().says("It says done.");
    let call = turn.place(|event| event["message"]["content"][0]["type"] == "toolRequest");
    let result = turn.place(|event| event["message"]["content"][0]["type"] == "toolResponse");
    let pings = &turn.events[call + 1..result];
    assert!(pings.iter().all(|event| *event == json!({"type": "Ping"})));
    assert!((2..20).contains(&pings.len()), "{} pings", pings.len());
}

#[test]
fn what_is_no_request_is_refused() {
    let server = Server::scripted(text("Hello.")).start();
    let session = server.session([]);
    for body in [
        json!({"session_id": session.id}),
        json!({"user_message": user("hi")}),
        json!({"session_id": session.id, "user_message": "hi"}),
        json!({"session_id": session.id, "user_message": {"role": "nobody", "created": 1, "content": []}}),
        json!({"session_id": session.id, "user_message": user("hi"), "conversation_so_far": 5}),
    ] {
        server.post("/reply", body).is(422);
    }
    assert!(session.conversation().is_empty());
    session.say("hi").finishes().says("Hello.");
}

#[test]
fn whatever_else_is_wrong_is_said_in_the_stream() {
    let server = Server::scripted(text("Hello.")).start();
    let stream = Stream::begin(connect(&server), &body("20000101_1", "hi"), "1.1");
    let turn = stream.rest();
    let said = json!([{"type": "Error", "error": "Failed to read session: Session not found"}]);
    assert_eq!(Value::from(turn.events), said);
    let stream = Stream::begin(connect(&server), &body("../../etc", "hi"), "1.1");
    stream.rest().fails("Session not found");
}

#[test]
fn without_a_model_the_user_learns_what_to_set() {
    let server = Server::new().start();
    let session = server.session([]);
    session.say("hi").fails("GOOSE_PROVIDER");
    server.set("GOOSE_PROVIDER", "scripted");
    session.say("hi").finishes().says("I heard: hi");
}

#[test]
fn a_session_works_on_one_message_at_a_time() {
    let slowly = json!({"text": "slowly, slowly", "chunks": 10, "delay_ms": 400});
    let script = json!({"turns": [
        {"when": {"user": "one"}, "steps": [slowly]}, {"steps": [{"text": "Yes?"}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let mut first = session.begin_turn("one");
    first.wait_for_text("s");
    session.say("two").fails("busy");
    first.rest().finishes().says("slowly, slowly");
    assert_eq!(
        session.transcript(),
        ["user: one", "assistant: slowly, slowly"]
    );
    session.say("three").finishes().says("Yes?");
}

#[test]
fn the_client_may_say_what_was_said_so_far() {
    let server = Server::scripted(text("Yes.")).start();
    let session = server.session([]);
    session.say("forget me").finishes();
    let so_far = json!([user("earlier"), assistant("indeed")]);
    let body = json!({"user_message": user("and now?"), "conversation_so_far": so_far});
    session.reply(body).rest().finishes().says("Yes.");
    let now = [
        "user: earlier",
        "assistant: indeed",
        "user: and now?",
        "assistant: Yes.",
    ];
    assert_eq!(session.transcript(), now);
}

#[test]
fn sessions_that_talk_at_once_do_not_hear_each_other() {
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"text": "I heard {{last_user}}. ", "chunks": 5, "delay_ms": 2},
        {"call": {"name": "one__echo", "arguments": {"message": "to {{last_user}}"}}},
        {"text": "It came back {{last_result}}."},
    ]}]});
    let server = Server::scripted(script).start();
    let one = Extension::scripted("one", &Script::new());
    let sessions: Vec<_> = (0..12)
        .map(|_| server.begin_session([one.clone()]))
        .collect();
    std::thread::scope(|scope| {
        for (n, session) in sessions.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..4 {
                    let me = format!("{n}/{round}");
                    let turn = session.say(&me).finishes();
                    let said = format!("I heard {me}. It came back to {me}.");
                    assert_eq!(turn.text(), said);
                }
                assert_eq!(session.conversation().len(), 4 * 4);
            });
        }
    });
}

#[test]
fn a_client_that_reads_late_misses_nothing_and_holds_up_nobody() {
    // More than any socket buffer holds.
    let steps = vec![json!({"text": "{{last_user}}"}); 44];
    let script = json!({"turns": [
        {"when": {"user": "much"}, "steps": steps}, {"steps": [{"text": "Hello."}]},
    ]});
    let server = Server::scripted(script).start();
    let (late, other) = (server.session([]), server.session([]));
    let much = "much ".repeat(60_000);
    let stream = late.begin_turn(&much);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    assert!(late.conversation().len() < 2, "it cannot be over");
    other.say("hi").finishes().says("Hello.");
    late.say("hi").fails("busy");
    let turn = stream.rest().finishes();
    assert_eq!(turn.text().len(), 44 * much.len());
    assert_eq!(late.conversation().len(), 2);
}

#[test]
fn another_model_may_go_on() {
    let server = Server::scripted(text("I am {{model}}.")).start();
    let session = server.session([]);
    session.say("who?").finishes().says("I am script.");
    session.uses(json!({"model": "another"})).is(200);
    session.say("who?").finishes().says("I am another.");
    let stored = session.stored();
    assert_eq!(stored["provider_name"], "scripted");
    assert_eq!(stored["model_config"]["model_name"], "another");
    let id = session.id.clone();
    let server = server.restart();
    server
        .known(&id)
        .say("who?")
        .finishes()
        .says("I am another.");
}

#[test]
fn what_does_not_start_is_missing_and_the_rest_is_there() {
    let script = json!({"turns": [{"steps": [{"text": "I have {{tools}}."}]}]});
    let server = Server::scripted(script).start();
    let broken = Extension::dying("broken", "", 3);
    let fine = Extension::scripted("one", &Script::new());
    let session = server.begin_session([broken, fine]);
    session.say("what?").finishes().says("I have one__echo.");
}

#[test]
fn what_another_process_spends_meanwhile_is_counted_too() {
    let script = json!({"repeat": true, "turns": [{
        "steps": [{"call": {"name": "one__echo", "arguments": {"message": "m"}}}, {"text": "done"}],
        "usage": {"input": 10, "output": 5},
    }]});
    let server = Server::scripted(script)
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([Extension::scripted("one", &Script::new())]);
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    // A second server on the same folder stores a turn in this way.
    let path = format!("data/sessions/{}/session.json", session.id);
    let path = server.root().join(path);
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for (name, tokens) in [("input", 700), ("output", 300), ("total", 1_000)] {
        stored[format!("accumulated_{name}_tokens")] = tokens.into();
    }
    std::fs::write(&path, stored.to_string()).unwrap();
    session.confirm(&id, "allow_once");
    let turn = turn.rest().finishes().says("done");
    assert_eq!(turn.tokens()["accumulatedTotalTokens"], 1_030);
    let stored = session.stored();
    assert_eq!(stored["accumulated_input_tokens"], 720);
    assert_eq!(stored["accumulated_output_tokens"], 310);
    assert_eq!(stored["accumulated_total_tokens"], 1_030);
    assert_eq!(stored["total_tokens"], 15);
}
