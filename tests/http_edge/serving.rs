//! Served requests: framing, persistent connections, HEAD, interim responses, failing handlers.

use crate::harness::{KEY, Reply, TEST_TIMEOUT, echo, edge, get, post};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

#[test]
fn a_preflight_needs_no_key() {
    let edge = edge();
    let fields = "Origin: null\r\nAccess-Control-Request-Method: POST\r\n";
    let reply = edge
        .says(format!(
            "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
        ))
        .reply();
    assert_eq!(reply.status, 200);
    for name in ["origin", "methods", "headers"] {
        let name = format!("access-control-allow-{name}");
        assert_eq!(reply.header(&name), Some("*"), "{name}");
    }
    assert_eq!(reply.header("content-type"), None);
    assert!(reply.body.is_empty());
}

#[test]
fn a_connection_serves_request_after_request() {
    let edge = edge();
    let mut client = edge.connect();
    let cases = [
        (get("/empty"), 200, ""),
        (
            get("/hello/w%C3%B6rld%2F1?greeting=good+morning%21"),
            200,
            "good morning!, wörld/1",
        ),
        (get("/tools?session_id=7"), 200, "7"),
        (echo("Content-Length: 3\r\n", "abc"), 200, "abc"),
        (echo("", ""), 200, ""),
        (
            echo(
                "Transfer-Encoding: chunked\r\n",
                "2;x=y\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n",
            ),
            200,
            "abc",
        ),
        (
            post(
                "/json",
                "Content-Type: application/json\r\nContent-Length: 7\r\n",
                r#"{"a":1}"#,
            ),
            200,
            r#"{"a":1}"#,
        ),
        (format!("\r\n{}", get("/empty")), 200, ""),
        (
            format!("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n{KEY}\r\n"),
            200,
            "",
        ),
    ];
    for (request, status, body) in cases {
        client.send(&request);
        let reply = client.reply();
        assert_eq!((reply.status, reply.text()), (status, body), "{request}");
        assert_eq!(reply.header("connection"), None);
        assert!(reply.header("date").is_some());
    }
    // Errors of requests without a body leave the connection open.
    for (path, status) in [
        ("/nope", 404),
        ("/echo", 405),
        ("/tools", 400),
        ("/refuse", 418),
    ] {
        client.send(get(path));
        let reply = client.reply();
        assert_eq!((reply.status, reply.header("connection")), (status, None));
        assert!(!reply.message().is_empty());
        assert_eq!(reply.header("allow"), (status == 405).then_some("POST"));
    }
    client.send(get("/nothing"));
    let reply = client.reply();
    assert_eq!((reply.status, reply.header("content-length")), (204, None));
    client.send(get("/empty").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assert_eq!(client.reply().header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn errors_of_a_body_are_worded_as_goose_words_them() {
    let edge = edge();
    let json = |content_type: &str, body: &str| {
        let length = body.len();
        let fields = format!("{content_type}Content-Length: {length}\r\n");
        let reply = edge.says(post("/json", &fields, body)).reply();
        (reply.status, reply.message())
    };
    let (status, message) = json("", "{}");
    assert_eq!(status, 415);
    assert_eq!(
        message,
        "Expected request with `Content-Type: application/json`"
    );
    let (status, message) = json("Content-Type: application/json\r\n", "{nope");
    assert_eq!(status, 400);
    assert_eq!(
        message,
        "Failed to parse the request body as JSON: key must be a string at line 1 column 2"
    );
    let reply = edge.says(get("/tools")).reply();
    assert_eq!(
        reply.message(),
        "Failed to deserialize query string: missing field `session_id`"
    );
}

#[test]
fn nested_json_of_any_depth_is_no_danger_to_the_stack() {
    let edge = edge();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for (depth, status) in [(126, 200), (200, 400), (100_000, 400)] {
            let body = open.repeat(depth) + "[]" + &close.repeat(depth);
            let length = body.len();
            let fields = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
            let reply = edge.says(post("/json", &fields, &body)).reply();
            assert_eq!(reply.status, status, "{depth} times {open}");
        }
    }
    edge.is_alive();
}

#[test]
fn depth_in_a_field_that_no_handler_reads_is_refused_at_once() {
    const DEPTH: usize = 500_000;
    let edge = edge();
    let whole = format!(
        r#"{{"x":1,"y":{}{}}}"#,
        "[".repeat(DEPTH),
        "]".repeat(DEPTH)
    );
    let broken = format!(r#"{{"y":{}"#, r#"{"a":["#.repeat(DEPTH / 4));
    let without_x = whole.replace("\"x\"", "\"z\"");
    for body in [broken, without_x, whole] {
        let length = body.len();
        let fields = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        let reply = edge.says(post("/typed", &fields, &body)).reply();
        assert_eq!(reply.status, 400);
        let message = reply.message();
        assert!(message.contains("127 levels"), "{:.200}", message);
    }
    // Bodies that are not too deep are accepted, also with brackets in strings and in unknown fields.
    let body = format!(
        r#"{{"x":1,"y":[{}[]],"z":"{}"}}"#,
        "[],".repeat(999),
        "[".repeat(999)
    );
    let length = body.len();
    let fields = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    assert_eq!(
        edge.says(post("/typed", &fields, &body)).reply().text(),
        "1"
    );
}

#[test]
fn http_1_0_closes_unless_asked() {
    let edge = edge();
    let mut client = edge.says("GET /status HTTP/1.0\r\n\r\n");
    assert_eq!(client.reply().header("connection"), Some("close"));
    assert!(client.is_closed());
    let mut client = edge.connect();
    for _ in 0..2 {
        client.send("GET /status HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        assert_eq!(client.reply().header("connection"), Some("keep-alive"));
    }
}

#[test]
fn head_answers_as_get_without_a_body() {
    let edge = edge();
    let mut client = edge.connect();
    for path in ["/status", "/nope", "/echo", "/big"] {
        client.send(get(path));
        let by_get = client.reply();
        client.send(get(path).replacen("GET", "HEAD", 1));
        let by_head = client.reply_to_head();
        let without_date = |reply: &Reply| -> Vec<String> {
            let headers = reply.headers.iter();
            headers
                .filter(|h| !h.starts_with("Date"))
                .cloned()
                .collect()
        };
        assert_eq!(by_get.status, by_head.status);
        assert_eq!(without_date(&by_get).len(), without_date(&by_head).len());
        // The error message contains the method, so its length may differ.
        if by_get.status == 200 {
            assert_eq!(without_date(&by_get), without_date(&by_head));
        }
    }
    client.send(get("/status"));
    assert_eq!(client.reply().text(), "ok");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let edge = edge();
    let mut client = edge.connect();
    let mut requests = String::new();
    for number in 0..500 {
        requests += &get(&format!("/hello/{number}"));
        requests += &echo("Content-Length: 5\r\n", "GET /");
        requests += &echo("Transfer-Encoding: chunked\r\n", "4\r\nPOST\r\n0\r\n\r\n");
    }
    let mut sender = client.stream.get_ref().try_clone().unwrap();
    let sending = thread::spawn(move || sender.write_all(requests.as_bytes()).unwrap());
    for number in 0..500 {
        assert_eq!(client.reply().text(), format!("hello, {number}"));
        assert_eq!(client.reply().text(), "GET /");
        assert_eq!(client.reply().text(), "POST");
    }
    sending.join().unwrap();
}

#[test]
fn requests_may_arrive_byte_by_byte() {
    let edge = edge();
    let mut client = edge.connect();
    for request in [
        format!("\r\n\r\n{}", get("/empty")),
        echo("Content-Length: 3\r\n", "abc"),
        echo(
            "Transfer-Encoding: chunked\r\n",
            "3\r\nabc\r\n0\r\nA: b\r\n\r\n",
        ),
    ] {
        for byte in request.as_bytes() {
            client.send([*byte]);
        }
        assert_eq!(client.reply().status, 200, "{request}");
    }
}

#[test]
fn a_client_that_waits_is_told_to_continue() {
    let edge = edge();
    let mut client = edge.connect();
    for (fields, body) in [
        ("Content-Length: 3\r\nExpect: 100-continue\r\n", "abc"),
        (
            "Transfer-Encoding: chunked\r\nExpect: 100-Continue\r\n",
            "3\r\nabc\r\n0\r\n\r\n",
        ),
    ] {
        client.send(echo(fields, ""));
        let interim = client.reply();
        assert_eq!((interim.status, interim.headers.len()), (100, 0));
        client.send(body);
        assert_eq!(client.reply().text(), "abc");
        // A client that does not wait for 100 does not get one.
        client.send(echo(fields, body));
        assert_eq!(client.reply().text(), "abc");
    }
    client.send(echo(
        "Content-Length: 1048577\r\nExpect: 100-continue\r\n",
        "",
    ));
    assert_eq!(client.reply().status, 413);
}

#[test]
fn a_panic_is_a_500_and_the_server_goes_on() {
    let edge = edge();
    let mut client = edge.says(get("/panic"));
    let reply = client.reply();
    assert_eq!(reply.status, 500);
    assert!(!reply.message().contains("on purpose"));
    client.send(get("/empty"));
    assert_eq!(client.reply().status, 200);
}

#[test]
fn a_response_larger_than_any_buffer_arrives_whole() {
    let edge = edge();
    let reply = edge.says(get("/big")).reply();
    assert_eq!(reply.body.len(), 8 << 20);
    assert!(reply.body.iter().all(|&byte| byte == b'x'));
}

#[test]
fn a_handler_learns_that_its_client_left() {
    let edge = edge();
    let client = edge.says(get("/hang"));
    thread::sleep(Duration::from_millis(50));
    assert!(edge.left.try_recv().is_err());
    drop(client);
    edge.left.recv_timeout(TEST_TIMEOUT).expect("to be told");
    // Unread input does not mean that the client has left.
    let mut client = edge.says(get("/hang"));
    thread::sleep(Duration::from_millis(50));
    client.send("GET /");
    thread::sleep(Duration::from_millis(50));
    assert!(edge.left.try_recv().is_err());
}

#[test]
fn a_client_that_says_it_will_send_no_more_is_answered() {
    let edge = edge();
    let mut client = edge.says(get("/empty") + &get("/hello/you"));
    client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.reply().text(), "hello, you");
    assert!(client.is_closed());
}

#[test]
fn a_body_is_streamed_and_the_connection_goes_on() {
    let edge = edge();
    let mut client = edge.connect();
    for _ in 0..2 {
        client.send(get("/stream"));
        let reply = client.reply();
        assert_eq!(reply.header("content-type"), Some("application/x-bytes"));
        assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
        let (body, is_complete) = client.chunks();
        assert!(is_complete && body.len() == (1 << 20) + 10);
        assert!(body.starts_with(b"begin x") && body.ends_with(b"x end"));
    }
    let old = get("/stream").replace("HTTP/1.1", "HTTP/1.0");
    let mut client = edge.says(old);
    assert_eq!(client.reply().header("connection"), Some("close"));
    let mut body = Vec::new();
    client.stream.read_to_end(&mut body).unwrap();
    assert_eq!(body.len(), (1 << 20) + 10);
    let head = get("/stream").replace("GET", "HEAD");
    assert_eq!(edge.says(head).reply_to_head().status, 200);
}

#[test]
fn a_body_that_fails_has_no_end() {
    let edge = edge();
    let mut client = edge.says(get("/stream?breaks_off=1"));
    assert_eq!(client.reply().status, 200);
    let (body, is_complete) = client.chunks();
    assert!(!is_complete && body.starts_with(b"begin x"));
    edge.is_alive();
}
