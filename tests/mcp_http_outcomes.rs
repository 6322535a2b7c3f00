//! Every kind of answer of a Streamable HTTP server, and every way to lose an answer, against a scripted
//! server.

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_client.rs"]
mod http_client;
#[allow(dead_code)]
#[path = "support/http_peer.rs"]
mod http_peer;

use gosling::mcp::transport::http::HttpOptions;
use gosling::mcp::transport::{Transport, TransportError};
use http_client::{Client, answer_as_usual, event, result, threads, wait_until};
use http_peer::{AfterReply, Peer, answer, begin_events, chunk, json, send, wait_for_hangup};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

#[test]
fn each_unexpected_answer_has_an_error_that_says_what_to_do() {
    let cases: [(&str, &str, &str); 29] = [
        (
            "404 Not Found",
            "nope",
            "HTTP 404: no MCP server is at this path; check the uri: nope",
        ),
        (
            "401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://a.b/c\"",
            r#"{"error":"invalid_token","error_description":"expired"}"#,
            "HTTP 401: the server needs a sign-in (Bearer, resource_metadata https://a.b/c); set a \
             header such as `Authorization: Bearer …` in the extension's `headers`; signing in by \
             OAuth is not supported yet; it says: expired",
        ),
        (
            "403 Forbidden",
            "",
            "HTTP 403: the server needs a sign-in, or denies access to this client; set a header",
        ),
        (
            "302 Found\r\nLocation: https://other.example:8443/x?token=1",
            "",
            "HTTP 302: it redirects to https://other.example:8443, which is not followed",
        ),
        (
            "301 Moved Permanently\r\nLocation: /mcp/",
            "",
            "HTTP 301: it redirects to another path of http://127.0.0.1",
        ),
        (
            "303 See Other\r\nLocation: /mcp/",
            "",
            "HTTP 303: it redirects to another path of http://127.0.0.1",
        ),
        (
            "307 Temporary Redirect\r\nLocation: https://127.0.0.1/mcp",
            "",
            "HTTP 307: it redirects to https://127.0.0.1, which is not followed; set the uri",
        ),
        (
            "308 Permanent Redirect",
            "",
            "HTTP 308: it redirects to nowhere",
        ),
        (
            "500 Internal Server Error",
            "\u{1b}[31mboom\r\n",
            "HTTP 500: it failed; its own log says why: \\u{1b}[31mboom",
        ),
        (
            "400 Bad Request\r\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session"}}"#,
            "that speaks Streamable HTTP: No valid session",
        ),
        (
            "405 Method Not Allowed",
            "",
            "HTTP 405: it does not accept messages at this path; check the uri",
        ),
        (
            "406 Not Acceptable",
            "",
            "HTTP 406: it can answer neither in JSON nor with an event stream",
        ),
        (
            "410 Gone",
            "moved",
            "HTTP 410: the server at this path is gone; ask its operator for the new uri: moved",
        ),
        (
            "415 Unsupported Media Type",
            "",
            "HTTP 415: it does not accept JSON",
        ),
        (
            "413 Too Large",
            "",
            "HTTP 413: the message is too large for it; send less",
        ),
        (
            "429 Too Many Requests",
            "slow",
            "HTTP 429: it has had too many requests; try again later: slow",
        ),
        (
            "429 Too Many Requests\r\nRetry-After: 99999999999",
            "",
            "HTTP 429: it has had too many requests; try again in 86400 s",
        ),
        (
            "501 Not Implemented",
            "",
            "HTTP 501: it does not know this kind of request; check the uri",
        ),
        (
            "502 Bad Gateway",
            "<html>",
            "HTTP 502: the MCP server behind this address sends no proper answer; check that it is running: <html>",
        ),
        (
            "503 Service Unavailable",
            "",
            "HTTP 503: it is not available at the moment; try again later",
        ),
        (
            "504 Gateway Timeout",
            "",
            "HTTP 504: the MCP server behind this address did not answer in time",
        ),
        ("418 I'm a teapot", "", "the server answered HTTP 418"),
        ("202 Accepted", "", "sent no answer"),
        ("204 No Content", "", "sent no answer"),
        (
            "200 OK\r\nContent-Type: text/html",
            "<html>",
            "text/html, neither JSON nor an event stream",
        ),
        (
            "200 OK\r\nContent-Type: application/json",
            "garbage",
            "not JSON-RPC: garbage",
        ),
        (
            "200 OK\r\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            "does not answer the request",
        ),
        (
            "200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip",
            "x",
            "compressed",
        ),
        (
            "200 OK\r\nContent-Type: text/event-stream",
            ": nothing\n\n",
            "ended its event stream without an answer",
        ),
    ];
    for (head, body, expected) in cases {
        let peer = Peer::new(move |_, stream| answer(stream, head, body));
        let client = Client::with(HttpOptions {
            headers: vec![("X-Key".into(), "hunter2".into())],
            ..HttpOptions::new("status", format!("{}/mcp?key=hunter2", peer.url))
        });
        client.request(1, "ping");
        let error = client.log.failure(1).to_string();
        assert!(error.contains(expected), "{head}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn each_way_to_refuse_has_an_error_of_its_own_kind() {
    let kind = |head: &'static str| {
        let peer = Peer::new(move |_, stream| answer(stream, head, ""));
        let client = Client::of(&peer, "kind");
        client.request(1, "tools/call");
        client.log.failure(1)
    };
    for code in [
        "400", "404", "405", "406", "410", "415", "500", "501", "502", "503", "504",
    ] {
        let error = kind(Box::leak(format!("{code} Reason").into_boxed_str()));
        let expected: u16 = code.parse().unwrap();
        assert!(
            matches!(error, TransportError::Status { code, .. } if code == expected),
            "{error:?}"
        );
    }
    for head in ["401 No", "403 No"] {
        assert!(matches!(kind(head), TransportError::Denied(_)), "{head}");
    }
    let after = |head| match kind(head) {
        TransportError::TooManyRequests { after, .. } => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(after("429 Busy"), None);
    let asked = after("429 Busy\r\nRetry-After: 7");
    assert_eq!(asked, Some(Duration::from_secs(7)));
    assert_eq!(after("429 Busy\r\nRetry-After: soon"), None);
}

#[test]
fn a_429_is_told_as_such_even_if_its_body_is_an_error_response() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"slow down"}}"#;
    let peer = Peer::new(move |_, stream| answer(stream, "429 Busy\r\nRetry-After: 1", body));
    let client = Client::of(&peer, "busy");
    client.request(1, "tools/call");
    let error = client.log.failure(1).to_string();
    assert!(error.ends_with("try again in 1 s: slow down"), "{error}");
    assert_eq!(client.log.messages().len(), 0);
}

#[test]
fn any_success_will_do_for_what_needs_no_answer() {
    for (head, body) in [
        ("200 OK\r\nContent-Type: text/html", "<html>"),
        ("200 OK\r\nContent-Type: application/json", r#"{"ok":true}"#),
        (
            "200 OK\r\nContent-Type: application/json",
            r#"{"jsonrpc":"2.0","result":{}}"#,
        ),
        ("200 OK\r\nContent-Type: application/json", "null"),
        ("200 OK", ""),
        ("202 Accepted", "Accepted"),
        ("204 No Content", ""),
    ] {
        let peer = Peer::new(move |seen, stream| match seen.id().as_str() {
            "null" if head.starts_with("204") => send(stream, "HTTP/1.1 204 No Content\r\n\r\n"),
            "null" if seen.method == "POST" => answer(stream, head, body),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "success");
        client.initialize();
        assert_eq!(client.call(1, "ping"), result(1), "{head}");
        assert_eq!(client.log.messages().len(), 2, "{head}");
        assert_eq!(client.log.failures(), 0, "{head}");
    }
}

#[test]
fn a_media_type_is_read_whatever_its_case_and_parameters() {
    for kind in [
        "APPLICATION/JSON;Charset=UTF-8",
        "application/json ; x=\"y\"",
        "Text/Event-Stream; charset=utf-8",
        "text/event-stream;charset=\"utf-8\"",
    ] {
        let peer = Peer::new(move |seen, stream| {
            let head = format!("200 OK\r\nCONTENT-TYPE:{kind}");
            if kind.to_ascii_lowercase().contains("json") {
                answer(stream, &head, &result(seen.id()))
            } else {
                answer(stream, &head, &event(&result(seen.id())))
            }
        });
        let client = Client::of(&peer, "kinds");
        assert_eq!(client.call(1, "ping"), result(1), "{kind}");
    }
}

#[test]
fn what_is_compressed_is_not_shown_and_not_listened_to() {
    let peer = Peer::new(|seen, stream| match seen.method.as_str() {
        "GET" => {
            let head = "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip";
            answer(stream, head, "\u{1f}garbage")
        }
        _ if seen.id() == "1" => {
            let head = "500 Oops\r\nContent-Encoding: gzip";
            answer(stream, head, "\u{1f}garbage")
        }
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "gzip");
    client.initialize();
    peer.wait_for("GET", |seen| seen.method == "GET");
    client.request(1, "ping");
    let error = client.log.failure(1).to_string();
    assert!(error.ends_with("its own log says why"), "{error}");
    wait_until("no thread left", || threads("mcp gzip") == 0);
    let gets = peer.seen().into_iter().filter(|seen| seen.method == "GET");
    assert_eq!(gets.count(), 1);
}

#[test]
fn a_redirect_on_the_same_server_is_followed_with_all_that_was_sent() {
    for (status, location) in [
        ("307 Temporary Redirect", "/mcp/?x=1"),
        ("308 Permanent Redirect", "mcp/?x=1"),
    ] {
        let peer = Peer::new(move |seen, stream| match seen.path.as_str() {
            "/mcp" => answer(
                stream,
                &format!("{status}\r\nLocation: {location}"),
                "moved",
            ),
            "/mcp/?x=1" if seen.id() == "0" => {
                let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1";
                answer(stream, head, &result(0))
            }
            "/mcp/?x=1" => answer_as_usual(seen, stream),
            _ => answer(stream, "404 Not Found", ""),
        });
        let client = Client::with(HttpOptions {
            headers: vec![("Authorization".into(), "Bearer abc".into())],
            ..HttpOptions::new("redirect", format!("{}/mcp", peer.url))
        });
        client.initialize();
        assert_eq!(client.call(1, "tools/call"), result(1));
        let get = |path: &str| {
            let path = path.to_owned();
            peer.wait_for("GET", move |seen| seen.method == "GET" && seen.path == path)
        };
        get("/mcp");
        get("/mcp/?x=1");
        client.transport.close();
        let seen = peer.seen();
        let of = |path: &str, id: &str| {
            let mut all = seen.iter().filter(|s| s.path == path && s.id() == id);
            all.next().cloned().unwrap()
        };
        let first = of("/mcp", "1");
        let second = of("/mcp/?x=1", "1");
        assert_eq!((&first.method, &first.body), (&second.method, &second.body));
        for name in ["authorization", "mcp-session-id", "accept", "content-type"] {
            assert!(second.header(name).is_some(), "{name}");
            assert_eq!(first.header(name), second.header(name), "{name}");
        }
        let deletes = seen.iter().filter(|seen| seen.method == "DELETE");
        assert_eq!(deletes.count(), 2);
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn another_server_gets_nothing_by_a_redirect() {
    let other = Peer::new(answer_as_usual);
    let to = other.url.clone();
    let by_name = other.url.replace("127.0.0.1", "localhost");
    for location in [
        to.clone(),
        format!("{to}/mcp"),
        format!("//{}", &to["http://".len()..]),
        by_name,
        format!("http://user@{}", &to["http://".len()..]),
    ] {
        let target = location.clone();
        let peer = Peer::new(move |_, stream| {
            let head = format!("307 Temporary Redirect\r\nLocation: {target}");
            answer(stream, &head, "")
        });
        let client = Client::with(HttpOptions {
            headers: vec![("Authorization".into(), "Bearer abc".into())],
            ..HttpOptions::new("elsewhere", &peer.url)
        });
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        assert!(matches!(error, TransportError::Status { code: 307, .. }));
        let text = error.to_string();
        let port = to.rsplit(':').next().unwrap();
        let named = text.contains(&format!(":{port}, which is not followed"));
        assert!(named && !text.contains("user@"), "{location}: {text}");
    }
    assert_eq!(other.connections(), 0);
}

#[test]
fn the_host_of_a_redirect_discloses_no_secret() {
    let peer = Peer::new(|_, stream| {
        let head = "307 Temporary Redirect\r\nLocation: https://SK-hunter2HUNTER2.evil.example/x";
        answer(stream, head, "")
    });
    let client = Client::with(HttpOptions {
        headers: vec![("Authorization".into(), "Bearer sk-Hunter2hunter2".into())],
        ..HttpOptions::new("elsewhere", &peer.url)
    });
    client.request(1, "tools/call");
    let text = client.log.failure(1).to_string();
    assert!(
        text.contains("redirects to https://[secret].evil.example"),
        "{text}"
    );
}

#[test]
fn redirects_without_end_come_to_one() {
    let peer = Peer::new(|seen, stream| {
        let head = format!("307 Temporary Redirect\r\nLocation: {}x", seen.path);
        answer(stream, &head, "")
    });
    let client = Client::of(&peer, "circle");
    client.request(1, "tools/call");
    let error = client.log.failure(1).to_string();
    assert!(
        error.contains("redirects from one path to another"),
        "{error}"
    );
    assert!((2..=10).contains(&peer.seen().len()));
    assert_eq!(peer.connections(), 1);
}

#[test]
fn an_answer_that_breaks_off_is_told_from_what_never_arrived() {
    const JSON: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    for half in [
        String::new(),
        "HTTP/1.1 200 OK\r\nContent-Ty".to_owned(),
        format!("{JSON}Content-Length: 100\r\n\r\n{{"),
        format!("{JSON}\r\n{{\"jsonrpc\":\"2.0\",\"id\":1,"),
        format!("{JSON}Transfer-Encoding: chunked\r\n\r\nff\r\n{{"),
        format!("{EVENTS}Transfer-Encoding: chunked\r\n\r\n"),
        format!("{EVENTS}\r\ndata: {{\"jsonrpc\":\"2.0\","),
        format!("{EVENTS}Content-Length: 0\r\n\r\n"),
    ] {
        let text = half.clone();
        let peer = Peer::new(move |_, stream| {
            send(stream, &text);
            AfterReply::Close
        });
        let client = Client::of(&peer, "breaks");
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        assert!(
            matches!(error, TransportError::ResponseLost(_)),
            "{half:?}: {error:?}"
        );
        assert!(error.to_string().contains(&peer.url), "{error}");
    }
    // Text that is not HTTP, and a complete but wrong answer, are not interrupted answers.
    for whole in ["SSH-2.0-OpenSSH\r\n", &format!("{JSON}\r\n<html>")] {
        let text = whole.to_owned();
        let peer = Peer::new(move |_, stream| {
            send(stream, &text);
            AfterReply::Close
        });
        let client = Client::of(&peer, "wrong");
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        assert!(
            matches!(error, TransportError::Io(_)),
            "{whole:?}: {error:?}"
        );
    }
}

#[test]
fn an_answer_may_come_on_the_servers_own_stream_after_its_own_has_ended_without_an_id() {
    for taken in [false, true] {
        let called = Arc::new(Barrier::new(2));
        let gate = called.clone();
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" => {
                begin_events(stream);
                gate.wait();
                // The call's own stream has most likely ended by now.
                std::thread::sleep(Duration::from_millis(300));
                chunk(stream, &event(&result(1)));
                wait_for_hangup(stream)
            }
            _ if seen.id() == "1" && taken => {
                gate.wait();
                answer(stream, "202 Accepted", "")
            }
            _ if seen.id() == "1" => {
                begin_events(stream);
                chunk(stream, ": bye\n\n");
                gate.wait();
                chunk(stream, "")
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "own");
        client.initialize();
        peer.wait_for("GET", |seen| seen.method == "GET");
        assert_eq!(client.call(1, "tools/call"), result(1));
        wait_until("only that stream is left", || threads("mcp own") == 1);
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn an_answer_that_can_come_nowhere_any_more_is_an_error_at_once() {
    // There is no other stream, or it ends as well.
    for ends in [false, true] {
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" if ends => {
                begin_events(stream);
                chunk(stream, "")
            }
            _ if seen.id() == "1" => answer(
                stream,
                "200 OK\r\nContent-Type: text/event-stream",
                "data: {\"n\":1}\n\n",
            ),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "never");
        client.initialize();
        peer.wait_for("GET", |seen| seen.method == "GET");
        let begin = Instant::now();
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        assert!(
            matches!(error, TransportError::ResponseLost(_)),
            "{error:?}"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
        assert!(error.to_string().ends_with("without an answer"), "{error}");
    }
}

#[test]
fn a_stream_that_is_answered_otherwise_when_it_is_resumed_is_an_error_at_once() {
    for (head, said) in [
        (
            "200 OK\r\nContent-Type: application/json",
            "(application/json): hm",
        ),
        ("202 Accepted", "(HTTP 202): hm"),
        ("401 Unauthorized", "(HTTP 401): hm"),
        ("410 Gone", "(HTTP 410): hm"),
    ] {
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" if seen.header("last-event-id").is_some() => answer(stream, head, "hm"),
            "GET" => {
                begin_events(stream);
                wait_for_hangup(stream)
            }
            _ if seen.id() == "1" => {
                let head = "200 OK\r\nContent-Type: text/event-stream";
                answer(stream, head, "id: 1\nretry: 100\ndata:\n\n")
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "otherwise");
        client.initialize();
        let begin = Instant::now();
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        assert!(
            matches!(error, TransportError::ResponseLost(_)),
            "{error:?}"
        );
        assert!(error.to_string().ends_with(said), "{head}: {error}");
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
    }
}

#[test]
fn a_server_without_its_own_stream_is_left_in_peace() {
    for head in [
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "405 Method Not Allowed",
        "406 Not Acceptable",
        "500 Oops",
        "501 Not Implemented",
        "200 OK\r\nContent-Type: application/json",
        "200 OK\r\nContent-Type: text/html",
        "200 OK",
        "202 Accepted",
        "302 Found\r\nLocation: https://elsewhere.example/",
    ] {
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" => answer(stream, head, "{}"),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "without");
        client.initialize();
        peer.wait_for("GET", |seen| seen.method == "GET");
        wait_until("no thread left", || threads("mcp without") == 0);
        assert_eq!(client.call(1, "ping"), result(1));
        assert_eq!(client.log.failures(), 0);
        let gets = peer.seen().into_iter().filter(|seen| seen.method == "GET");
        assert_eq!(gets.count(), 1, "{head}");
    }
}

#[test]
fn the_servers_own_stream_is_asked_for_again_when_it_was_busy_and_redirected_as_a_get() {
    let asked = AtomicBool::new(false);
    let peer = Peer::new(move |seen, stream| match seen.path.as_str() {
        "/mcp" if seen.method == "GET" => {
            if asked.swap(true, Ordering::SeqCst) {
                answer(stream, "303 See Other\r\nLocation: /events", "")
            } else {
                answer(stream, "503 Busy\r\nRetry-After: 3", "")
            }
        }
        "/events" => {
            assert_eq!(seen.method, "GET");
            begin_events(stream);
            chunk(stream, &event("{\"n\":1}"));
            wait_for_hangup(stream)
        }
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::with(HttpOptions::new("later", format!("{}/mcp", peer.url)));
    let begin = Instant::now();
    client.initialize();
    client.log.message("\"n\":1");
    assert!(
        begin.elapsed() >= Duration::from_millis(2900),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn an_address_may_be_in_brackets_and_have_no_path_but_a_query() {
    let peer = Peer::new(answer_as_usual);
    let client = Client::with(HttpOptions::new("query", format!("{}?key=1", peer.url)));
    assert_eq!(client.call(1, "ping"), result(1));
    assert_eq!(peer.seen()[0].path, "/?key=1");

    // Without IPv6, at least the connection attempt is tested.
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        return;
    };
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let read = std::io::Read::read(&mut stream, &mut head).unwrap();
        json(&mut stream, &result(1));
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let client = Client::with(HttpOptions::new("six", format!("http://{address}")));
    assert_eq!(client.call(1, "ping"), result(1));
    let head = served.join().unwrap().to_ascii_lowercase();
    assert!(head.contains(&format!("host: {address}")), "{head}");
}
