//! WebSockets on the HTTP listener, and the Agent Client Protocol on `/acp`.
#![cfg(feature = "acp")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // Commands of a Unix shell are in some tests.

mod support;

use gosling::acp::web_socket;
use gosling::http::{Access, AccessControl, Limits, Router, Server as HttpServer};
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use support::client::KEY;
use support::process::{running, signal, unique_sleep};
use support::server::{RunningServer, Server};
use support::until;
use support::web_socket::{
    BINARY, CLOSE, PING, PONG, TEXT, WebSocketClient, handshake, masked, request, status,
};

/// [`KEY`] in a query.
const TOKEN: &str = "open%20sesame";

/// A server with a scripted model whose turns respond to words of the user.
fn server(turns: &[(&str, Value)]) -> RunningServer {
    let turns = turns
        .iter()
        .map(|(word, steps)| json!({"when": {"user": word}, "steps": steps}));
    let script = json!({"turns": turns.collect::<Value>(), "name": "A chat"});
    Server::scripted(script).with_developer().start()
}

fn shell(command: &str) -> Value {
    json!({"call": {"name": "developer__shell", "arguments": {"command": command}}})
}

fn connect(server: &RunningServer) -> WebSocketClient {
    let target = format!("/acp?token={TOKEN}");
    let mut client = WebSocketClient::connect(server.address(), &target, "");
    client.call("initialize", json!({"protocolVersion": 1}));
    client
}

fn new_session(client: &mut WebSocketClient, server: &RunningServer) -> String {
    let opened = client.call(
        "session/new",
        json!({"cwd": server.work(), "mcpServers": []}),
    );
    opened["sessionId"].as_str().unwrap().to_owned()
}

/// A server that sends every message back.
fn echo(limits: Limits) -> HttpServer {
    let router = Router::new().get("/", Access::Keyed, |request| {
        web_socket::accept(request, 1 << 20, |socket| {
            while let Some(message) = socket.receive() {
                if socket.sender().send(&message).is_err() {
                    break;
                }
            }
        })
    });
    HttpServer::bind("127.0.0.1:0", router, AccessControl::default(), limits).unwrap()
}

fn echo_client(server: &HttpServer) -> WebSocketClient {
    WebSocketClient::connect(server.local_addr(), "/", "")
}

#[test]
fn a_client_with_the_key_is_told_to_use_a_web_socket_and_others_get_401() {
    let server = server(&[]);
    let at = server.address();
    let key = format!("X-Secret-Key: {KEY}\r\n");
    assert_eq!(status(at, "GET /acp", &key), 406);
    assert_eq!(status(at, &format!("GET /acp?token={TOKEN}"), ""), 406);
    assert_eq!(status(at, &format!("HEAD /acp?token={TOKEN}"), ""), 406);
    assert_eq!(
        status(
            at,
            &format!("GET /acp?token={TOKEN}"),
            "Accept: text/event-stream\r\n"
        ),
        406
    );
    for wrong in [
        "GET /acp",
        "GET /acp?token=wrong",
        "GET /acp?token=",
        "GET /acp?secret=x",
    ] {
        assert_eq!(status(at, wrong, &handshake()), 401, "{wrong}");
    }
    let wrong = format!("X-Secret-Key: wrong\r\n{}", handshake());
    assert_eq!(status(at, &format!("GET /acp?token={TOKEN}"), &wrong), 401);
    assert_eq!(
        status(at, &format!("POST /acp?token={TOKEN}"), &handshake()),
        405
    );
    WebSocketClient::connect(at, "/acp", &key);
}

#[test]
fn a_handshake_is_complete_or_refused() {
    let server = server(&[]);
    let at = server.address();
    let line = format!("GET /acp?token={TOKEN}");
    let without = |field: &str| {
        let fields = handshake();
        let lines = fields.split_inclusive("\r\n");
        lines
            .filter(|line| !line.starts_with(field))
            .collect::<String>()
    };
    assert_eq!(status(at, &line, &without("Upgrade")), 406);
    // RFC 9110 §7.8.
    let old = format!("{line} HTTP/1.0");
    assert_eq!(status(at, &old, &handshake()), 406);
    assert_eq!(status(at, &line, &without("Connection")), 400);
    assert_eq!(status(at, &line, &without("Sec-WebSocket-Key")), 400);
    let (head, _) = request(at, &line, &without("Sec-WebSocket-Version"));
    assert!(head.starts_with("HTTP/1.1 426 ") && head.contains("Sec-WebSocket-Version: 13\r\n"));
    for key in [
        "",
        "dGhl",
        "not base64 at all!!!!!!!",
        "dGhlIHNhbXBsZSBub25jZSE=",
    ] {
        let fields = format!(
            "{}Sec-WebSocket-Key: {key}\r\n",
            without("Sec-WebSocket-Key")
        );
        assert_eq!(status(at, &line, &fields), 400, "{key}");
    }
    let twice = format!("{0}{0}", handshake());
    assert_eq!(status(at, &line, &twice), 400);
}

#[test]
fn pages_of_other_sites_open_no_web_socket() {
    let server = server(&[]);
    let target = format!("/acp?token={TOKEN}");
    for origin in [
        "http://localhost:5173",
        "http://127.0.0.1",
        "null",
        "file://",
    ] {
        let field = format!("Origin: {origin}\r\n");
        WebSocketClient::connect(server.address(), &target, &field);
    }
    for origin in [
        "https://evil.example",
        "http://10.0.0.1",
        "file:///x",
        "http://localhost.evil.example",
    ] {
        let fields = format!("{}Origin: {origin}\r\n", handshake());
        assert_eq!(
            status(server.address(), &format!("GET {target}"), &fields),
            403,
            "{origin}"
        );
    }
    let rebound = format!("{}Host: evil.example\r\n", handshake());
    assert_eq!(
        status(server.address(), &format!("GET {target}"), &rebound),
        400
    );
}

#[test]
fn a_session_is_used_over_a_web_socket_and_found_over_http() {
    let server = server(&[(
        "go",
        json!([shell("echo out"), {"text": "It says {{last_result}}"}]),
    )]);
    let mut client = connect(&server);
    let session = new_session(&mut client, &server);
    let turn = client.begin_prompt(&session, "go");
    assert_eq!(client.response(turn)["result"]["stopReason"], "end_turn");
    let said = client.update("agent_message_chunk");
    assert!(
        said["content"]["text"]
            .as_str()
            .unwrap()
            .contains("It says out")
    );
    let stored = server.get(&format!("/sessions/{session}")).is(200).body;
    assert_eq!(stored["message_count"], 4);
    // As Goose Desktop closes it.
    client.send(CLOSE, &[]);
    assert_eq!(client.closed(), 1000);
    let mut client = connect(&server);
    let cwd = server.work();
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    assert_eq!(client.update("user_message_chunk")["content"]["text"], "go");
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_client_that_is_gone_ends_its_turn_and_the_session_lives_on() {
    let sleep = unique_sleep();
    let server = server(&[
        ("wait", json!([shell(&format!("sleep {sleep}"))])),
        ("go", json!([{"text": "on"}])),
    ]);
    let mut client = connect(&server);
    let session = new_session(&mut client, &server);
    client.begin_prompt(&session, "wait");
    running(&sleep, 1);
    client.shut_down();
    running(&sleep, 0);
    let mut client = connect(&server);
    let response = until("the turn has ended", || {
        let turn = client.begin_prompt(&session, "go");
        let response = client.response(turn);
        response.get("error").is_none().then_some(response)
    });
    assert_eq!(response["result"]["stopReason"], "end_turn");
}

#[test]
fn of_two_connections_that_prompt_one_session_one_is_told() {
    let server = server(&[("wait", json!([{"text": "begun"}, {"wait_ms": 60_000}]))]);
    let (mut first, mut second) = (connect(&server), connect(&server));
    let session = new_session(&mut first, &server);
    let turn = first.begin_prompt(&session, "wait");
    first.update("agent_message_chunk");
    let refused = second.begin_prompt(&session, "wait");
    let refused = second.response(refused);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    first.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(first.response(turn)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_turn_whose_session_another_client_closes_or_deletes_counts_as_cancelled() {
    let server = server(&[
        ("wait", json!([{"text": "begun"}, {"wait_ms": 60_000}])),
        ("run", json!([{"text": "begun"}, shell("sleep 1000")])),
    ]);
    let (mut first, mut second) = (connect(&server), connect(&server));
    for method in ["session/close", "session/delete"] {
        for text in ["wait", "run"] {
            let session = new_session(&mut first, &server);
            let turn = first.begin_prompt(&session, text);
            first.update("agent_message_chunk");
            let ended = second.begin(method, json!({"sessionId": session}));
            assert!(second.response(ended)["error"].is_null());
            let outcome = first.response(turn);
            let stop = &outcome["result"]["stopReason"];
            assert_eq!(stop, "cancelled", "{method} {text}: {outcome}");
        }
    }
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn the_server_says_goodbye_when_it_stops_and_leaves_nothing() {
    let sleep = unique_sleep();
    let server = server(&[("wait", json!([shell(&format!("sleep {sleep}"))]))]);
    let mut client = connect(&server);
    let session = new_session(&mut client, &server);
    client.begin_prompt(&session, "wait");
    running(&sleep, 1);
    let begin = Instant::now();
    signal(server.pid(), "TERM");
    assert_eq!(client.closed(), 1001);
    running(&sleep, 0);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_message_that_is_not_text_or_not_allowed_closes_the_connection_alone() {
    let server = server(&[("go", json!([{"text": "ok"}]))]);
    let mut other = connect(&server);
    let long = vec![b' '; (16 << 20) + 1];
    let whole: Vec<(&str, Vec<u8>, u16)> = vec![
        ("a frame without a mask", b"\x81\x02{}".to_vec(), 1002),
        ("a reserved bit", masked(0xc1, b"{}"), 1002),
        ("a continuation of nothing", masked(0x80, b"{}"), 1002),
        ("a long ping", masked(PING, &long[..126]), 1002),
        ("text that is not UTF-8", masked(TEXT, b"\"\xff\""), 1007),
        ("a binary message", masked(BINARY, b"{}"), 1003),
        (
            "a message of more than 16 MiB",
            masked(TEXT, &long)[..1000].to_vec(),
            1009,
        ),
        (
            "a closing code that may not be sent",
            masked(CLOSE, b"\x03\xee"),
            1002,
        ),
    ];
    for (what, bytes, code) in whole {
        let mut client = connect(&server);
        client.stream.write_all(&bytes).unwrap();
        assert_eq!(client.closed(), code, "{what}");
    }
    // What is text, but no message, is answered.
    let mut client = connect(&server);
    client.send(TEXT, b"{not json");
    let answer = client.until(|message| message["error"]["code"] == -32700);
    assert_eq!(answer["id"], Value::Null);
    client.send(TEXT, &long[..long.len() - 1]);
    client.until(|message| message["error"]["code"] == -32700);
    let session = new_session(&mut other, &server);
    let turn = other.begin_prompt(&session, "go");
    assert_eq!(other.response(turn)["result"]["stopReason"], "end_turn");
}

#[test]
fn pings_are_answered_during_a_turn_and_fragments_joined() {
    let server = server(&[("wait", json!([{"text": "begun"}, {"wait_ms": 60_000}]))]);
    let mut client = connect(&server);
    let session = new_session(&mut client, &server);
    client.begin_prompt(&session, "wait");
    client.update("agent_message_chunk");
    client.send(PING, b"are you there");
    let pong = loop {
        let (first, payload) = client.frame().unwrap();
        if first == PONG {
            break payload;
        }
    };
    assert_eq!(pong, b"are you there");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    let cancel = cancel.to_string();
    let (start, end) = cancel.as_bytes().split_at(20);
    client.send(0x01, start);
    client.send(PING, b"");
    client.send(0x00, b"");
    client.send(0x80, end);
    let ended = client.until(|message| message["result"]["stopReason"].is_string());
    assert_eq!(ended["result"]["stopReason"], "cancelled");
}

#[test]
fn the_turn_of_a_client_that_does_not_read_waits_and_can_be_cancelled() {
    // More than the sockets and the queue take, in all.
    let text = "x".repeat(3 << 20);
    let server = server(&[
        (
            "flood",
            json!([{"text": text, "chunks": 64, "delay_ms": 2}]),
        ),
        ("go", json!([{"text": "ok"}])),
    ]);
    let mut client = connect(&server);
    let sessions: Vec<String> = (0..12).map(|_| new_session(&mut client, &server)).collect();
    for session in &sessions {
        client.begin_prompt(session, "flood");
    }
    let mut other = connect(&server);
    let mut is_busy = |session: &String| {
        let turn = other.begin_prompt(session, "go");
        let response = other.response(turn);
        if response["result"]["stopReason"] == "end_turn" {
            return false;
        }
        assert_eq!(response["error"]["code"], -32600, "{response}");
        true
    };
    // Those that are not busy have ended, or wait as others do.
    thread::sleep(Duration::from_millis(500));
    let waiting: Vec<&String> = sessions.iter().filter(|it| is_busy(it)).collect();
    assert!(!waiting.is_empty(), "no turn waits");
    for session in &waiting {
        client.notify("session/cancel", json!({"sessionId": session}));
    }
    for session in waiting {
        until("the turn ends", || (!is_busy(session)).then_some(()));
    }
}

#[test]
fn a_message_must_arrive_in_time() {
    let server = echo(Limits {
        body_timeout: Duration::from_millis(300),
        ..Limits::default()
    });
    let mut client = echo_client(&server);
    let frame = masked(TEXT, b"slow");
    let begin = Instant::now();
    let mut stream = client.stream.try_clone().unwrap();
    let sender = thread::spawn(move || {
        for byte in &frame[..frame.len() - 1] {
            if stream.write_all(&[*byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    assert_eq!(client.closed(), 1008);
    assert!(begin.elapsed() >= Duration::from_millis(300));
    sender.join().unwrap();
    // Control frames between fragments do not extend the time.
    let mut client = echo_client(&server);
    client.send(0x01, b"a");
    let mut stream = client.stream.try_clone().unwrap();
    let sender = thread::spawn(move || {
        while stream.write_all(&masked(PING, b"")).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(client.closed(), 1008);
    sender.join().unwrap();
}

#[test]
fn a_silent_client_is_asked_and_disconnected_and_one_that_answers_stays() {
    let server = echo(Limits {
        idle_timeout: Duration::from_millis(400),
        ..Limits::default()
    });
    let mut client = echo_client(&server);
    for _ in 0..3 {
        assert_eq!(client.frame().unwrap().0, PING);
    }
    assert_eq!(client.closed(), 1000);
    let mut client = echo_client(&server);
    for _ in 0..8 {
        assert_eq!(client.frame().unwrap().0, PING);
        client.send(PONG, b"");
    }
    client.send(TEXT, b"still here");
    assert_eq!(client.frame(), Some((TEXT, b"still here".to_vec())));
}

#[test]
fn a_client_that_never_reads_is_disconnected_when_a_write_takes_too_long() {
    let server = echo(Limits {
        write_timeout: Duration::from_millis(500),
        ..Limits::default()
    });
    let mut client = echo_client(&server);
    let message = masked(BINARY, &vec![7; 1 << 20]);
    let deadline = Instant::now() + support::TEST_TIMEOUT;
    while client.stream.write_all(&message).is_ok() {
        assert!(Instant::now() < deadline, "it is never disconnected");
    }
}

#[test]
fn messages_of_every_size_come_back_however_they_arrive() {
    let server = echo(Limits::default());
    let mut client = echo_client(&server);
    for length in [0, 1, 125, 126, 4095, 4096, 65_535, 65_536, 1 << 20] {
        let payload: Vec<u8> = (0..length).map(|n| (n * 31 % 251) as u8).collect();
        client.send(BINARY, &payload);
        assert!(client.frame() == Some((BINARY, payload)), "{length} bytes");
    }
    // Many messages in one segment.
    let many: Vec<u8> = (0..500)
        .flat_map(|n| masked(TEXT, n.to_string().as_bytes()))
        .collect();
    client.stream.write_all(&many).unwrap();
    for n in 0..500 {
        assert_eq!(client.frame(), Some((TEXT, n.to_string().into_bytes())));
    }
}

#[test]
fn what_a_client_sends_with_its_handshake_is_received() {
    let server = echo(Limits::default());
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", handshake())
        .replace("Host: x", "Host: localhost");
    let mut client = echo_client(&server);
    let mut stream = std::net::TcpStream::connect(server.local_addr()).unwrap();
    stream
        .set_read_timeout(Some(support::TEST_TIMEOUT))
        .unwrap();
    stream
        .write_all(&[head.as_bytes(), &masked(TEXT, b"early")].concat())
        .unwrap();
    client.stream = stream;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut client.stream, &mut byte).unwrap();
        head.push(byte[0]);
    }
    assert_eq!(client.frame(), Some((TEXT, b"early".to_vec())));
}

#[test]
fn sessions_of_many_threads_never_interleave_frames() {
    let (give, sender) = mpsc::channel();
    let give = std::sync::Mutex::new(give);
    let router = Router::new().get("/", Access::Keyed, move |request| {
        let give = give.lock().unwrap().clone();
        web_socket::accept(request, 1 << 20, move |socket| {
            give.send(socket.sender().clone()).unwrap();
            while socket.receive().is_some() {}
        })
    });
    let guard = AccessControl::default();
    let server = HttpServer::bind("127.0.0.1:0", router, guard, Limits::default()).unwrap();
    let at: SocketAddr = server.local_addr();
    let mut client = WebSocketClient::connect(at, "/", "");
    let sender = sender.recv().unwrap();
    thread::scope(|scope| {
        for thread in 0..4u8 {
            let sender = sender.clone();
            scope.spawn(move || {
                for n in 0..200 {
                    let text = vec![b'a' + thread; n * 100];
                    sender.send(&web_socket::Message::Text(text)).unwrap();
                }
            });
        }
        let mut lengths = [0; 4];
        let mut pongs = 0;
        for n in 0..50 {
            client.send(PING, &[n]);
        }
        while lengths != [200; 4] {
            let (first, payload) = client.frame().unwrap();
            match first {
                PONG => pongs += 1,
                _ => {
                    let thread = payload.first().map(|byte| usize::from(byte - b'a'));
                    if let Some(thread) = thread {
                        assert!(payload.iter().all(|byte| *byte == payload[0]));
                        assert_eq!(payload.len(), lengths[thread].max(1) * 100);
                        lengths[thread] = lengths[thread].max(1) + 1;
                    }
                }
            }
        }
        assert!(pongs > 0);
    });
}
