//! A lost server is restarted on its next use, and a call that may have had an effect is not repeated.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;
mod support;

use http_peer::{AfterReply, Peer, ReceivedRequest, answer, json};
use serde_json::{Value, json};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::scripted::{Action, Script};
use support::server::{Extension, Record, RunningServer, Server, as_argument, scripted_mcp};
use support::{process, until};

/// A tool that ends the server on its first call, and reports that on the second.
fn once(record: &Record, annotations: Value) -> Extension {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
    let list = json!({"tools": [tool("odd"), tool("echo")]});
    let mark = record.path().with_extension("mark");
    let dying = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(list.clone())])
        .tool("odd", [Action::Err("ouch\n".into(), 1), Action::Exit(7)]);
    let sound = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(list)])
        .tool("odd", [Action::text("second time")]);
    first_then("one", &mark, &dying, &run(&sound))
}

/// The command that runs the script.
fn run(script: &Script) -> String {
    format!("exec '{}' '{}'", scripted_mcp(), as_argument(script))
}

/// Runs the script on the first start, and the command on later starts.
fn first_then(name: &str, mark: &Path, first: &Script, later: &str) -> Extension {
    let mark = mark.display();
    let command = format!(
        "if [ -e '{mark}' ]; then {later}; fi; touch '{mark}'; {}",
        run(first)
    );
    Extension::stdio(name, "sh", &["-c", &command])
}

fn pid(record: &Record, start: usize) -> u32 {
    record.starts()[start]["pid"].as_u64().unwrap() as u32
}

fn kill(server: &RunningServer, pid: u32) {
    process::signal(pid, "KILL");
    until("its end", || {
        let mut all = server.descendants().into_iter();
        (!all.any(|p| p.pid == pid)).then_some(())
    });
}

#[test]
fn one_that_was_killed_between_calls_is_started_again() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    session.echoes("one");
    kill(&server, pid(&record, 0));
    session.echoes("one");
    assert_eq!(record.starts().len(), 2);
    server.logs("extension restarted");
    // The listing finds a dead server, too.
    kill(&server, pid(&record, 1));
    until("its third start", || {
        let tools = session.tools();
        assert!(tools.contains(&"one__echo".to_owned()), "{tools:?}");
        (record.starts().len() == 3).then_some(())
    });
}

#[test]
fn calls_that_find_it_dead_together_start_it_once() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    kill(&server, pid(&record, 0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| session.echoes("one"));
        }
    });
    assert_eq!(record.starts().len(), 2);
}

#[test]
fn a_turn_hears_of_it() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let turns = json!({"repeat": true, "turns": [{"steps": [
        {"calls": [{"name": "one__echo", "arguments": {"message": "fine"}}]},
        {"text": "So: {{last_result}}"},
    ]}]});
    let server = Server::scripted(turns).start();
    let session = server.session([Extension::scripted("one", &script)]);
    kill(&server, pid(&record, 0));
    let turn = session.say("go").finishes().says("So: fine");
    let said = turn.notifications();
    assert_eq!(said.len(), 1, "{said:?}");
    let params = &said[0]["message"]["params"];
    assert_eq!(params["level"], "warning");
    assert_eq!(params["logger"], "gosling");
    assert_eq!(params["data"]["type"], "extension_restarted");
    assert_eq!(params["data"]["extension"], "one");
    let reason = params["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("the server process ended"), "{reason}");
    let turn = session.say("go").finishes();
    assert!(turn.notifications().is_empty(), "it is told once");
}

#[test]
fn another_configuration_wins_over_a_recovery() {
    let record = Record::new();
    let mark = record.path().with_extension("mark");
    let first = Script::new().tool("odd", [Action::Exit(7)]);
    let server = Server::new().start();
    let session = server.session([first_then("one", &mark, &first, "exec sleep 300")]);
    session.call("one__odd", json!({})).is(500);
    let _call = session.begin_call("one__echo", json!({}));
    let sleeping = || server.descendants().iter().any(|p| p.name() == "sleep");
    until("the recovery", || sleeping().then_some(()));
    session
        .add(Extension::scripted("one", &Script::new()))
        .is(200);
    assert!(!sleeping(), "what it had started is gone");
    session.echoes("one");
}

#[test]
fn a_plain_call_is_not_repeated() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([once(&record, json!({}))]);
    session
        .call("one__odd", json!({}))
        .is(500)
        .says("ouch")
        .says("may have had an effect")
        .says("starts the server again");
    assert_eq!(record.all("tools/call").len(), 1);
    session
        .call("one__odd", json!({}))
        .is(200)
        .says("second time");
    assert_eq!(record.starts().len(), 2);
}

#[test]
fn a_call_that_does_no_harm_twice_is_repeated() {
    for hint in ["readOnlyHint", "idempotentHint"] {
        let record = Record::new();
        let server = Server::new().start();
        let session = server.session([once(&record, json!({hint: true}))]);
        session
            .call("one__odd", json!({}))
            .is(200)
            .says("second time");
        assert_eq!(record.all("tools/call").len(), 2);
    }
}

#[test]
fn one_that_keeps_dying_is_left_dead_and_says_why() {
    let record = Record::new();
    let mark = record.path().with_extension("mark");
    let script = Script::new().tool("odd", [Action::Exit(7)]);
    let count = record.path().with_extension("count");
    let dies = format!(
        "echo x >> '{}'; echo 'no licence' >&2; exit 9",
        count.display()
    );
    let server = Server::new().start();
    let session = server.session([first_then("one", &mark, &script, &dies)]);
    session.call("one__odd", json!({})).is(500);
    for _ in 0..3 {
        session
            .call("one__echo", json!({}))
            .is(500)
            .says("no licence");
    }
    for _ in 0..2 {
        session
            .call("one__echo", json!({}))
            .is(500)
            .says("keeps dying")
            .says("exit status: 9")
            .says("no licence");
    }
    let starts = std::fs::read_to_string(count).unwrap();
    assert_eq!(starts.lines().count(), 3);
}

#[test]
fn a_tool_that_is_gone_afterwards_is_a_clear_error() {
    let record = Record::new();
    let mark = record.path().with_extension("mark");
    let first = Script::new().tool("odd", [Action::Exit(7)]);
    let server = Server::new().start();
    let session = server.session([first_then("one", &mark, &first, &run(&Script::new()))]);
    session.call("one__odd", json!({})).is(500);
    session.call("one__odd", json!({})).is(500).says("no tool");
    session.echoes("one");
}

#[test]
fn a_repeated_call_is_not_sent_to_a_server_that_came_back_without_the_tool() {
    let record = Record::new();
    let mark = record.path().with_extension("mark");
    let tool = json!({
        "name": "odd", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": true},
    });
    let first = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(json!({"tools": [tool]}))])
        .tool("odd", [Action::Exit(7)]);
    // It would still run the tool, although it does not list it any more.
    let later = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(json!({"tools": []}))])
        .tool("odd", [Action::text("withdrawn")]);
    let server = Server::new().start();
    let session = server.session([first_then("one", &mark, &first, &run(&later))]);
    session
        .call("one__odd", json!({}))
        .is(500)
        .says("was restarted and has no tool");
    assert_eq!(record.starts().len(), 2);
    assert_eq!(record.all("tools/call").len(), 1);
}

#[test]
fn stop_and_remove_end_a_recovery_and_what_it_started() {
    for stop in [true, false] {
        let record = Record::new();
        let mark = record.path().with_extension("mark");
        let first = Script::new().tool("odd", [Action::Exit(7)]);
        // Never answers `initialize`.
        let server = Server::new().start();
        let session = server.session([first_then("one", &mark, &first, "sleep 300 & sleep 300")]);
        session.call("one__odd", json!({})).is(500);
        let _call = session.begin_call("one__echo", json!({}));
        until("the recovery", || {
            let all = server.descendants();
            let sleeping = all.iter().filter(|p| p.name() == "sleep").count();
            (sleeping == 2).then_some(())
        });
        if stop {
            session.stop()
        } else {
            drop(session.remove("one").is(200))
        }
        let left: Vec<_> = server.descendants().into_iter().collect();
        let left: Vec<_> = left
            .iter()
            .filter(|p| p.name() != process::GUARDIAN)
            .collect();
        assert!(left.is_empty(), "{left:?}");
        server.is_alive();
    }
}

/// Answers like an MCP server, in the session of this name.
fn answer_as_mcp_server(
    seen: &ReceivedRequest,
    stream: &mut TcpStream,
    session: &str,
) -> AfterReply {
    http_peer::answer_as_mcp_server(seen, stream, Some(session), session)
}

fn over_http(url: &str) -> Extension {
    Extension(json!({"type": "streamable_http", "name": "one", "uri": url}))
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn a_session_that_the_server_forgot_is_begun_anew() {
    for (head, says) in [
        ("404 Not Found", "?"),
        ("410 Gone", "?"),
        (
            "400 Bad Request",
            "Bad Request: No valid session ID provided",
        ),
    ] {
        let sessions = AtomicUsize::new(0);
        let peer = Peer::new(move |seen, stream| {
            if seen.body.contains(r#""initialize""#) {
                sessions.fetch_add(1, Ordering::SeqCst);
            }
            let forgot =
                seen.body.contains("tools/call") && seen.header("mcp-session-id") == Some("s1");
            if forgot {
                answer(stream, head, says)
            } else {
                answer_as_mcp_server(
                    seen,
                    stream,
                    &format!("s{}", sessions.load(Ordering::SeqCst)),
                )
            }
        });
        let server = Server::new().start();
        let session = server.session([over_http(&peer.url)]);
        session.call("one__echo", json!({})).is(200).says("s2");
        let initialized = |seen: &&ReceivedRequest| seen.body.contains(r#""initialize""#);
        assert_eq!(peer.seen().iter().filter(initialized).count(), 2, "{head}");
    }
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn calls_that_find_themselves_forgotten_together_begin_one_session() {
    let sessions = AtomicUsize::new(0);
    let peer = Peer::new(move |seen, stream| {
        if seen.body.contains(r#""initialize""#) {
            sessions.fetch_add(1, Ordering::SeqCst);
        }
        let forgot =
            seen.body.contains("tools/call") && seen.header("mcp-session-id") == Some("s1");
        let now = format!("s{}", sessions.load(Ordering::SeqCst));
        if forgot {
            answer(stream, "404 Not Found", "?")
        } else {
            answer_as_mcp_server(seen, stream, &now)
        }
    });
    let server = Server::new().start();
    let session = server.session([over_http(&peer.url)]);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| session.call("one__echo", json!({})).is(200).says("s2"));
        }
    });
    let initialized = |seen: &&ReceivedRequest| seen.body.contains(r#""initialize""#);
    assert_eq!(peer.seen().iter().filter(initialized).count(), 2);
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn a_400_about_something_else_is_an_error() {
    let peer = Peer::new(|seen, stream| {
        if seen.body.contains("tools/call") {
            answer(stream, "400 Bad Request", "no such city")
        } else {
            answer_as_mcp_server(seen, stream, "s")
        }
    });
    let server = Server::new().start();
    let session = server.session([over_http(&peer.url)]);
    session
        .call("one__echo", json!({}))
        .is(500)
        .says("no such city");
    let calls = |seen: &&ReceivedRequest| seen.body.contains("tools/call");
    assert_eq!(peer.seen().iter().filter(calls).count(), 1);
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn an_address_that_refuses_is_tried_again_within_the_deadline() {
    let peer = Peer::new(|seen, stream| answer_as_mcp_server(seen, stream, "s"));
    let address = peer.url.trim_start_matches("http://").to_owned();
    let server = Server::new().start();
    let session = server.session([over_http(&peer.url).with("timeout", 20)]);
    session.call("one__echo", json!({})).is(200).says("s");
    drop(peer);
    until("nobody there", || TcpStream::connect(&address).err());
    let mut call = session.begin_call("one__echo", json!({}));
    thread::sleep(Duration::from_millis(500));
    let listener = TcpListener::bind(&address).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    while !String::from_utf8_lossy(&request).contains("tools/call") {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&request));
        request.extend_from_slice(&chunk[..read]);
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let body: Value = serde_json::from_str(&text[text.find("\r\n\r\n").unwrap() + 4..]).unwrap();
    let result = json!({"content": [{"type": "text", "text": "back"}]});
    json(
        &mut stream,
        &json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string(),
    );
    call.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut bytes = Vec::new();
    let _ = call.read_to_end(&mut bytes);
    let said = String::from_utf8_lossy(&bytes);
    assert!(said.contains("200 OK") && said.contains("back"), "{said}");
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn stopping_ends_the_attempts() {
    let peer = Peer::new(|seen, stream| answer_as_mcp_server(seen, stream, "s"));
    let server = Server::new().start();
    let session = server.session([over_http(&peer.url).with("timeout", 60)]);
    drop(peer);
    let mut call = session.begin_call("one__echo", json!({}));
    thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    session.stop();
    let mut head = [0; 12];
    call.read_exact(&mut head).unwrap();
    assert!(head.starts_with(b"HTTP/1.1 "), "{head:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn an_address_that_goes_on_refusing_is_an_error_at_the_deadline() {
    let peer = Peer::new(|seen, stream| answer_as_mcp_server(seen, stream, "s"));
    let server = Server::new().start();
    let session = server.session([over_http(&peer.url).with("timeout", 1)]);
    drop(peer);
    session.call("one__echo", json!({})).is(500).says("refused");
}
