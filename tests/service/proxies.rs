//! Behind proxies: who is believed, the prefix of the paths, the access log.

use crate::support::client::{Answer, KEY};
use crate::support::server::{RunningServer, Server, gosling};
use crate::support::{temp_dir, until, web_socket};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::Instant;

const CLIENT: &str = "203.0.113.7";

/// A server with these variables.
fn with(variables: &[(&str, &str)]) -> RunningServer {
    let server = Server::new();
    let server = variables
        .iter()
        .fold(server, |server, (name, value)| server.env(name, value));
    server.start()
}

fn trusting() -> RunningServer {
    with(&[
        ("GOOSE_TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8, unix"),
        ("GOOSE_ACCESS_LOG", "true"),
    ])
}

/// Sends a request with these fields.
#[track_caller]
fn ask(server: &RunningServer, line: &str, fields: &[&str]) -> Answer {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let host = if fields.to_lowercase().contains("\nhost:") {
        ""
    } else {
        "Host: localhost\r\n"
    };
    let head = format!("{line} HTTP/1.1\r\nConnection: close\r\n{host}{fields}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    Answer::read(format!("{line} {fields}"), stream)
}

fn key() -> String {
    format!("X-Secret-Key: {KEY}")
}

/// The records of refused requests in the audit log.
fn refusals(server: &RunningServer, count: usize) -> Vec<Value> {
    until("the records", || {
        let log = fs::read_to_string(server.root().join("data/audit/1.jsonl")).ok()?;
        let records = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let refused: Vec<_> = records.filter(|it| it["kind"] == "refused").collect();
        (refused.len() >= count).then_some(refused)
    })
}

#[test]
fn a_believed_proxy_says_where_the_client_is() {
    let server = trusting();
    let forwarded =
        format!("Forwarded: for=1.1.1.1, for=\"{CLIENT}:4711\";proto=https;host=localhost");
    let older = format!("X-Forwarded-For: 1.1.1.1, {CLIENT}, 10.1.2.3");
    for fields in [&*forwarded, &*older] {
        ask(&server, "POST /config/read?a=secret", &[fields]).is(401);
    }
    // Both, where they agree.
    ask(
        &server,
        "GET /sessions",
        &["forwarded: for=203.0.113.7", "x-forwarded-for: 203.0.113.7"],
    )
    .is(401);
    let records = refusals(&server, 3);
    let addresses: Vec<_> = records.iter().map(|it| it["address"].clone()).collect();
    assert_eq!(
        addresses,
        [json!("203.0.113.7:4711"), json!(CLIENT), json!(CLIENT)]
    );
    server.logs(
        "access front=http address=203.0.113.7:4711 method=POST path=\"/config/read\" status=401 ",
    );
    server.logs(
        "access front=http address=203.0.113.7 method=POST path=\"/config/read\" status=401 ",
    );
    server.never_logs("a=secret");
}

#[test]
fn others_are_not_believed() {
    let server = with(&[
        ("GOOSE_TRUSTED_PROXIES", "10.0.0.0/8,unix"),
        ("GOOSE_ACCESS_LOG", "1"),
    ]);
    let fields = [
        "Forwarded: for=203.0.113.7;host=evil.example",
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Proto: https",
    ];
    ask(&server, "GET /sessions", &fields).is(401);
    ask(&server, "GET /sessions", &[&fields[..], &[&key()]].concat()).is(200);
    // Nor are they read at all.
    ask(&server, "GET /sessions", &["Forwarded: for=\"", &key()]).is(200);
    let records = refusals(&server, 1);
    let address = records[0]["address"].as_str().unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    server.logs("status=200");
    server.never_logs("203.0.113.7");
}

#[test]
fn contradictions_and_nonsense_of_a_proxy_are_refused() {
    let server = trusting();
    for (fields, why) in [
        (&["Forwarded: for=\"1.1.1.1"][..], "RFC 7239"),
        (&["Forwarded: for=1.1.1.1;for=2.2.2.2"], "RFC 7239"),
        (
            &["Forwarded: for=1.1.1.1", "X-Forwarded-For: 2.2.2.2"],
            "contradict",
        ),
        (
            &[
                "Forwarded: for=2.2.2.2;host=a",
                "X-Forwarded-For: 2.2.2.2",
                "X-Forwarded-Host: b",
            ],
            "contradict",
        ),
    ] {
        let key = key();
        let fields = [fields, &[&*key]].concat();
        ask(&server, "GET /sessions", &fields).is(400).says(why);
    }
    // What a proxy says of the host is checked as what a client says.
    let host = |host: &str| {
        ask(
            &server,
            "GET /sessions",
            &[&format!("X-Forwarded-Host: {host}"), &key()],
        )
    };
    host("evil.example").is(403);
    host("a b").is(400);
    host(&"a".repeat(256)).is(400);
    host("localhost").is(200);
    host("evil.example, localhost").is(200);
}

#[test]
fn wrong_keys_delay_the_client_and_not_the_proxy() {
    let server = trusting();
    let wrong = |client: &str| {
        let from = format!("X-Forwarded-For: {client}");
        ask(&server, "GET /sessions", &[&from, "X-Secret-Key: wrong"]).is(401);
    };
    for _ in 0..8 {
        wrong(CLIENT);
    }
    server.logs("wrong keys address=203.0.113.7 count=8");
    // Another client of the same proxy is answered at once: the ninth delay of the first is 1.6 seconds.
    let begin = Instant::now();
    wrong("203.0.113.8");
    assert!(begin.elapsed().as_millis() < 1_000, "{:?}", begin.elapsed());
    ask(
        &server,
        "GET /sessions",
        &[&format!("X-Forwarded-For: {CLIENT}"), &key()],
    )
    .is(200);
}

#[test]
fn a_page_that_came_without_tls_is_another_site() {
    let server = with(&[
        ("GOOSE_TRUSTED_PROXIES", "127.0.0.1"),
        ("GOOSE_ALLOWED_HOSTS", "gosling.example"),
    ]);
    let upgrade = |origin: &str, proto: &str| {
        let fields = format!(
            "{}X-Forwarded-Host: gosling.example\r\nX-Forwarded-Proto: {proto}\r\nOrigin: {origin}\r\n",
            web_socket::handshake()
        );
        web_socket::status(
            server.address(),
            &format!("GET /acp?token={}", KEY.replace(' ', "%20")),
            &fields,
        )
    };
    assert_eq!(upgrade("https://gosling.example", "https"), 101);
    assert_eq!(upgrade("http://gosling.example", "http"), 101);
    assert_eq!(upgrade("http://gosling.example", "https"), 403);
    assert_eq!(upgrade("http://gosling.example:8080", "HTTPS"), 403);
    assert_eq!(upgrade("http://localhost:5173", "https"), 101);
    assert_eq!(upgrade("https://evil.example", "https"), 403);
}

#[test]
#[cfg(unix)] // Unix sockets.
fn a_proxy_over_a_unix_socket_is_believed_if_the_list_says_so() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let folder = temp_dir();
    let path = folder.path().join("gosling.sock");
    let place = format!("unix:{}", path.display());
    for (list, address) in [("unix", json!(CLIENT)), ("127.0.0.1", Value::Null)] {
        let server = Server::new().env("GOOSE_TRUSTED_PROXIES", list);
        let server = server.start_as(&["agent", "--port", "0", "--listen", &place]);
        server.logs("listens on unix:");
        let mut stream = UnixStream::connect(&path).unwrap();
        let head = format!(
            "GET /sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: {CLIENT}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Answer::read(
            "over the socket".into(),
            TcpStream::from(OwnedFd::from(stream)),
        )
        .is(401);
        assert_eq!(refusals(&server, 1)[0]["address"], address);
        assert!(server.terminate().success());
    }
}

#[test]
fn all_paths_have_the_prefix() {
    let server = with(&[("GOOSE_PATH_PREFIX", "/gosling/")]);
    ask(&server, "GET /gosling/status", &[]).is(200);
    ask(&server, "GET /gosling/health/live", &[]).is(200);
    ask(&server, "GET /gosling/sessions?x=1", &[&key()]).is(200);
    ask(&server, "GET /gosling/sessions", &[]).is(401);
    ask(&server, "GET http://localhost/gosling/sessions", &[&key()]).is(200);
    for outside in [
        "/status",
        "/health/live",
        "/sessions",
        "/goslingsessions",
        "/",
        "/gosling%2fsessions",
        "/x/../gosling/sessions",
    ] {
        ask(&server, &format!("GET {outside}"), &[&key()]).is(404);
    }
    ask(&server, "GET /gosling/../sessions", &[&key()]).is(404);
}

#[test]
fn wrong_settings_refuse_the_start() {
    for (name, value, why) in [
        ("GOOSE_TRUSTED_PROXIES", "10.0.0.0/33", "neither an address"),
        (
            "GOOSE_TRUSTED_PROXIES",
            "proxy.example",
            "neither an address",
        ),
        ("GOOSE_PATH_PREFIX", "gosling", "not a path"),
        ("GOOSE_PATH_PREFIX", "/a/../b", "not a path"),
    ] {
        let root = temp_dir();
        let mut command = gosling();
        command
            .args(["agent", "--port", "0"])
            .env("GOOSE_PATH_ROOT", root.path())
            .env(name, value);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(name) && said.contains(why), "{said}");
    }
}

#[test]
fn the_access_log_has_a_line_for_each_request() {
    let server = trusting();
    let session = server.session([]);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    // Two on one connection, then one that is no HTTP.
    let head = format!(
        "GET /sessions/{}?secret=hidden HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n",
        session.id,
        key()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"nonsense\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut sent = Vec::new();
    stream.read_to_end(&mut sent).unwrap();
    let of_session = format!("path=\"/sessions/{}\" status=200", session.id);
    until("three lines", || {
        let log = server.log();
        let is_refused = log.contains("method=- path=\"-\" status=400");
        (is_refused && log.matches(&of_session).count() == 2).then_some(())
    });
    let log = server.log();
    let bytes = |line: &str| -> usize {
        let (_, rest) = line.split_once(" bytes=").unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let lines: Vec<_> = log.lines().filter(|it| it.contains(" access ")).collect();
    let total: usize = lines
        .iter()
        .filter(|it| it.contains(&of_session) || it.contains("=400"))
        .map(|it| bytes(it))
        .sum();
    assert_eq!(total, sent.len(), "{log}");
    let mine = lines.iter().find(|it| it.contains(&of_session)).unwrap();
    assert!(
        mine.contains(" INFO access front=http address=127.0.0.1:"),
        "{mine}"
    );
    assert!(
        mine.contains(" ms=") && mine.ends_with(" key=\"server\""),
        "{mine}"
    );
    assert!(!log.contains("hidden"), "{log}");
    // A key in a path is one all the same.
    ask(
        &server,
        "GET /files/sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL",
        &[],
    )
    .is(401);
    server.logs("path=\"/files/");
    server.never_logs("sk-abcdefghijklm");

    // Without the setting there are none.
    let server = Server::new().start();
    server.is_alive();
    server.never_logs("access front");
}

#[test]
fn streams_ask_proxies_not_to_keep_them() {
    let script = json!({"turns": [{"steps": [{"text": "hello"}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let body = json!({"session_id": session.id, "user_message": crate::support::turns::user("go")});
    let answer = server.post("/reply", body).is(200);
    assert!(
        answer.head.contains("\r\nX-Accel-Buffering: no\r\n"),
        "{}",
        answer.head
    );
    let answer = server.get("/sessions").is(200);
    assert!(
        !answer.head.contains("X-Accel-Buffering"),
        "{}",
        answer.head
    );
}

/// A proxy that speaks HTTP/1.0 and cuts the answer after so many bytes.
fn old_proxy(to: std::net::SocketAddr, cut: usize) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        let end = loop {
            let read = client.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head
                    .lines()
                    .find_map(|it| it.strip_prefix("Content-Length: "));
                if body.len() == length.map_or(0, |it| it.parse().unwrap()) {
                    break text.replace(" HTTP/1.1\r\n", " HTTP/1.0\r\n");
                }
            }
        };
        let mut server = TcpStream::connect(to).unwrap();
        server.write_all(end.as_bytes()).unwrap();
        let mut passed = 0;
        while passed < cut {
            match server.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => {
                    let read = read.min(cut - passed);
                    passed += read;
                    client.write_all(&buffer[..read]).unwrap();
                }
            }
        }
    });
    address
}

#[test]
fn an_old_proxy_and_one_that_cuts_streams_leave_a_session_that_goes_on() {
    let slow = json!({"text": "word ".repeat(100), "chunks": 100, "delay_ms": 20});
    let script = json!({"turns": [{"steps": [{"text": "whole"}]}, {"steps": [slow]}, {"steps": [{"text": "after"}]}]});
    let mut server = Server::scripted(script).start();
    let session_id = server.session([]).id.clone();
    let direct = server.address();
    let body = json!({"session_id": session_id, "user_message": crate::support::turns::user("go")});
    let reply = |server: &RunningServer| server.post("/reply", body.clone());

    server.connect_through(old_proxy(direct, usize::MAX));
    let answer = reply(&server).is(200);
    // No chunks for HTTP/1.0; the end of the connection ends the stream.
    assert!(
        !answer.head.contains("Transfer-Encoding") && answer.head.contains("Connection: close"),
        "{}",
        answer.head
    );
    assert!(
        answer.text.contains("whole") && answer.text.contains("\"Finish\""),
        "{}",
        answer.text
    );

    server.connect_through(old_proxy(direct, 1_500));
    let cut = reply(&server).is(200);
    assert!(
        cut.text.contains("word") && !cut.text.contains("\"Finish\""),
        "{}",
        cut.text
    );

    // The turn has noticed that its client has left, and the next one begins.
    server.connect_through(direct);
    let answer = until("the next turn", || {
        Some(reply(&server)).filter(|it| it.text.contains("after"))
    });
    assert!(answer.text.contains("\"Finish\""), "{}", answer.text);
}
