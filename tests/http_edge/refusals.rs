//! Refused requests, and closing the connection where the next request cannot be trusted.

use crate::harness::{KEY, echo, edge};
use std::net::Shutdown;

#[test]
fn hostile_requests_are_refused_and_the_connection_closed() {
    let edge = edge();
    let many = "A: b\r\n".repeat(30);
    let long = "x".repeat(9000);
    #[rustfmt::skip] // a row a line
    let cases: Vec<(&str, String, u16)> = vec![
        ("a length and chunks", echo("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400),
        ("chunks and a length", echo("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), 400),
        ("two lengths", echo("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), 400),
        ("two equal lengths", echo("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400),
        ("a list of equal lengths", echo("Content-Length: 3, 3\r\n", "abc"), 400),
        ("a signed length", echo("Content-Length: +3\r\n", "abc"), 400),
        ("a negative length", echo("Content-Length: -3\r\n", "abc"), 400),
        ("an overlong length", echo("Content-Length: 99999999999999999999\r\n", "abc"), 400),
        ("an empty length", echo("Content-Length:\r\n", "abc"), 400),
        ("a hexadecimal length", echo("Content-Length: 0x3\r\n", "abc"), 400),
        ("a length in words", echo("Content-Length: three\r\n", "abc"), 400),
        ("another coding", echo("Transfer-Encoding: gzip\r\n", ""), 400),
        ("chunks not last", echo("Transfer-Encoding: chunked, gzip\r\n", ""), 400),
        ("chunks twice", echo("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", ""), 400),
        ("a coding below chunks", echo("Transfer-Encoding: gzip, chunked\r\n", ""), 501),
        ("chunks in HTTP/1.0", format!("POST /echo HTTP/1.0\r\n{KEY}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        ("a chunk size in words", echo("Transfer-Encoding: chunked\r\n", "three\r\nabc"), 400),
        ("a signed chunk size", echo("Transfer-Encoding: chunked\r\n", "+3\r\nabc"), 400),
        ("an overlong chunk size", echo("Transfer-Encoding: chunked\r\n", "00000000000000003\r\nabc"), 400),
        ("a chunk size of 2^64-1", echo("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nabc"), 413),
        ("an overlong chunk extension", echo("Transfer-Encoding: chunked\r\n", &format!("3;{long}")), 400),
        ("a chunk size ended by a bare LF", echo("Transfer-Encoding: chunked\r\n", "3\nabc\r\n0\r\n\r\n"), 400),
        ("a chunk ended by a bare LF", echo("Transfer-Encoding: chunked\r\n", "3\r\nabc\n0\r\n\r\n"), 400),
        ("a chunk longer than its size", echo("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n"), 400),
        ("a trailer ended by a bare LF", echo("Transfer-Encoding: chunked\r\n", "0\r\nA: b\n\r\n"), 400),
        ("endless trailers", echo("Transfer-Encoding: chunked\r\n", &format!("0\r\nA: {long}")), 431),
        ("a body in chunks beyond the limit", echo("Transfer-Encoding: chunked\r\n", "100001\r\n"), 413),
        ("a declared body beyond the limit", echo("Content-Length: 1048577\r\n", ""), 413),
        ("an unknown expectation", echo("Content-Length: 3\r\nExpect: tea\r\n", ""), 417),
        ("a line ended by a bare LF", "GET /status HTTP/1.1\nHost: a\r\n\r\n".into(), 400),
        ("a field ended by a bare LF", "GET /status HTTP/1.1\r\nHost: a\n\r\n".into(), 400),
        ("a head ended by a bare LF", "GET /status HTTP/1.1\r\nHost: a\r\n\n".into(), 400),
        ("a bare CR", "GET /status HTTP/1.1\r\nHost: a\rb\r\n\r\n".into(), 400),
        ("a folded field", "GET /status HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n".into(), 400),
        ("white space before the colon", "GET /status HTTP/1.1\r\nHost : a\r\n\r\n".into(), 400),
        ("white space before the first field", "GET /status HTTP/1.1\r\n Host: a\r\n\r\n".into(), 400),
        ("a field without a name", "GET /status HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n".into(), 400),
        ("a field without a colon", "GET /status HTTP/1.1\r\nHost: a\r\nb\r\n\r\n".into(), 400),
        ("a NUL in a field", "GET /status HTTP/1.1\r\nHost: a\r\nA: \0\r\n\r\n".into(), 400),
        ("a control character in a field", "GET /status HTTP/1.1\r\nHost: a\r\nA: \x1b[m\r\n\r\n".into(), 400),
        ("no host", "GET /status HTTP/1.1\r\n\r\n".into(), 400),
        ("two hosts", "GET /status HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".into(), 400),
        ("an asterisk for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
        ("a target without a slash", "GET status HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
        ("a target with a space", "GET /sta tus HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
        ("a target beyond ASCII", "GET /é HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
        ("no version", "GET /status\r\nHost: a\r\n\r\n".into(), 400),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(), 505),
        ("HTTP/1.2", "GET /status HTTP/1.2\r\nHost: a\r\n\r\n".into(), 505),
        ("TLS", "\x16\x03\x01\x02".into(), 400),
        ("three empty lines", "\r\n\r\n\r\nGET /status HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
        ("a long request line", format!("GET /{long}"), 414),
        ("a long field", format!("GET / HTTP/1.1\r\nHost: a\r\nA: {long}"), 431),
        ("many fields", format!("GET / HTTP/1.1\r\nHost: a\r\n{many}"), 431),
    ];
    for (what, request, status) in cases {
        let mut client = edge.says(&request);
        let reply = client.reply();
        assert_eq!(reply.status, status, "{what}");
        assert!(!reply.message().is_empty(), "{what}");
        assert_eq!(reply.header("connection"), Some("close"), "{what}");
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("*"),
            "{what}"
        );
        assert!(client.is_closed(), "{what}");
        // The same byte by byte, as far as the server reads.
        if request.len() < 400 {
            let mut client = edge.connect();
            for byte in request.as_bytes() {
                client.send([*byte]);
            }
            let reply = client.try_reply(true);
            assert!(
                reply.is_none_or(|reply| reply.status == status),
                "{what}, by bytes"
            );
        }
    }
    edge.is_alive();
}

#[test]
fn a_request_that_ends_early_is_refused() {
    let edge = edge();
    for request in [
        "GET /status HT".to_string(),
        echo("Content-Length: 5\r\n", "abc"),
        echo("Transfer-Encoding: chunked\r\n", "5\r\nabc"),
    ] {
        let mut client = edge.says(&request);
        client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.reply().status, 400, "{request}");
        assert!(client.is_closed());
    }
}

#[test]
fn the_key_comes_before_everything_that_it_protects() {
    let edge = edge();
    let cases = [
        (
            "a known path",
            "GET /empty HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ),
        (
            "an unknown path",
            "GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ),
        (
            "a wrong method",
            "PUT /echo HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ),
        (
            "a wrong key",
            "GET /empty HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: open\r\n\r\n",
        ),
        (
            "options",
            "OPTIONS /empty HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ),
        (
            "a body not yet sent",
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
        ),
        (
            "a body too large",
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000000\r\n\r\n",
        ),
        (
            "a body that waits",
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        ),
    ];
    for (what, request) in cases {
        let reply = edge.says(request).reply();
        assert_eq!(reply.status, 401, "{what}");
        assert!(reply.message().contains("X-Secret-Key"), "{what}");
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("*"),
            "{what}"
        );
        let challenge = reply.header("www-authenticate");
        assert!(
            challenge.is_some_and(|it| it.starts_with("Bearer ")),
            "{what}"
        );
        let says = if what == "a wrong key" {
            "is not the server's"
        } else {
            "has no key"
        };
        assert!(
            reply.message().contains(says),
            "{what}: {}",
            reply.message()
        );
    }
    let page = edge
        .says("GET /page HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")
        .reply();
    assert_eq!(page.status, 200);
}

#[test]
fn the_key_may_come_as_a_bearer_token() {
    let edge = edge();
    let ask = |headers: &str| {
        let request = format!("GET /empty HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        edge.says(request.as_str()).reply().status
    };
    for right in [
        "Authorization: Bearer open sesame\r\n",
        "authorization: bearer   open sesame \r\n",
        "Authorization: Basic b3Blbg==\r\nX-Secret-Key: open sesame\r\n",
    ] {
        assert_eq!(ask(right), 200, "{right}");
    }
    for wrong in [
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: open sesame\r\n",
        "Authorization: Basic open sesame\r\n",
        "Authorization: Bearer open sesam\r\n",
        // The one that the other clients send counts.
        "Authorization: Bearer open sesame\r\nX-Secret-Key: open\r\n",
    ] {
        assert_eq!(ask(wrong), 401, "{wrong}");
    }
}

#[test]
fn a_host_that_is_not_ours_is_refused_before_the_key_is_looked_at() {
    let edge = edge();
    let ask = |line: &str, host: &str| {
        let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{KEY}\r\n");
        edge.says(request).reply().status
    };
    for host in [
        "localhost",
        "LocalHost:3000",
        "localhost.",
        "127.0.0.1:1",
        "[::1]",
        "10.0.0.1",
        "My-Box:9",
    ] {
        assert_eq!(ask("GET /empty", host), 200, "{host}");
    }
    for host in [
        "evil.com",
        "evil.com:3000",
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "127.1",
    ] {
        assert_eq!(ask("GET /empty", host), 403, "{host}");
        assert_eq!(ask("GET /page", host), 403, "{host}");
        assert_eq!(ask("GET /nope", host), 403, "{host}");
        assert_eq!(ask("GET /status", host), 200, "{host}");
    }
    assert_eq!(ask("GET /empty", "a b"), 400);
    assert_eq!(ask("GET /empty", ""), 400);
    // The host of the target takes precedence.
    assert_eq!(ask("GET http://localhost/empty", "evil.com"), 200);
    assert_eq!(ask("GET http://evil.com/empty", "localhost"), 403);
}
