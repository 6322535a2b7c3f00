//! The Streamable HTTP transport against a scripted server: what it sends and delivers, and that it ends in
//! time whatever the server does.

#[path = "support/http_client.rs"]
mod http_client;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;

use gosling::mcp::transport::http::{HttpOptions, HttpTransport};
use gosling::mcp::transport::{MessageHandler, Stream, Transport, TransportError};
use http_client::{Client, Log, answer_as_usual, event, result, threads, wait_until};
use http_peer::{
    AfterReply, Peer, TEST_TIMEOUT, accepted, answer, begin_events, chunk, json, send,
    wait_for_hangup,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_json_answer_is_delivered_and_the_request_is_as_it_should_be() {
    let peer = Peer::new(answer_as_usual);
    let client = Client::with(HttpOptions {
        headers: vec![("Authorization".into(), "Bearer abc".into())],
        ..HttpOptions::new("json", &peer.url)
    });
    assert_eq!(client.call(7, "initialize"), result(7));

    let seen = &peer.seen()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/"));
    assert_eq!(
        seen.body,
        r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#
    );
    for (name, value) in [
        ("accept", Some("application/json, text/event-stream")),
        ("content-type", Some("application/json")),
        ("authorization", Some("Bearer abc")),
        (
            "user-agent",
            Some(concat!("gosling/", env!("CARGO_PKG_VERSION"))),
        ),
        ("host", peer.url.strip_prefix("http://")),
        ("accept-encoding", None),
        ("mcp-session-id", None),
        ("mcp-protocol-version", None),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
    }
}

#[test]
fn an_event_stream_is_delivered_as_it_comes_however_it_is_cut() {
    for end in ["\n", "\r\n", "\r"] {
        let peer = Peer::new(move |seen, stream| {
            begin_events(stream);
            let text = format!(
                "\u{feff}: hello\n\nid: 1\ndata:\n\n{}event: other\ndata: no\n\n{}",
                event(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#),
                event(&result(seen.id())),
            );
            for c in text.replace('\n', end).chars() {
                chunk(stream, &c.to_string());
            }
            chunk(stream, "")
        });
        let client = Client::of(&peer, "sse");
        assert_eq!(client.call(1, "tools/call"), result(1));
        assert_eq!(
            client.log.messages(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#.to_owned(),
                result(1)
            ]
        );
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn session_and_version_are_sent_once_they_are_known_and_the_session_is_ended() {
    let peer = Peer::new(|seen, stream| {
        if seen.body.contains("\"initialize\"") {
            answer(
                stream,
                "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1",
                &result(0),
            )
        } else {
            answer_as_usual(seen, stream)
        }
    });
    let client = Client::of(&peer, "session");
    client.initialize();
    client.call(1, "tools/list");
    let get = peer.wait_for("GET", |seen| seen.method == "GET");
    assert_eq!(get.header("accept"), Some("text/event-stream"));
    client.transport.close();
    client.transport.close();

    let seen = peer.seen();
    assert_eq!(seen[0].header("mcp-session-id"), None);
    assert_eq!(seen[0].header("mcp-protocol-version"), None);
    for later in &seen[1..] {
        assert_eq!(later.header("mcp-session-id"), Some("s-1"), "{later:?}");
        assert_eq!(later.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    let deletes = seen.iter().filter(|seen| seen.method == "DELETE").count();
    assert_eq!(deletes, 1);
    wait_until("no thread left", || threads("mcp session") == 0);
    assert_eq!(
        client.transport.send(b"{}".to_vec(), None),
        Err(TransportError::Closed)
    );
}

#[test]
fn a_session_id_that_is_not_visible_ascii_is_an_error() {
    let peer = Peer::new(|_, stream| {
        let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a b";
        answer(stream, head, &result(0))
    });
    let client = Client::of(&peer, "badid");
    client.request(0, "initialize");
    assert!(client.log.failure(0).to_string().contains("visible ASCII"));
}

#[test]
fn a_server_that_repeats_a_secret_does_not_get_it_shown() {
    let peer = Peer::new(|seen, stream| {
        let given = seen.header("authorization").unwrap();
        let head = format!("401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"{given}\"");
        answer(stream, &head, &format!("bad key {given} for {}", seen.path))
    });
    let client = Client::with(HttpOptions {
        headers: vec![("Authorization".into(), "Bearer hunter2hunter2".into())],
        ..HttpOptions::new("echo", format!("{}/mcp?key=12345678", peer.url))
    });
    client.request(1, "ping");
    assert_eq!(
        client.log.failure(1).to_string(),
        "the server answered HTTP 401: the server needs a sign-in and refused the `Authorization` \
         header (Bearer, error \"Bearer [secret]\"); set one that it accepts in the \
         extension's `headers`; signing in by OAuth is not supported yet; it says: bad key Bearer \
         [secret] for /mcp?key=[secret]"
    );
}

#[test]
fn secrets_that_overlap_leave_nothing_of_each_other() {
    let peer = Peer::new(|_, stream| answer(stream, "403 Forbidden", "no: hunter2-and-3-more."));
    let headers = [("X-A", "hunter2-and"), ("X-B", "and-3-more")];
    let client = Client::with(HttpOptions {
        headers: headers.map(|(k, v)| (k.into(), v.into())).to_vec(),
        ..HttpOptions::new("overlap", peer.url.clone())
    });
    client.request(1, "ping");
    let error = client.log.failure(1).to_string();
    assert!(error.ends_with("it says: no: [secret]."), "{error}");
}

#[test]
fn a_long_explanation_is_shortened_and_one_without_end_is_cut_off() {
    let peer = Peer::new(|_, stream| {
        send(stream, "HTTP/1.1 503 Busy\r\n\r\n");
        while let AfterReply::Keep = send(stream, &"x".repeat(1000)) {}
        AfterReply::Close
    });
    let client = Client::of(&peer, "long");
    client.request(1, "ping");
    match client.log.failure(1) {
        TransportError::Status { code: 503, detail } => assert!(detail.chars().count() <= 520),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_response_to_the_request_is_delivered_whatever_the_status() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    let peer = Peer::new(|_, stream| answer(stream, "404 Not Found", body));
    let client = Client::of(&peer, "rpcerror");
    assert_eq!(client.call(1, "ping"), body);
    assert_eq!(client.log.failures(), 0);
}

#[test]
fn a_404_with_a_session_says_that_the_server_forgot_it() {
    let peer = Peer::new(|seen, stream| match seen.id().as_str() {
        "0" => answer(
            stream,
            "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s",
            &result(0),
        ),
        "null" => accepted(stream),
        id => answer(
            stream,
            "404 Not Found",
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32001,"message":"?"}}}}"#),
        ),
    });
    let client = Client::of(&peer, "forgot");
    client.initialize();
    client.request(1, "ping");
    let error = client.log.failure(1);
    assert!(matches!(
        error,
        TransportError::SessionExpired { code: 404, .. }
    ));
    assert!(error.to_string().contains("forgot the session"), "{error}");
}

#[test]
fn what_is_larger_than_allowed_is_cut_off() {
    let endless: [(&str, &str); 4] = [
        ("application/json", " "),
        ("text/event-stream", "data: x\n"),
        ("text/event-stream", "data: "),
        ("text/event-stream", ":"),
    ];
    for (kind, piece) in endless {
        let peer = Peer::new(move |_, stream| {
            send(
                stream,
                &format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n"),
            );
            while let AfterReply::Keep = send(stream, &piece.repeat(100)) {}
            AfterReply::Close
        });
        let client = Client::with(HttpOptions {
            max_message: 10_000,
            ..HttpOptions::new("large", &peer.url)
        });
        client.request(1, "ping");
        let expected = TransportError::TooLarge { limit: 10_000 };
        assert_eq!(client.log.failure(1), expected, "{kind} {piece}");
    }
}

#[test]
fn a_body_that_announces_too_much_is_not_read() {
    let peer = Peer::new(|_, stream| {
        send(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 30000000000\r\n\r\n",
        );
        wait_for_hangup(stream)
    });
    let client = Client::of(&peer, "announce");
    client.request(1, "ping");
    let error = client.log.failure(1);
    assert!(matches!(error, TransportError::TooLarge { .. }), "{error}");
}

#[test]
fn a_server_that_hangs_up_is_an_error_of_that_request_only() {
    let halves = [
        "",
        "HTTP/1.1 200 OK\r\nContent-Ty",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\"",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",",
        "SSH-2.0-OpenSSH\r\n",
    ];
    for half in halves {
        let peer = Peer::new(move |seen, stream| match seen.id().as_str() {
            "1" => {
                send(stream, half);
                AfterReply::Close
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "hangup");
        client.request(1, "tools/call");
        client.log.failure(1);
        assert_eq!(client.call(2, "ping"), result(2), "{half:?}");
    }
}

#[test]
fn nobody_there_is_an_error_that_names_the_origin() {
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let client = Client::with(HttpOptions::new("nobody", format!("{url}/secret")));
    client.request(1, "ping");
    let error = client.log.failure(1);
    assert!(matches!(error, TransportError::Refused(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("refused"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn forgetting_a_request_frees_its_thread_and_leaves_the_others_alone() {
    let go = Arc::new(Barrier::new(2));
    let gate = go.clone();
    let peer = Peer::new(move |seen, stream| match seen.id().as_str() {
        "1" => wait_for_hangup(stream),
        "2" => {
            begin_events(stream);
            chunk(stream, &event(r#"{"jsonrpc":"2.0","method":"x"}"#));
            wait_for_hangup(stream)
        }
        "3" => {
            gate.wait();
            json(stream, &result(3))
        }
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "forget");
    for id in [1, 2, 3] {
        client.request(id, "tools/call");
        peer.wait_for("request", |seen| seen.id() == id.to_string());
    }
    client.log.message("\"x\"");
    client.transport.abandon(1);
    client.transport.abandon(2);
    client.transport.abandon(99);
    wait_until("one thread left", || threads("mcp forget") <= 1);
    go.wait();
    assert_eq!(client.log.message("\"id\":3"), result(3));
    assert_eq!(client.log.failures(), 0);
    wait_until("no thread left", || threads("mcp forget") == 0);
}

#[test]
fn calls_at_the_same_time_may_be_answered_in_any_order() {
    const CALLS: i64 = 16;
    let turn = Arc::new((Mutex::new(CALLS), Condvar::new()));
    let peer = Peer::new(move |seen, stream| {
        let id: i64 = seen.id().parse().unwrap();
        let (next, changed) = &*turn;
        let mut next = next.lock().unwrap();
        while *next != id {
            next = changed.wait(next).unwrap();
        }
        let then = json(stream, &result(id));
        *next -= 1;
        changed.notify_all();
        then
    });
    let client = Client::of(&peer, "order");
    for id in 1..=CALLS {
        client.request(id, "tools/call");
    }
    for id in 1..=CALLS {
        client.log.message(&format!("\"id\":{id},"));
    }
    assert_eq!(client.log.messages().len(), CALLS as usize);
    wait_until("no thread left", || threads("mcp order") == 0);
}

#[test]
fn closing_ends_open_streams_and_reports_what_was_under_way() {
    let peer = Peer::new(
        |seen, stream| match (seen.method.as_str(), seen.id().as_str()) {
            ("GET", _) | ("POST", "1") => {
                begin_events(stream);
                wait_for_hangup(stream)
            }
            ("POST", "2") => wait_for_hangup(stream),
            _ => answer_as_usual(seen, stream),
        },
    );
    let client = Client::of(&peer, "closing");
    client.initialize();
    client.request(1, "tools/call");
    client.request(2, "tools/call");
    peer.wait_for("GET", |seen| seen.method == "GET");
    peer.wait_for("second call", |seen| seen.id() == "2");
    let before = Instant::now();
    client.transport.close();
    assert!(before.elapsed() < TEST_TIMEOUT / 2);
    wait_until("no thread left", || threads("mcp closing") == 0);
    assert_eq!(client.log.failure(1), TransportError::Closed);
    assert_eq!(client.log.failure(2), TransportError::Closed);
}

#[test]
fn closing_does_not_wait_for_a_server_that_is_silent_about_it() {
    let peer = Peer::new(|seen, stream| match seen.method.as_str() {
        "DELETE" => wait_for_hangup(stream),
        "GET" => answer(stream, "405 Method Not Allowed", ""),
        _ => answer(
            stream,
            "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s",
            &result(0),
        ),
    });
    let client = Client::of(&peer, "silent");
    client.call(0, "initialize");
    let before = Instant::now();
    drop(client.transport);
    assert!(before.elapsed() < TEST_TIMEOUT / 2);
    wait_until("no thread left", || threads("mcp silent") == 0);
}

#[test]
fn what_was_cancelled_is_still_said_before_closing() {
    let peer = Peer::new(|seen, stream| match seen.id().as_str() {
        "1" => wait_for_hangup(stream),
        _ if seen.body.contains("slow") => {
            thread::sleep(Duration::from_millis(50));
            accepted(stream)
        }
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "lastword");
    client.request(1, "tools/call");
    peer.wait_for("call", |seen| seen.id() == "1");
    client.notify("slow");
    client.transport.abandon(1);
    client.notify("cancelled");
    client.transport.close();
    let said = peer.seen();
    assert!(said.iter().any(|seen| seen.body.contains("cancelled")));
    wait_until("no thread left", || threads("mcp lastword") == 0);
}

#[test]
fn a_receiver_may_close_from_within() {
    struct Closer(Mutex<Option<Arc<HttpTransport>>>, Condvar);
    impl MessageHandler for Closer {
        fn message(&self, _: &[u8], _: Stream) {
            let transport = self.0.lock().unwrap().take();
            transport.unwrap().close();
            self.1.notify_all();
        }
        fn failed(&self, _: i64, _: TransportError) {}
        fn closed(&self, _: TransportError) {}
    }
    let peer = Peer::new(answer_as_usual);
    let options = HttpOptions::new("within", &peer.url);
    let transport = Arc::new(HttpTransport::new(options).unwrap());
    let closer = Arc::new(Closer(Mutex::new(Some(transport.clone())), Condvar::new()));
    transport.start(closer.clone()).unwrap();
    let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    transport.send(message.to_vec(), Some(1)).unwrap();
    wait_until("no thread left", || {
        closer.0.lock().unwrap().is_none() && threads("mcp within") == 0
    });
}

#[test]
fn connections_are_used_again() {
    let peer = Peer::new(|seen, stream| match seen.id().as_str() {
        "null" => accepted(stream),
        // One as JSON, one as events, one with an error.
        id => match id.parse::<i64>().unwrap() % 3 {
            0 => json(stream, &result(id)),
            1 => {
                begin_events(stream);
                chunk(stream, &event(&result(id)));
                chunk(stream, "")
            }
            _ => answer(stream, "500 Oops", &result(id)),
        },
    });
    let client = Client::of(&peer, "again");
    for id in 1..=30 {
        client.call(id, "tools/call");
        client.notify("cancelled");
        wait_until("all threads done", || threads("mcp again") == 0);
    }
    assert_eq!(peer.seen().iter().filter(|s| s.id() != "null").count(), 30);
    assert!(peer.connections() <= 8, "{}", peer.connections());
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_is_replaced_unless_a_tool_might_run_twice() {
    let peer = Peer::new(|seen, stream| match seen.nth {
        1 => answer_as_usual(seen, stream),
        _ => AfterReply::Close,
    });
    let client = Client::of(&peer, "stale");
    let settled = || wait_until("thread done", || threads("mcp stale") == 0);
    client.call(1, "ping");
    settled();
    assert_eq!(client.call(2, "tools/list"), result(2));
    settled();
    client.request(3, "tools/call");
    client.log.failure(3);
    let calls = peer.seen().into_iter().filter(|seen| seen.id() == "3");
    assert_eq!(calls.count(), 1);
}

#[test]
fn an_answer_on_a_stream_that_stays_open_does_not_hold_its_thread() {
    let peer = Peer::new(|seen, stream| {
        begin_events(stream);
        chunk(stream, &event(&result(seen.id())));
        wait_for_hangup(stream)
    });
    let client = Client::of(&peer, "lingers");
    client.call(1, "ping");
    wait_until("no thread left", || threads("mcp lingers") == 0);
    assert_eq!(client.log.failures(), 0);
}

#[test]
fn requests_wait_until_the_server_has_accepted_that_the_client_is_ready() {
    let ready = AtomicBool::new(false);
    let peer = Peer::new(move |seen, stream| {
        if seen.body.contains("initialized") {
            thread::sleep(Duration::from_millis(200));
            ready.store(true, Ordering::SeqCst);
            return accepted(stream);
        }
        if seen.id() == "1" && !ready.load(Ordering::SeqCst) {
            answer(stream, "400 Bad Request", "too early")
        } else {
            answer_as_usual(seen, stream)
        }
    });
    let client = Client::of(&peer, "ready");
    client.initialize();
    client.request(1, "tools/list");
    client.request(2, "tools/list");
    client.log.message("\"id\":1");
    client.log.message("\"id\":2");
    assert_eq!(client.log.failures(), 0);
    let order: Vec<String> = peer
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| seen.body)
        .collect();
    assert!(order[1].contains("initialized"), "{order:?}");
}

#[test]
fn what_needs_no_answer_goes_out_in_order_and_after_the_requests_before_it() {
    let peer = Peer::new(|seen, stream| match seen.id().as_str() {
        "null" => accepted(stream),
        _ => wait_for_hangup(stream),
    });
    let client = Client::of(&peer, "inorder");
    for round in 0..20 {
        client.request(round, "tools/call");
        client.notify(&format!("cancelled{round}"));
        client.notify(&format!("after{round}"));
        let last = format!("after{round}\"");
        peer.wait_for("last of the round", |seen| seen.body.contains(&last));
        client.transport.abandon(round);
    }
    let position = |part: String| {
        let seen = peer.seen();
        seen.iter().position(|seen| seen.body.contains(&part))
    };
    for round in 0..20 {
        let cancelled = position(format!("cancelled{round}\""));
        assert!(cancelled < position(format!("after{round}\"")), "{round}");
    }
}

#[test]
fn a_handler_that_panics_fails_the_request_of_its_message() {
    struct Panics(Log);
    impl MessageHandler for Panics {
        fn message(&self, _: &[u8], _: Stream) {
            panic!("a message");
        }
        fn failed(&self, request: i64, error: TransportError) {
            self.0.failed(request, error);
        }
        fn closed(&self, error: TransportError) {
            self.0.closed(error);
        }
    }
    let peer = Peer::new(answer_as_usual);
    let transport = HttpTransport::new(HttpOptions::new("panics", &peer.url)).unwrap();
    let handler = Arc::new(Panics(Log::default()));
    transport.start(handler.clone()).unwrap();
    let message = r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#;
    transport.send(message.into(), Some(7)).unwrap();
    let failure = handler.0.failure(7);
    assert_eq!(
        failure,
        TransportError::ResponseLost("a message".to_owned())
    );
    transport.close();
}
