//! Calls through gosling that an HTTP server refuses or whose answer is lost: they are repeated only if that
//! does no harm, in the existing session.
#![cfg(feature = "streamable-http")]

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;
mod support;

use http_peer::{AfterReply, Peer, ReceivedRequest, accepted, answer, json, send};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::server::{Extension, RunningServer, Server};

type Spoil = fn(&ReceivedRequest, &mut TcpStream) -> AfterReply;

/// An MCP server with one tool with these annotations. The first `spoiled` calls of the tool fail.
fn peer(
    annotations: Value,
    spoiled: usize,
    spoil: impl Fn(&ReceivedRequest, &mut TcpStream) -> AfterReply + Send + Sync + 'static,
) -> Peer {
    let calls = AtomicUsize::new(0);
    Peer::new(move |seen, stream| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let result = match body["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "peer", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [
                {"name": "echo", "inputSchema": {"type": "object"}, "annotations": annotations},
            ]}),
            Some("tools/call") if calls.fetch_add(1, Ordering::SeqCst) < spoiled => {
                return spoil(seen, stream);
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": "done"}]}),
            _ if seen.method == "GET" => return answer(stream, "405 Method Not Allowed", ""),
            _ => return accepted(stream),
        };
        let text = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
        if body["method"] == "initialize" {
            answer(
                stream,
                "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s",
                &text,
            )
        } else {
            json(stream, &text)
        }
    })
}

fn count(peer: &Peer, method: &str) -> usize {
    let method = format!("\"{method}\"");
    let seen = peer.seen().into_iter();
    seen.filter(|seen| seen.body.contains(&method)).count()
}

fn at(peer: &Peer) -> Extension {
    Extension(json!({"type": "streamable_http", "name": "one", "uri": peer.url, "timeout": 20}))
}

fn server() -> RunningServer {
    Server::new().start()
}

/// Ways to lose an answer after the call has arrived.
const BREAKS: [Spoil; 6] = [
    |_, _| AfterReply::Close,
    |_, stream| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
        send(stream, head);
        AfterReply::Close
    },
    |_, stream| {
        answer(
            stream,
            "200 OK\r\nContent-Type: text/event-stream",
            ": bye\n\n",
        )
    },
    |_, stream| answer(stream, "502 Bad Gateway", ""),
    |_, stream| answer(stream, "503 Service Unavailable", ""),
    |_, stream| answer(stream, "504 Gateway Timeout", ""),
];

#[test]
fn a_call_that_broke_off_is_not_sent_again_and_may_have_had_an_effect() {
    let server = server();
    for spoil in BREAKS {
        let peer = peer(json!({}), 1, spoil);
        let session = server.session([at(&peer)]);
        let answer = session.call("one__echo", json!({})).is(500);
        let answer = answer
            .says("the call broke off")
            .says("it may have had an effect");
        drop(answer);
        assert_eq!(count(&peer, "tools/call"), 1);
        // The session is still usable.
        let answer = session.call("one__echo", json!({})).is(200);
        assert_eq!(answer.content(), "done");
        assert_eq!(count(&peer, "initialize"), 1);
        session.stop();
    }
    server.never_logs("extension restarted");
}

#[test]
fn a_call_that_does_no_harm_twice_is_sent_again_in_the_same_session() {
    let server = server();
    for hint in ["idempotentHint", "readOnlyHint"] {
        for spoil in BREAKS {
            let peer = peer(json!({hint: true}), 1, spoil);
            let session = server.session([at(&peer)]);
            let answer = session.call("one__echo", json!({})).is(200);
            assert_eq!(answer.content(), "done");
            assert_eq!(count(&peer, "tools/call"), 2);
            assert_eq!(count(&peer, "initialize"), 1);
            session.stop();
        }
    }
}

#[test]
fn it_is_sent_again_once() {
    let server = server();
    let peer = peer(json!({"readOnlyHint": true}), 9, BREAKS[1]);
    let session = server.session([at(&peer)]);
    session
        .call("one__echo", json!({}))
        .is(500)
        .says("in mid-answer");
    assert_eq!(count(&peer, "tools/call"), 2);
}

#[test]
fn a_server_that_failed_or_refused_is_not_asked_again() {
    let server = server();
    for (spoil, says) in [
        (
            (|_, stream| answer(stream, "500 Oops", "")) as Spoil,
            "its own log says why",
        ),
        (
            |_, stream| answer(stream, "415 No", ""),
            "it does not accept JSON",
        ),
        (
            |_, stream| answer(stream, "429 Busy", ""),
            "try again later",
        ),
    ] {
        let peer = peer(json!({"readOnlyHint": true}), 1, spoil);
        let session = server.session([at(&peer)]);
        session.call("one__echo", json!({})).is(500).says(says);
        assert_eq!(count(&peer, "tools/call"), 1);
        session.stop();
    }
}

#[test]
fn a_busy_server_gets_the_call_again_when_it_said() {
    let server = server();
    let peer = peer(json!({}), 2, |_, stream| {
        answer(stream, "429 Busy\r\nRetry-After: 1", "")
    });
    let session = server.session([at(&peer)]);
    let begin = Instant::now();
    let answer = session.call("one__echo", json!({})).is(200);
    assert_eq!(answer.content(), "done");
    assert!(
        begin.elapsed() >= Duration::from_millis(1900),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(count(&peer, "tools/call"), 3);
    assert_eq!(count(&peer, "initialize"), 1);
}

#[test]
fn a_busy_server_that_wants_more_time_than_there_is_is_an_error_at_once() {
    let server = server();
    for after in ["21", "99999999999", "Fri, 01 Jan 2100 00:00:00 GMT"] {
        let busy = peer(json!({}), 9, move |_, stream| {
            answer(stream, &format!("429 Busy\r\nRetry-After: {after}"), "")
        });
        let session = server.session([at(&busy)]);
        let begin = Instant::now();
        session
            .call("one__echo", json!({}))
            .is(500)
            .says("try again in ");
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(count(&busy, "tools/call"), 1);
        session.stop();
    }
}

#[test]
fn who_is_not_let_in_where_nobody_waits_is_said_once_in_the_log() {
    let peer = Peer::new(|seen, stream| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let result = match body["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "peer", "version": "1"},
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => return http_peer::wait_for_hangup(stream),
            Some("notifications/initialized") => return accepted(stream),
            _ => {
                let head = "401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"x\"";
                return answer(stream, head, "who are you");
            }
        };
        let text = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
        let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s";
        answer(stream, head, &text)
    });
    let server = server();
    let session = server.session([at(&peer).with("timeout", 1)]);
    server.logs("the standalone event stream was refused");
    // Each call that times out is cancelled with a notification.
    for _ in 0..3 {
        session.call("one__slow", json!({})).is(500);
    }
    peer.wait_for("cancellation", |seen| {
        seen.body.contains("notifications/cancelled")
    });
    server.logs("a message that needs no answer was refused");
    session.stop();
    server.logs("the end of the session was refused");
    let log = server.log();
    for what in [
        "standalone event stream",
        "a message that needs no answer",
        "end of the session",
    ] {
        let lines = log.lines().filter(|line| line.contains(what));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        for part in ["HTTP 401", "needs a sign-in", "\"one\"", "WARN"] {
            assert!(lines[0].contains(part), "{part}: {}", lines[0]);
        }
    }
    let gets = peer.seen().into_iter().filter(|seen| seen.method == "GET");
    assert_eq!(gets.count(), 1);
}
