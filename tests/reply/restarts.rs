//! What a session contains after its server was stopped or killed.

use crate::support::process::census;
use crate::support::scripted::Script;
use crate::support::server::{Extension, Server};
use crate::support::until;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// A model that answers `go` with short texts and calls.
fn busy() -> Value {
    json!({"turns": [{"when": {"user": "go"}, "steps": [
        {"text": "first ", "chunks": 3, "delay_ms": 1},
        {"call": {"id": "a", "name": "one__echo", "arguments": {"message": "A"}}},
        {"text": "second ", "chunks": 3, "delay_ms": 1},
        {"calls": [
            {"id": "b", "name": "one__echo", "arguments": {"message": "B"}},
            {"id": "c", "name": "one__echo", "arguments": {"message": "C"}},
        ]},
        {"text": "third"},
    ]}]})
}

const TURN: [&str; 6] = [
    "user: go",
    "assistant: first  | call a",
    "user: result A",
    "assistant: second  | call b | call c",
    "user: result B | result C",
    "assistant: third",
];

/// The message without the ids of its calls, which are unique in a session: those of later turns are new ones.
fn without_ids(message: &str) -> String {
    let parts = message
        .split(" | ")
        .map(|part| match part.split_once("call ") {
            Some(("", _)) => "call",
            _ => part,
        });
    parts.collect::<Vec<_>>().join(" | ")
}

/// Whether these are the messages of turns that may each have ended between two messages.
fn is_made_of_turns(messages: &[String]) -> bool {
    let mut place = 0;
    messages.iter().enumerate().all(|(n, message)| {
        if message == TURN[0] {
            place = 1;
            return true;
        }
        let is_next = || without_ids(message) == without_ids(TURN[place]);
        let fits = n > 0 && place < TURN.len() && is_next();
        place += 1;
        fits
    })
}

#[test]
fn a_server_killed_at_any_moment_has_forgotten_nothing_that_was_said() {
    let mut server = Server::scripted(busy()).start();
    let id = server
        .session([Extension::scripted("one", &Script::new())])
        .id;
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    let mut before: Vec<String> = Vec::new();
    for round in 0..50 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let session = server.known(&id);
        let mut turn = session.begin_turn("go");
        if round % 3 > 0 {
            // A ping may arrive before the message is stored.
            let kind = |event: &Value| event["type"].as_str().map(str::to_owned);
            let first = turn.until("answer", |event| kind(event).filter(|kind| kind != "Ping"));
            assert_eq!(first, "Message", "round {round}: {:?}", turn.events);
        }
        thread::sleep(Duration::from_micros(random % 60_000));
        server.kill();
        drop(turn);
        server = server.again();
        let stored = server.known(&id).transcript();
        assert!(
            stored.starts_with(&before),
            "round {round}: {stored:?} after {before:?}"
        );
        assert!(is_made_of_turns(&stored), "round {round}: {stored:?}");
        if round % 3 > 0 {
            assert!(
                stored.len() > before.len(),
                "round {round}: what was answered is lost"
            );
        }
        before = stored;
    }
    let session = server.known(&id);
    session.say("go").finishes().says("first second third");
    let transcript: Vec<String> = (session.transcript().iter())
        .map(|message| without_ids(message))
        .collect();
    assert!(transcript.ends_with(&TURN.map(without_ids)));
    server.never_logs("panicked");
}

#[test]
fn a_restart_forgets_nothing() {
    let script = json!({"name": "Counting", "repeat": true, "turns": [{
        "steps": [
            {"call": {"id": "a", "name": "one__echo", "arguments": {"message": "{{last_user}}!"}}},
            {"text": "{{last_result}}"},
        ],
        "usage": {"input": 10, "output": 5},
    }]});
    let server = Server::scripted(script).start();
    let session = server.session([Extension::scripted("one", &Script::new())]);
    session.say("one").finishes().says("one!");
    until("it has a name", || {
        (session.stored()["name"] == "Counting").then_some(())
    });
    let (id, before) = (session.id.clone(), session.stored());
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(session.stored(), before);
    let body = json!({"session_id": id, "load_model_and_extensions": true});
    let resumed = server.post("/agent/resume", body).is(200).body;
    assert_eq!(resumed["session"]["conversation"], before["conversation"]);
    assert_eq!(resumed["extension_results"][0]["success"], true);
    let turn = session.say("two").finishes().says("two!");
    assert_eq!(turn.tokens()["accumulatedTotalTokens"], 60);
    assert_eq!(session.transcript().len(), 8);
    assert_eq!(session.stored()["name"], "Counting");
}

#[test]
fn a_session_nobody_names_is_called_by_what_was_said_first() {
    let server = Server::scripted(json!({"turns": [{"steps": [{"text": "Yes."}]}]})).start();
    let session = server.session([]);
    session.say("Is this on?\nReally?").finishes();
    until("it has a name", || {
        (session.stored()["name"] == "Is this on?").then_some(())
    });
    assert_eq!(session.stored()["user_set_name"], false);
}

#[test]
fn a_command_is_no_reason_for_a_name() {
    let script = json!({"name": "Greetings", "turns": [{"steps": [{"text": "Hello."}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    session.say("/clear").finishes();
    session.say("/prompts").finishes();
    assert_eq!(session.stored()["name"], "New Chat");
    session.say("Hello?").finishes();
    until("it has a name", || {
        (session.stored()["name"] == "Greetings").then_some(())
    });
}

#[test]
fn a_torn_last_line_costs_only_that_line() {
    let server = Server::scripted(busy()).start();
    let session = server.session([Extension::scripted("one", &Script::new())]);
    session.say("go").finishes();
    let id = session.id.clone();
    let path = find_journal(server.root(), &id);
    assert!(server.terminate().success());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let server = server.again();
    let session = server.known(&id);
    assert_eq!(session.transcript(), TURN[..5]);
    session.say("go").finishes();
    assert_eq!(session.transcript()[5], TURN[0]);
}

#[test]
fn any_number_of_sessions_keeps_few_files_open_and_each_goes_on() {
    let server = Server::scripted(json!({"repeat": true, "turns": [{"steps": [{"text": "yes"}]}]}));
    let server = server.start();
    let sessions: Vec<_> = (0..60).map(|_| server.session([])).collect();
    let before = census(server.pid()).fds;
    for session in &sessions {
        session.say("go").finishes();
    }
    let more = census(server.pid()).fds.saturating_sub(before);
    assert!(more < 80, "{more} more files are open");
    for session in [&sessions[0], &sessions[59]] {
        session.say("again").finishes();
        let said = [
            "user: go",
            "assistant: yes",
            "user: again",
            "assistant: yes",
        ];
        assert_eq!(session.transcript(), said);
    }
}

fn find_journal(under: &std::path::Path, id: &str) -> std::path::PathBuf {
    let mut folders = vec![under.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(format!("{id}/messages.jsonl")) {
                return path;
            }
        }
    }
    panic!("no journal of {id}");
}

#[test]
fn a_name_that_a_person_chose_stays() {
    let script = json!({"name": "By the model", "turns": [{"steps": [{"text": "Yes."}]}]});
    let server = Server::scripted(script).start();
    let (session, other) = (server.session([]), server.session([]));
    let answer = server.ask(
        "PUT",
        &format!("/sessions/{}/name", session.id),
        Some(crate::support::client::KEY),
        Some(r#"{"name": "By me"}"#),
    );
    answer.is(200);
    session.say("hello").finishes().says("Yes.");
    other.say("hello").finishes();
    until("the other has a name", || {
        (other.stored()["name"] == "By the model").then_some(())
    });
    assert_eq!(session.stored()["name"], "By me");
    assert_eq!(session.stored()["user_set_name"], true);
}
