//! The end of a server whose turns may end first, and servers that share the numbers of sessions.

use crate::hosts::names_in;
use crate::listeners::activated;
use crate::manager::Manager;
use crate::support::client::{Answer, KEY};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server, gosling};
use crate::support::turns::user;
use crate::support::{temp_dir, until};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;

const UUID: &str = "00000000-0000-4000-8000-000000000001";

/// A server whose turns take two seconds, and have as many to end.
fn slow_server(seconds: &str) -> Server {
    let script = json!({"turns": [
        {"steps": [{"text": "one two three four five", "chunks": 20, "delay_ms": 100}]},
    ]});
    Server::scripted(script).env("GOOSE_DRAIN_SECONDS", seconds)
}

fn is_draining(server: &RunningServer) -> Option<()> {
    let ready = server.ask("GET", "/health/ready", None, None);
    (ready.status == 503).then_some(())
}

#[test]
fn turns_end_and_none_begins_before_the_server_stops() {
    let folder = temp_dir();
    let path = folder.path().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let server = slow_server("60").env("NOTIFY_SOCKET", path.to_str().unwrap());
    let server = server.start();
    manager.hears("READY=1");
    let (session, other) = (server.session([]), server.session([]));
    let mut turn = session.begin_turn("go");
    turn.wait_for_text("one");
    server.signal("TERM");
    until("it drains", || is_draining(&server));
    let told = manager.hears("STOPPING=1");
    assert!(
        told.contains("EXTEND_TIMEOUT_USEC=70000000\nSTATUS=1 turns end"),
        "{told}"
    );
    // Everything else is answered.
    server.get("/sessions").is(200);
    let body = json!({"session_id": other.id, "user_message": user("hi")});
    let refused = server.post("/reply", body).is(503);
    assert!(
        refused.head.contains("\r\nRetry-After: 1\r\n"),
        "{}",
        refused.head
    );
    let body = json!({"request_id": UUID, "user_message": user("hi")});
    let refused = server
        .post(&format!("/sessions/{}/reply", other.id), body)
        .is(503);
    assert!(
        refused.head.contains("\r\nRetry-After: 1\r\n"),
        "{}",
        refused.head
    );
    let health = server.get("/health").is(200).body;
    assert_eq!(health["status"], "stopping");
    assert_eq!(turn.rest().finishes().text(), "one two three four five");
    assert!(server.ended().success());
    let id = session.id.clone();
    let server = server.again();
    let messages = server.known(&id).conversation();
    let last = messages.last().unwrap().to_string();
    assert!(last.contains("one two three four five"), "{last}");
}

#[test]
fn turns_wait_for_the_end_of_a_server_whose_successor_has_its_socket() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = slow_server("60").passing(tcp.try_clone().unwrap());
    let server = activated(server, "1", "web").start_as(&["agent"]);
    let (session, other) = (server.session([]), server.session([]));
    let mut turn = session.begin_turn("go");
    turn.wait_for_text("one");
    server.signal("TERM");
    until("it drains", || is_draining(&server));
    let body = json!({"session_id": other.id, "user_message": user("hi")});
    let waiting = server.begin("/reply", body);
    waiting.set_nonblocking(true).unwrap();
    // Everything else is answered, and what waits is not.
    server.get("/sessions").is(200);
    let nothing = waiting.peek(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    turn.rest().finishes();
    waiting.set_nonblocking(false).unwrap();
    let refused = Answer::read("/reply".into(), waiting).is(503);
    assert!(refused.head.contains("\r\nRetry-After: 1\r\n"));
    // Sent again, it is for the successor: this server does not answer it.
    let address = server.address();
    let early = crate::support::client::send(address, "GET", "/sessions", Some(KEY), None);
    assert!(server.ended().success());
    let next = Server::new().passing(tcp.try_clone().unwrap());
    let next = activated(next, "1", "web").start_as(&["agent"]);
    let answer = Answer::read("/sessions".into(), early).is(200);
    assert_eq!(
        answer.body["sessions"],
        json!([]),
        "the successor has another root"
    );
    next.is_alive();
}

#[test]
fn answers_to_turns_that_run_wait_for_no_end() {
    let form = json!({"message": "Which table?", "requestedSchema":
        {"type": "object", "properties": {"seats": {"type": "integer"}}}});
    let asks = Script::new().tool(
        "act",
        [
            Action::AskWith("elicitation/create".to_owned(), form),
            Action::LastClientAnswer,
        ],
    );
    let steps = json!([{"call": {"name": "one__act"}}, {"text": "heard: {{last_result}}"}]);
    let script = json!({"repeat": true, "turns": [{"steps": steps}]});
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::scripted(script).env("GOOSE_DRAIN_SECONDS", "600");
    let server = server.passing(tcp.try_clone().unwrap());
    let server = activated(server, "1", "web").start_as(&["agent"]);
    let sessions = [(); 2].map(|()| server.session([Extension::scripted("one", &asks)]));
    let mut turns = sessions.each_ref().map(|it| it.begin_turn("go"));
    let questions = turns.each_mut().map(|turn| turn.elicits().0);
    server.signal("TERM");
    until("it drains", || is_draining(&server));
    // By both routes for messages of the user.
    let data = json!({"seats": 2});
    sessions[0].fills_in(&questions[0], data.clone());
    let data = json!({"actionType": "elicitationResponse", "id": questions[1], "user_data": data});
    let mut message = user("");
    message["content"] = json!([{"type": "actionRequired", "data": data}]);
    let body = json!({"request_id": UUID, "user_message": message});
    let path = format!("/sessions/{}/reply", sessions[1].id);
    server.post(&path, body).is(200);
    for turn in turns {
        let turn = turn.rest().finishes();
        assert!(turn.text().contains("seats"), "{}", turn.text());
    }
    assert!(server.ended().success());
}

#[test]
fn a_turn_that_takes_too_long_is_ended() {
    let server = slow_server("1").start();
    let session = server.session([]);
    let mut turn = session.begin_turn("go");
    turn.wait_for_text("one");
    server.signal("TERM");
    turn.rest();
    assert!(server.ended().success());
    server.logs("drained turns=1");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = temp_dir();
    let (file, socket) = (folder.path().join("port"), folder.path().join("s"));
    let place = format!("unix:{}", socket.display());
    let file = file.to_str().unwrap();
    let arguments = [
        "agent",
        "--port",
        "0",
        "--listen",
        &place,
        "--port-file",
        file,
    ];
    let server = slow_server("600").start_as(&arguments);
    let session = server.session([]);
    let mut turn = session.begin_turn("go");
    turn.wait_for_text("one");
    server.signal("TERM");
    until("it drains", || is_draining(&server));
    assert_eq!(names_in(folder.path()).len(), 2);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(143));
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn a_helper_of_a_turn_that_runs_may_still_begin_one() {
    let wait = json!({"command": "touch begun; sleep 1"});
    let script = json!({"turns": [
        {"when": {"user": "main task"}, "steps": [
            {"call": {"name": "developer__shell", "arguments": wait}},
            {"call": {"name": "subagent", "arguments": {"subrecipe": "scan"}}},
            {"text": "It says {{last_result}}"},
        ]},
        {"when": {"user": "Scan"}, "steps": [{"text": "nothing found"}]},
    ]});
    let server = Server::scripted(script).with_developer();
    let server = server.env("GOOSE_DRAIN_SECONDS", "60").start();
    let path = server.root().join("scan.yaml");
    fs::write(&path, "title: scan\ndescription: scans\nprompt: Scan\n").unwrap();
    let recipe = json!({
        "title": "main", "description": "does it", "prompt": "main task",
        "sub_recipes": [{"name": "scan", "path": path}],
    });
    let session = server.start(json!({"working_dir": server.work(), "recipe": recipe}));
    let turn = session.begin_turn("main task");
    until("the call runs", || {
        server.work().join("begun").exists().then_some(())
    });
    server.signal("TERM");
    let turn = turn.rest().finishes();
    assert!(
        turn.text().contains("It says nothing found"),
        "{}",
        turn.text()
    );
    assert!(server.ended().success());
}

#[test]
fn servers_that_share_sessions_give_no_number_twice() {
    let ids = |shard: &str| -> Vec<u64> {
        let server = Server::new().env("GOOSE_SHARD", shard).start();
        let number = |id: &str| id.split_once('_').unwrap().1.parse().unwrap();
        (0..4).map(|_| number(&server.session([]).id)).collect()
    };
    assert_eq!(ids("0/3"), [3, 6, 9, 12]);
    assert_eq!(ids("2/3"), [2, 5, 8, 11]);
    let folder = temp_dir();
    let mut command = gosling();
    command
        .env("GOOSE_PATH_ROOT", folder.path())
        .env("GOOSE_SHARD", "3/3");
    let output = command.arg("agent").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("the first of three is `0/3`"),
        "{told}"
    );
}
