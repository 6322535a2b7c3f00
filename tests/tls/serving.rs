//! Requests, responses and event streams over TLS.

use crate::client::{client, fingerprint_of, pinned, pinned_with, tls_edge};
use crate::harness::{TEST_TIMEOUT, echo, get, limits};
use crate::relay::Relay;
use crate::support::server::{RunningServer, Server};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

/// A server with TLS whose model repeats this answer, behind a relay for the plain client of the tests.
fn scripted(answer: serde_json::Value) -> (RunningServer, Relay) {
    let script = json!({"turns": [{"steps": [answer]}], "repeat": true});
    let mut server = Server::scripted(script).start_as(&["agent", "--port", "0", "--tls"]);
    let file = server.root().join("state/tls/self-signed.pem");
    let relay = Relay::to_tls(server.address(), pinned(&fingerprint_of(&file)));
    server.connect_through(relay.address);
    (server, relay)
}

#[test]
fn both_versions_serve_requests_that_keep_the_connection() {
    let edge = tls_edge(limits());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = pinned_with(edge.fingerprint(), &[version]);
        let mut client = client(edge.address(), config);
        for _ in 0..3 {
            client.send(get("/hello/you"));
            assert_eq!(client.reply().text(), "hello, you");
        }
        let tls = client.stream.get_ref();
        assert_eq!(tls.conn.protocol_version(), Some(version.version));
    }
}

#[test]
fn requests_may_arrive_pipelined_or_byte_by_byte() {
    let edge = tls_edge(limits());
    let mut client = edge.says(get("/empty").repeat(20));
    for _ in 0..20 {
        assert_eq!(client.reply().status, 200);
    }
    for byte in get("/hello/you").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.reply().text(), "hello, you");
}

#[test]
fn the_key_is_required_as_without_tls() {
    let edge = tls_edge(limits());
    let mut client = edge.says("GET /empty HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.reply().status, 401);
}

#[test]
fn large_bodies_arrive_whole_in_both_directions() {
    let edge = tls_edge(limits());
    let body: String = (0..1 << 20)
        .map(|n| char::from(b'a' + (n % 23) as u8))
        .collect();
    let mut client = edge.says(echo("Content-Length: 1048576\r\n", &body));
    assert!(client.reply().body == body.as_bytes());
    let (half, other) = body.split_at(1 << 19);
    client.send(echo(
        "Transfer-Encoding: chunked\r\n",
        &format!("80000\r\n{half}\r\n80000\r\n{other}\r\n0\r\n\r\n"),
    ));
    assert!(client.reply().body == body.as_bytes());
    client.send(get("/big"));
    assert_eq!(client.reply().body, vec![b'x'; 8 << 20]);
}

#[test]
fn a_stream_arrives_whole() {
    let edge = tls_edge(limits());
    let mut client = edge.says(get("/stream"));
    client.reply_to_head();
    let (body, is_complete) = client.chunks();
    assert!(is_complete && body.len() == "begin  end".len() + (1 << 20));
}

#[test]
fn the_client_is_told_the_end_and_not_if_the_body_broke_off() {
    let edge = tls_edge(limits());
    let close = "GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut rest = Vec::new();
    let mut client = edge.says(close);
    // Fails if the connection ends without the notice.
    client.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"page"));
    for version in ["1.0", "1.1"] {
        let broken = get("/stream?breaks_off=1").replace("1.1", version);
        let mut client = edge.says(broken);
        let ended = client.stream.read_to_end(&mut rest);
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

#[test]
fn a_handler_learns_that_its_client_left_with_or_without_a_word() {
    let edge = tls_edge(limits());
    for goodbye in [true, false] {
        // A further request that the server has not read must not hide the end.
        let mut client = edge.says([get("/hang"), get("/empty")].concat());
        thread::sleep(Duration::from_millis(50));
        let tls = client.stream.get_mut();
        if goodbye {
            tls.conn.send_close_notify();
            tls.flush().unwrap();
        } else {
            tls.sock.shutdown(Shutdown::Both).unwrap();
        }
        edge.edge.left.recv_timeout(TEST_TIMEOUT).unwrap();
    }
}

#[test]
fn requests_run_beside_each_other() {
    let mut edge = tls_edge(limits());
    let mut waiting = edge.says(get("/wait"));
    edge.edge.until_waiting(1);
    edge.is_alive();
    drop(edge.edge.gate.take());
    assert_eq!(waiting.reply().text(), "waited");
}

#[test]
fn keys_of_the_session_may_be_renewed() {
    let edge = tls_edge(limits());
    let mut client = edge.connect();
    for _ in 0..5 {
        client.stream.get_mut().conn.refresh_traffic_keys().unwrap();
        client.send(get("/hello/you"));
        assert_eq!(client.reply().text(), "hello, you");
    }
}

#[test]
fn a_turn_streams_over_https() {
    let (server, _relay) = scripted(json!({"text": "One two three", "chunks": 4, "delay_ms": 5}));
    let session = server.session([]);
    for n in 1..=2 {
        let turn = session.say("count").finishes();
        assert_eq!(turn.text(), "One two three");
        assert_eq!(turn.events_of("Message").len(), 4);
        assert_eq!(session.conversation().len(), 2 * n);
    }
    // Two at a time.
    let other = server.session([]);
    let one = session.begin_turn("count");
    let two = other.begin_turn("count");
    assert_eq!(one.rest().finishes().text(), "One two three");
    assert_eq!(two.rest().finishes().text(), "One two three");
}

#[test]
fn hanging_up_cancels_the_turn() {
    let (server, _relay) = scripted(json!({"text": "abcdefghij", "chunks": 10, "delay_ms": 3000}));
    let session = server.session([]);
    let mut turn = session.begin_turn("stream");
    turn.wait_for_text("a");
    drop(turn);
    // It would take half a minute otherwise.
    crate::support::until("the turn has ended", || {
        let stored = session.transcript();
        (stored.len() == 2).then_some(())
    });
    let stored = session.transcript();
    assert!(stored[1].len() < "assistant: abcdef".len(), "{stored:?}");
}

#[cfg(feature = "acp")]
#[test]
fn a_web_socket_carries_both_directions_at_once() {
    use crate::support::client::KEY;
    use crate::support::web_socket::{PING, PONG, WebSocketClient};

    let (server, _relay) = scripted(json!({"text": "x".repeat(1 << 20), "chunks": 64}));
    let key = format!("X-Secret-Key: {KEY}\r\n");
    let mut client = WebSocketClient::connect(server.address(), "/acp", &key);
    client.call("initialize", json!({"protocolVersion": 1}));
    let cwd = server.work();
    let opened = client.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
    let turn = client.begin_prompt(opened["sessionId"].as_str().unwrap(), "go");
    for n in 0..100 {
        client.send(PING, &[n]);
    }
    let (mut text, mut last_pong) = (0, None);
    loop {
        let (first, payload) = client.frame().expect("the answer");
        if first == PONG {
            last_pong = payload.first().copied();
            continue;
        }
        let message: serde_json::Value = serde_json::from_slice(&payload).unwrap();
        if message["id"] == turn {
            assert_eq!(message["result"]["stopReason"], "end_turn");
            break;
        }
        let said = message["params"]["update"]["content"]["text"].as_str();
        text += said.map_or(0, str::len);
    }
    assert_eq!(text, 1 << 20);
    while last_pong != Some(99) {
        let (first, payload) = client.frame().expect("the last pong");
        if first == PONG {
            last_pong = payload.first().copied();
        }
    }
    client.send(0x88, &[]);
    assert_eq!(client.closed(), 1000);
}
