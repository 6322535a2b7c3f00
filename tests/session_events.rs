//! The routes by which newer Goose Desktops chat: a turn that outlives its request, and the stream of a session's
//! events, with any number of listeners.
#![cfg(feature = "session-events")]

#[path = "support/mod.rs"]
mod support;

use gosling::agent::{ModelChoice, Registry, Start, Stores};
use gosling::http::{AccessControl, Limits};
use gosling::store::Paths;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use support::client::{KEY, send};
use support::scripted::{Action, Script};
use support::server::{Extension, Record, RunningServer, Server};
use support::session_events::{Frame, request_id, text_of};
use support::turns::{assistant, user};
use support::{TEST_TIMEOUT, temp_dir, until};

const ACTIVE: &str = "already has an active request";
const LETTERS: &str = "abcdefghijklmnopqrst";

fn model() -> Value {
    json!({"repeat": true, "turns": [
        {"when": {"user": "stream"}, "steps": [{"text": LETTERS, "chunks": 20, "delay_ms": 40}]},
        {"when": {"user": "slow"}, "steps": [{"text": LETTERS, "chunks": 20, "delay_ms": 400}]},
        {"when": {"user": "many"}, "steps": [{"text": "x".repeat(1_500), "chunks": 1_500}]},
        {"when": {"user": "think"}, "steps": [{"reasoning": "Hmm."}, {"text": "So."}]},
        {"when": {"user": "call"}, "steps": [
            {"call": {"id": "c", "name": "one__act"}}, {"text": "It says {{last_result}}."}]},
        {"steps": [{"text": "I heard: {{last_user}}"}]},
    ]})
}

fn server() -> RunningServer {
    Server::scripted(model()).start()
}

/// A server whose tool `act` never answers.
fn never(record: &Record) -> Extension {
    let script = Script::new().recorded(&record.path()).tool("act", []);
    Extension::scripted("one", &script)
}

fn ids(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame.id).collect()
}

#[test]
fn a_request_is_answered_at_once_and_its_events_come_in_order() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let request = request_id();
    let answer = session.posts(&request, user("hello")).is(200);
    answer.gives(json!({"request_id": request}));
    assert_eq!(listener.until_finish_of(&request), "I heard: hello");
    let ids = ids(&listener.frames);
    assert_eq!(ids.len(), listener.frames.len());
    assert!(ids.iter().all(|id| *id < 1 << 53), "a number of JavaScript");
    assert_eq!(
        session.transcript(),
        ["user: hello", "assistant: I heard: hello"]
    );
    let second = session.asks_for("again");
    assert_eq!(listener.until_finish_of(&second), "I heard: again");
}

#[test]
fn the_events_are_those_of_the_other_route_with_the_id_of_the_request() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let request = session.asks_for("hello");
    let members = |event: &Value| -> Vec<String> {
        let members = event.as_object().expect("an object").keys();
        members.cloned().collect()
    };
    let frames = listener.until_end_of(&request);
    let other = server.session([]).say("hello");
    assert_eq!(frames.len(), other.events.len());
    for (frame, event) in frames.iter().zip(&other.events) {
        let mut expected = members(event);
        expected.extend(["chat_request_id".to_owned(), "request_id".to_owned()]);
        assert_eq!(members(&frame.event), expected);
        let message = [&frame.event, event].map(|event| event["message"]["content"].clone());
        assert_eq!(message[0], message[1]);
    }
}

#[test]
fn a_listener_resumes_after_the_id_that_it_names() {
    let server = server();
    let session = server.session([]);
    let request = session.asks_for("stream");
    let mut first = session.listens();
    first.until_finish_of(&request);
    let all = first.frames.iter().filter(|frame| frame.id.is_some());
    let all: Vec<Frame> = all.cloned().collect();
    assert!(all.len() > 10, "{all:?}");
    let ids = ids(&all);
    for after in [0, 4, all.len() - 2] {
        let mut listener = session.listens_after(ids[after]);
        listener.until_end_of(&request);
        assert_eq!(listener.frames, all[after + 1..]);
    }
    for whole in ["0", "-1", "one", "1.5", "", "3 4", "0x10"] {
        let mut listener = session.listens_after(whole);
        listener.until_end_of(&request);
        assert_eq!(listener.frames, all, "{whole:?}");
    }
    let newest = ids[ids.len() - 1];
    let mut listener = session.listens_after(newest);
    let next = session.asks_for("hello");
    assert_eq!(listener.until_finish_of(&next), "I heard: hello");
    assert_eq!(listener.frames[0].event["chat_request_id"], next);
    let larger = (newest + 1_000).to_string();
    for strange in [&larger, "18446744073709551615", &"9".repeat(400), "1"] {
        session.listens_after(strange).ends_too_far_behind();
    }
}

/// Another process has no events of the first one, and may have more of its own.
#[test]
fn the_ids_of_an_earlier_process_hide_nothing() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let first = session.asks_for("stream");
    listener.until_finish_of(&first);
    let last = listener.last_id().expect("an id");
    let restarted = server.beside();
    let session = restarted.known(&session.id);
    session.listens_after(last).ends_too_far_behind();
    let missed = session.asks_for("stream");
    session.listens().until_finish_of(&missed);
    session.listens_after(last).ends_too_far_behind();
    // Clients keep the id of that error.
    assert_eq!(session.listens_after(0).until_finish_of(&missed), LETTERS);
}

#[test]
fn a_client_whose_events_are_no_longer_kept_is_told_so() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let request = session.asks_for("many");
    assert_eq!(listener.until_finish_of(&request), "x".repeat(1_500));
    let oldest = ids(&listener.frames)[0];
    drop(listener);
    until("the listener has left", || {
        let first = session.listens_after(oldest + 1).next()?;
        (first.kind() == "Error").then_some(())
    });
    session.listens_after(oldest + 1).ends_too_far_behind();
    // Clients keep the id of that error.
    let mut again = session.listens_after(0);
    assert!(again.until_finish_of(&request).len() < 600);
    let kept = again.frames[0].id.expect("an id");
    assert!(kept > oldest + 900, "{kept}");
}

#[test]
fn all_listeners_get_the_same() {
    let server = server();
    let session = server.session([]);
    let mut listeners: Vec<_> = (0..5).map(|_| session.listens()).collect();
    let request = session.asks_for("stream");
    let heard = listeners.iter_mut().map(|listener| {
        assert_eq!(listener.until_finish_of(&request), LETTERS);
        let frames = listener.frames.iter().filter(|frame| frame.id.is_some());
        frames.cloned().collect::<Vec<_>>()
    });
    let heard: Vec<_> = heard.collect();
    assert!(heard.iter().all(|frames| frames == &heard[0]));
}

#[test]
fn a_listener_that_comes_in_the_middle_gets_what_it_missed_once() {
    let server = server();
    let session = server.session([]);
    let request = session.asks_for("stream");
    let expected = json!([request]);
    let oldest = session.listens().until("an event", |frame| frame.id);
    thread::scope(|scope| {
        for n in 0..30 {
            let (session, request, expected) = (&session, &request, &expected);
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(n * 30));
                let mut listener = session.listens();
                let text = listener.until_finish_of(request);
                assert_eq!(text, LETTERS);
                let frames = &listener.frames;
                let told = frames
                    .iter()
                    .position(|frame| frame.kind() == "ActiveRequests");
                if let Some(told) = told {
                    assert_eq!(told, 0);
                    assert_eq!(&frames[0].event["request_ids"], expected);
                }
                // The reader checks that the ids have no gap.
                let first = frames.iter().find_map(|frame| frame.id);
                assert_eq!(first, Some(oldest));
            });
        }
    });
}

#[test]
fn a_client_that_reconnects_again_and_again_misses_nothing() {
    let server = server();
    let session = server.session([]);
    let request = session.asks_for("stream");
    let mut heard: Vec<Frame> = Vec::new();
    while heard.last().is_none_or(|frame| frame.kind() != "Finish") {
        let after = heard.last().and_then(|frame| frame.id).unwrap_or_default();
        let mut listener = session.listens_after(after);
        let frame = listener.until("an event", |frame| frame.id.map(|_| frame.clone()));
        assert!(after == 0 || frame.id == Some(after + 1));
        heard.push(frame);
    }
    assert_eq!(text_of(&heard), LETTERS);
    assert_eq!(heard[0].event["chat_request_id"], request);
}

#[test]
fn a_cancelled_request_finishes_and_the_next_one_follows_at_once() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    for n in 0..5 {
        let slow = session.asks_for("slow");
        listener.until("a text", |frame| {
            (frame.event["chat_request_id"] == slow && frame.parts().next().is_some()).then_some(())
        });
        session.cancels(&request_id()).is(200);
        session.cancels(&slow).is(200).says_nothing();
        let next = session.asks_for("hello");
        let begun = Instant::now();
        listener.until_end_of(&slow);
        if n == 0 {
            println!("the cancelled request ended within {:?}", begun.elapsed());
        }
        let cut = listener.until_finish_of(&slow);
        assert!(
            LETTERS.starts_with(&cut) && cut.len() < LETTERS.len(),
            "{cut}"
        );
        assert_eq!(listener.until_finish_of(&next), "I heard: hello");
        session.cancels(&slow).is(200);
    }
    let stored = session.transcript();
    assert_eq!(stored.len(), 20, "{stored:?}");
}

#[test]
fn a_cancel_ends_tools_and_questions() {
    let record = Record::new();
    let server = server();
    let session = server.session([never(&record)]);
    let mut listener = session.listens();
    let request = session.asks_for("call");
    record.wait_for_message("tools/call");
    session.cancels(&request).is(200);
    listener.until_finish_of(&request);
    record.wait_for_message("notifications/cancelled");
    let update = json!({"goose_mode": "approve"});
    session.post("/agent/update_session", update).is(200);
    let request = session.asks_for("call");
    listener.until("a question", |frame| {
        (frame.parts().next()?["type"] == "actionRequired").then_some(())
    });
    session.cancels(&request).is(200);
    listener.until_finish_of(&request);
    assert_eq!(record.all("tools/call").len(), 1);
}

#[test]
fn a_cancel_ends_the_wait_for_an_extension_that_starts() {
    let server = server();
    let script = Script::new().begin([Action::Sleep(60_000)]);
    let session = server.begin_session([Extension::scripted("one", &script)]);
    let mut listener = session.listens();
    let request = session.asks_for("hello");
    session.cancels(&request).is(200);
    listener.until_finish_of(&request);
}

#[test]
fn a_session_has_one_turn_at_a_time_through_every_route() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let slow = session.asks_for("slow");
    listener.until_text("a");
    session
        .posts(&request_id(), user("hello"))
        .is(400)
        .says(ACTIVE);
    session.posts(&slow, user("hello")).is(400).says(ACTIVE);
    let two = server.beside();
    let elsewhere = two.known(&session.id);
    elsewhere
        .posts(&request_id(), user("hello"))
        .is(400)
        .says(ACTIVE);
    session.say("hello").fails("still busy");
    session.cancels(&slow).is(200);
    listener.until_finish_of(&slow);

    let mut turn = session.begin_turn("slow");
    turn.wait_for_text("a");
    session
        .posts(&request_id(), user("hello"))
        .is(400)
        .says(ACTIVE);
    drop(turn);
    let request = until("the turn of the other route ends", || {
        let id = request_id();
        (session.posts(&id, user("hello")).status == 200).then_some(id)
    });
    assert_eq!(listener.until_finish_of(&request), "I heard: hello");
}

#[test]
fn bad_requests_are_refused() {
    let server = server();
    let session = server.session([]);
    let unknown = session.cancels(&request_id()).is(404);
    unknown
        .says("no such request")
        .never_says("Session not found");
    for id in [
        "",
        "1",
        "0190b5e27c4f7d2a9c3e1f2a3b4c5d6e",
        "../../etc",
        "\u{0}",
    ] {
        session.posts(id, user("hello")).is(400).says("UUID");
    }
    let path = format!("/sessions/{}/reply", session.id);
    server
        .post(&path, json!({"request_id": request_id()}))
        .is(422);
    server
        .post(&path, json!({"user_message": user("hello")}))
        .is(422);
    let cancel = format!("/sessions/{}/cancel", session.id);
    server.post(&cancel, json!({})).is(422);
    assert!(session.conversation().is_empty());
    for unknown in ["20990101_1", "no-such-session", "..%2F..", "%00"] {
        let unknown = format!("/sessions/{unknown}");
        let body = json!({"request_id": request_id(), "user_message": user("hello")});
        server
            .post(&format!("{unknown}/reply"), body.clone())
            .is(404);
        let refused = server.post(&format!("{unknown}/cancel"), body).is(404);
        refused.says("Session not found");
        server.get(&format!("{unknown}/events")).is(404);
    }
    for (method, route) in [("GET", "events"), ("POST", "reply"), ("POST", "cancel")] {
        let path = format!("/sessions/{}/{route}", session.id);
        server.ask(method, &path, None, None).is(401);
    }
}

#[test]
fn a_turn_lives_on_when_every_connection_is_gone() {
    let server = server();
    let session = server.session([]);
    let request = {
        let mut listener = session.listens();
        let request = session.asks_for("stream");
        listener.until_text("ab");
        request
    };
    until("the answer is stored", || {
        let stored = session.transcript();
        (stored.last()? == &format!("assistant: {LETTERS}")).then_some(())
    });
    assert_eq!(session.listens().until_finish_of(&request), LETTERS);
}

#[test]
fn a_server_that_stops_ends_turns_and_streams() {
    let record = Record::new();
    let server = server();
    let (calling, streaming, idle) = (
        server.session([never(&record)]),
        server.session([]),
        server.session([]),
    );
    let listeners = [calling.listens(), streaming.listens(), idle.listens()];
    calling.asks_for("call");
    streaming.asks_for("slow");
    record.wait_for_message("tools/call");
    let children = server.descendants();
    assert!(!children.is_empty());
    let begun = Instant::now();
    assert!(server.terminate().success());
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    until("no process is left", || {
        children.iter().all(|child| !child.is_alive()).then_some(())
    });
    for mut listener in listeners {
        while listener.next().is_some() {}
    }
}

#[test]
fn notifications_name_the_call_and_the_request() {
    let script = Script::new().tool("act", [Action::Progress(2, 20), Action::text("done")]);
    let server = server();
    let session = server.session([Extension::scripted("one", &script)]);
    let mut listener = session.listens();
    let request = session.asks_for("call");
    assert_eq!(listener.until_finish_of(&request), "It says done.");
    let frames = listener.until_end_of(&request);
    let told: Vec<_> = frames
        .iter()
        .filter(|frame| frame.kind() == "Notification")
        .collect();
    assert_eq!(told.len(), 2, "{frames:?}");
    for frame in told {
        assert_eq!(frame.event["request_id"], "c");
        assert_eq!(frame.event["message"]["method"], "notifications/progress");
    }
}

#[test]
fn the_mode_of_a_session_holds_from_its_next_turn_on_and_the_user_confirms() {
    let script = Script::new().tool("act", [Action::text("done")]);
    let server = server();
    let session = server.session([Extension::scripted("one", &script)]);
    let mut listener = session.listens();
    let update = |mode: &str| session.post("/agent/update_session", json!({"goose_mode": mode}));
    let first = session.asks_for("call");
    assert_eq!(listener.until_finish_of(&first), "It says done.");
    update("approve").is(200).says_nothing();
    assert_eq!(session.stored()["goose_mode"], "approve");
    let second = session.asks_for("call");
    let question = listener.until("a question", |frame| {
        let part = frame.parts().next()?;
        (part["type"] == "actionRequired").then(|| part["data"].clone())
    });
    assert_eq!(question["actionType"], "toolConfirmation");
    session.confirm(question["id"].as_str().expect("an id"), "allow_once");
    assert_eq!(listener.until_finish_of(&second), "It says done.");
    update("auto").is(200);
    session.post("/agent/update_session", json!({})).is(200);
    let third = session.asks_for("call");
    assert_eq!(listener.until_finish_of(&third), "It says done.");
    update("Approve").is(400).says("smart_approve");
    update("").is(400);
    session
        .post("/agent/update_session", json!({"goose_mode": 5}))
        .is(422);
    let unknown = json!({"session_id": "20990101_1", "goose_mode": "chat"});
    server.post("/agent/update_session", unknown).is(404);
    server
        .post("/agent/update_session", json!({"goose_mode": "chat"}))
        .is(422);
}

#[test]
fn the_response_to_an_elicitation_opens_no_request() {
    let record = Record::new();
    let form = json!({"message": "Which table?", "requestedSchema":
        {"type": "object", "properties": {"seats": {"type": "integer"}}}});
    let script = Script::new().recorded(&record.path()).tool(
        "act",
        [
            Action::AskWith("elicitation/create".to_owned(), form),
            Action::LastClientAnswer,
        ],
    );
    let server = server();
    let session = server.session([Extension::scripted("one", &script)]);
    let mut listener = session.listens();
    let request = session.asks_for("call");
    let question = listener.until("a question", |frame| {
        let part = frame.parts().next()?;
        (part["data"]["actionType"] == "elicitation").then(|| part["data"].clone())
    });
    let data = json!({"actionType": "elicitationResponse", "id": question["id"], "user_data": {"seats": 2}});
    let mut message = user("");
    message["content"] = json!([{"type": "actionRequired", "data": data}]);
    let response = request_id();
    let answer = session.posts(&response, message.clone()).is(200);
    answer.gives(json!({"request_id": response}));
    listener.until_finish_of(&request);
    // Nor does one that comes too late.
    session.posts(&request_id(), message).is(200);
    let last = session.asks_for("hello");
    listener.until_finish_of(&last);
    let own = [request, last];
    let strangers = listener.frames.iter().filter(|frame| {
        let id = frame.event["chat_request_id"].as_str();
        frame.id.is_some() && !own.iter().any(|own| id == Some(own))
    });
    let strangers: Vec<_> = strangers.collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}

#[test]
fn deleting_a_session_ends_its_turn_and_its_streams() {
    let server = server();
    let session = server.session([]);
    let mut listeners = [session.listens(), session.listens()];
    let request = session.asks_for("slow");
    for listener in &mut listeners {
        listener.until_text("a");
    }
    server.delete(&format!("/sessions/{}", session.id)).is(200);
    for mut listener in listeners {
        let frames = listener.until_end_of(&request);
        assert_eq!(frames.last().map(Frame::kind), Some("Error"));
        assert!(listener.next().is_none(), "the stream ends");
    }
    server
        .get(&format!("/sessions/{}/events", session.id))
        .is(404);
    session.cancels(&request).is(404);
}

#[test]
fn a_stopped_or_restarted_agent_ends_the_turn_and_keeps_the_stream() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    for restart in [false, true, true] {
        let request = session.asks_for("slow");
        listener.until("a text", |frame| {
            (frame.event["chat_request_id"] == request).then_some(())
        });
        if restart {
            drop(session.restart())
        } else {
            session.stop()
        }
        let frames = listener.until_end_of(&request);
        assert_eq!(frames.last().map(Frame::kind), Some("Error"));
        let next = session.asks_for("hello");
        assert_eq!(listener.until_finish_of(&next), "I heard: hello");
    }
}

#[test]
fn idle_listeners_cost_two_threads_each_and_nothing_when_they_are_gone() {
    let server = server();
    let session = server.session([]);
    let request = session.asks_for("hello");
    session.listens().until_finish_of(&request);
    let rest = server.at_rest();
    let before = server.memory("VmRSS");
    let listeners: Vec<_> = (0..200).map(|_| session.listens()).collect();
    let busy = server.census();
    assert!(
        busy.threads <= rest.threads + 2 * 200 + 4,
        "{busy:?} {rest:?}"
    );
    println!(
        "200 listeners: {} threads, {} KiB",
        busy.threads - rest.threads,
        server.memory("VmRSS").saturating_sub(before) / 1024
    );
    let request = session.asks_for("hello");
    for mut listener in listeners {
        assert_eq!(listener.until_finish_of(&request), "I heard: hello");
    }
    server.returns_to(rest);
}

#[test]
fn listeners_beyond_the_connections_of_the_server_do_not_lock_clients_out_for_ever() {
    let server = server();
    let session = server.session([]);
    let mut sockets: Vec<TcpStream> = Vec::new();
    for _ in 0..600 {
        sockets.push(session.opens_events_without_reading());
    }
    drop(sockets);
    until("the server answers again", || {
        let mut stream = TcpStream::connect(server.address()).ok()?;
        stream.set_read_timeout(Some(TEST_TIMEOUT)).ok()?;
        stream
            .write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    });
}

#[test]
fn reasoning_comes_as_thinking() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let request = session.asks_for("think");
    let part = listener.until("a thought", |frame| {
        let part = frame.parts().next()?.clone();
        (frame.event["message"]["role"] == "assistant").then_some(part)
    });
    let thought = json!({"type": "thinking", "thinking": "Hmm.", "signature": ""});
    assert_eq!(part, thought);
    assert_eq!(listener.until_finish_of(&request), "So.");
}

#[test]
fn a_request_may_replace_the_conversation() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let first = session.asks_for("hello");
    listener.until_finish_of(&first);
    let request = request_id();
    let body = json!({"request_id": request, "user_message": user("go on"),
        "override_conversation": [user("before"), assistant("yes")],
        "recipe_name": "r", "recipe_version": "1"});
    let path = format!("/sessions/{}/reply", session.id);
    server.post(&path, body).is(200);
    listener.until_finish_of(&request);
    assert_eq!(
        session.transcript(),
        [
            "user: before",
            "assistant: yes",
            "user: go on",
            "assistant: I heard: go on"
        ]
    );
}

#[test]
fn the_routes_that_a_desktop_asks_at_its_start_answer() {
    let server = server();
    let features = json!({"features": {"local-inference": false, "code-mode": false}});
    server
        .ask("GET", "/features", None, None)
        .is(200)
        .gives(features);
    let cleanup = "/config/providers/openai/cleanup";
    assert!(server.post(cleanup, json!({})).is(200).body.is_string());
    server
        .post("/config/providers/nobody/cleanup", json!({}))
        .is(400);
    server.ask("POST", cleanup, None, None).is(401);
    let known = json!({"provider": "openai", "model": "gpt-4o"});
    let info = server
        .post("/config/canonical-model-info", known)
        .is(200)
        .body;
    assert_eq!(info["source"], "canonical");
    let unknown = json!({"provider": "openai", "model": "no such model"});
    let info = server
        .post("/config/canonical-model-info", unknown)
        .is(200)
        .body;
    assert!(info["model_info"].is_null());
    let session = server.session([Extension::scripted("one", &Script::new())]);
    let result = session
        .call("one__echo", json!({"message": "hello"}))
        .is(200)
        .body;
    assert_eq!(
        (&result["isError"], &result["is_error"]),
        (&json!(false), &json!(false))
    );
    let commands = server
        .get("/config/slash_commands?working_dir=%2Ftmp")
        .is(200)
        .body;
    assert!(commands["commands"].is_array());
}

/// What Goose Desktop 1.29 does with a chat: it resumes, listens and posts the message in no fixed order, reads
/// until the end, and then reads the session.
#[test]
fn a_desktop_of_the_later_kind_chats() {
    let server = server();
    let session = server.session([]);
    let resume = json!({"load_model_and_extensions": true});
    let resumed = session.post("/agent/resume", resume).is(200).body;
    assert_eq!(resumed["session"]["id"], session.id);
    assert!(resumed["extension_results"].is_array());
    let request = session.asks_for("stream");
    let mut listener = session.listens();
    assert_eq!(listener.until_finish_of(&request), LETTERS);
    let stored = session.stored();
    let messages = stored["conversation"].as_array().expect("messages");
    assert_eq!(messages.len(), 2);
    let deltas = listener
        .frames
        .iter()
        .filter(|frame| frame.event["message"]["role"] == "assistant");
    let mut ids: Vec<_> = deltas.map(|frame| &frame.event["message"]["id"]).collect();
    ids.dedup();
    assert_eq!(
        ids,
        [&messages[1]["id"]],
        "deltas share the id of the stored message"
    );
}

#[test]
fn a_session_is_named_while_its_first_turn_runs() {
    let server = server();
    let session = server.session([]);
    let mut listener = session.listens();
    let request = session.asks_for("slow");
    until("the session has a name", || {
        (session.stored()["name"] == "slow").then_some(())
    });
    session.cancels(&request).is(200);
    let read = listener.until_finish_of(&request);
    assert!(read.len() < LETTERS.len(), "the turn was over: {read}");
}

/// A server in this process, with a short write timeout.
#[test]
fn a_listener_that_does_not_read_is_dropped_and_nothing_else_suffers() {
    let root = temp_dir();
    let script = root.path().join("script.json");
    let text = "{{last_user}}".repeat(20);
    let turns = json!({"repeat": true, "turns": [{"steps": [{"text": text, "chunks": 400}]}]});
    std::fs::write(&script, turns.to_string()).unwrap();
    let config = root.path().join("config");
    std::fs::create_dir(&config).unwrap();
    let settings = format!("GOOSE_SCRIPT: {}\n", script.display());
    std::fs::write(config.join("config.yaml"), settings).unwrap();
    let registry = Arc::new(Registry::new(
        Stores::new(&Paths::under(root.path())),
        gosling::parts::PARTS,
        true,
    ));
    let router = gosling::api::router(registry.clone());
    let access = AccessControl::new(Some(KEY.into()), Vec::new());
    let limits = Limits {
        write_timeout: Duration::from_secs(2),
        ..Limits::default()
    };
    let server = gosling::http::Server::bind(("127.0.0.1", 0), router, access, limits).unwrap();
    let address = server.local_addr();
    let session = registry
        .start(Start {
            working_dir: root.path().to_owned(),
            extension_overrides: Some(Vec::new()),
            ..Start::default()
        })
        .unwrap();
    let choice = ModelChoice {
        provider: "scripted".to_owned(),
        ..ModelChoice::default()
    };
    registry.models().choose(&session.id, choice).unwrap();
    let path = |route: &str| format!("/sessions/{}/{route}", session.id);
    let connect = || send(address, "GET", &path("events"), Some(KEY), None);
    let stuck = connect();
    let reading = connect();
    let bytes = 2 << 20;
    let request = request_id();
    let body = json!({"request_id": request, "user_message": user(&"y".repeat(bytes))}).to_string();
    post(address, &path("reply"), &body);
    let received = read_until_finish(reading);
    assert!(received > 20 * bytes, "{received}");
    // The stuck connection is dropped while nothing reads it.
    until("the log has no stuck listener", || {
        (threads("poller 127.0.0") == 0).then_some(())
    });
    let mut stuck = stuck;
    let mut rest = Vec::new();
    let _ = stuck.read_to_end(&mut rest);
    assert!(rest.len() < received, "{} of {received} bytes", rest.len());
    let next = request_id();
    let body = json!({"request_id": next, "user_message": user("z")}).to_string();
    let reading = connect();
    post(address, &path("reply"), &body);
    read_until_finish(reading);
    registry.close();
    server.stop(Duration::from_secs(1));
}

fn post(address: SocketAddr, path: &str, body: &str) {
    let mut stream = send(address, "POST", path, Some(KEY), Some(body));
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Reads the stream until a turn has finished; returns the number of bytes.
fn read_until_finish(mut stream: TcpStream) -> usize {
    let mut count = 0;
    let mut tail = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the stream ended after {count} bytes");
        count += n;
        tail.extend_from_slice(&buffer[..n]);
        let is_end = |part: &[u8]| part == b"\"type\":\"Finish\"";
        if tail.windows(15).any(is_end) {
            return count;
        }
        tail.drain(..tail.len().saturating_sub(15));
    }
}

/// The threads of this process whose names begin so.
fn threads(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        let task = task.ok()?.path().join("comm");
        std::fs::read_to_string(task).ok()
    });
    names.filter(|name| name.starts_with(prefix)).count()
}

#[test]
fn a_page_that_is_loaded_anew_gets_each_message_of_the_running_turn_once() {
    let record = Record::new();
    let server = server();
    let session = server.session([never(&record)]);
    session.say("hello").finishes();
    let shown = || {
        let body = json!({"session_id": session.id, "load_model_and_extensions": true});
        let resumed = server.post("/agent/resume", body).is(200).body;
        let messages = resumed["session"]["conversation"]
            .as_array()
            .unwrap()
            .clone();
        messages
            .iter()
            .map(support::turns::shown)
            .collect::<Vec<_>>()
    };
    let before = ["user: hello", "assistant: I heard: hello", "user: call"];
    let request = session.asks_for("call");
    until("the call", || record.all("tools/call").into_iter().next());
    assert_eq!(shown(), before);
    let mut page = session.listens();
    page.until_part("toolRequest");
    session.cancels(&request);
    page.until_end_of(&request);
    assert_eq!(shown()[3], "assistant: call c");
    // The events of a turn of the other route come to no other page.
    let mut turn = session.begin_turn("call");
    turn.calls();
    until("the call is stored", || {
        (shown().last()?.starts_with("assistant: call")).then_some(())
    });
    drop(turn);
}
