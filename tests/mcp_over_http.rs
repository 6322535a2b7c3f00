//! The builtin MCP servers over Streamable HTTP: `gosling mcp NAME --http`. What clients may rely on, what
//! hostile clients get, and that nothing is left behind.
// Commands of a Unix shell are in some tests and their helpers.
#![cfg(all(feature = "developer", feature = "todo"))]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))]

mod support;

use gosling::builtin::mcp_endpoint::{self, Sessions};
use gosling::http::{self, AccessControl, Limits};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::client::Answer;
use support::process::{running, unique_sleep, with_argument};
use support::server::{Extension, GOSLING, RunningServer, Server};
use support::{TEST_TIMEOUT, until};

const NEWEST: &str = "2025-11-25";

fn developer() -> RunningServer {
    Server::new().start_as(&["mcp", "developer", "--http", "0"])
}

/// A client with one connection per request.
struct Client<'l> {
    live: &'l RunningServer,
    session: Option<String>,
}

impl<'l> Client<'l> {
    fn new(live: &'l RunningServer) -> Self {
        Client {
            live,
            session: None,
        }
    }

    fn initialized(live: &'l RunningServer, version: &str) -> Self {
        let mut client = Client::new(live);
        let answer = client.post(&initialize(version)).is(200);
        assert_eq!(answer.body["result"]["protocolVersion"], version);
        client.session = Some(field(&answer, "mcp-session-id").expect("a session"));
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.post(&note).is(202).says_nothing();
        client
    }

    /// Sends one request with these additional headers, in HTTP/1.0 so that an event stream is not chunked.
    fn send(&self, method: &str, fields: &[(&str, &str)], body: &str) -> TcpStream {
        let to = self.live.address();
        let mut all = vec![
            ("Host", to.to_string()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        all.extend(self.session.clone().map(|id| ("Mcp-Session-Id", id)));
        all.retain(|(name, _)| !fields.iter().any(|(other, _)| other == name));
        all.extend(
            fields
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        let mut request = format!(
            "{method} /mcp HTTP/1.0\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in all {
            request += &format!("{name}: {value}\r\n");
        }
        request += "\r\n";
        request += body;
        let mut stream = TcpStream::connect(to).expect("the server listens");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    #[track_caller]
    fn ask(&self, method: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        let asked = format!("{method} {fields:?} {body}");
        Answer::read(asked, self.send(method, fields, body))
    }

    /// Sends a message; on a busy machine its answer may be the last event of a stream.
    #[track_caller]
    fn post(&self, message: &Value) -> Answer {
        let mut answer = self.ask("POST", &[], &message.to_string());
        if field(&answer, "content-type").as_deref() == Some("text/event-stream") {
            let mut data = answer.text.lines().filter_map(|l| l.strip_prefix("data: "));
            answer.body = serde_json::from_str(data.next_back().expect("an event")).unwrap();
        }
        answer
    }

    /// Starts a call; the caller reads the rest of the answer.
    fn begin(&self, message: &Value) -> Events {
        Events::of(self.send("POST", &[], &message.to_string()))
    }

    fn resume(&self, last: &str) -> Events {
        Events::of(self.send("GET", &[("Last-Event-ID", last)], ""))
    }
}

/// An event stream.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).expect("a head"), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("text/event-stream"), "{head}");
        Events(reader)
    }

    /// The next event: its id, and its data, `null` if there is none. `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut id = None;
        let mut data = None;
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            // Keep-alive events bound the time of a read.
            assert!(Instant::now() < deadline, "no event, and no end");
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("the stream lives") == 0 {
                assert!(id.is_none(), "cut off in an event");
                return None;
            }
            if let Some(value) = line.strip_prefix("id: ") {
                id = Some(value.trim().to_owned());
            } else if let Some(json) = line.strip_prefix("data: ") {
                data = serde_json::from_str(json).ok();
            } else if line == "\n" && id.is_some() {
                return Some((id?, data.unwrap_or_default()));
            } else {
                assert!(line == ":\n" || line == "\n", "{line:?}");
            }
        }
    }

    fn rest(mut self) -> Vec<(String, Value)> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

fn field(answer: &Answer, name: &str) -> Option<String> {
    let mut lines = answer.head.lines();
    let line = lines.find(|line| line.to_lowercase().starts_with(name))?;
    Some(line.split_once(": ")?.1.to_owned())
}

fn initialize(version: &str) -> Value {
    let params = json!({"protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn shell(id: i64, command: &str) -> Value {
    let params = json!({"name": "shell", "arguments": {"command": command}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_session_lives_until_it_is_deleted_and_takes_what_it_started_along() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let tools = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    client.post(&tools).is(200).says("text_editor");
    let [nap, stubborn] = [unique_sleep(), unique_sleep()];
    let answer = client
        .post(&shell(2, &format!("sleep {nap} & exit 3")))
        .is(200);
    assert_eq!(answer.body["result"]["structuredContent"]["exit_code"], 3);
    running(&nap, 1);
    // `close` also waits for a process that ignores TERM.
    let call = client.begin(&shell(
        3,
        &format!("trap '' TERM; echo; sleep {stubborn}; true"),
    ));
    running(&stubborn, 1);
    client.ask("DELETE", &[], "").is(200).says_nothing();
    assert!(with_argument(&nap).is_empty());
    assert!(with_argument(&stubborn).is_empty());
    assert!(call.rest().iter().all(|(_, message)| message["id"] != 3));
    client.post(&ping(4)).is(404).says("initialize");
    client.ask("DELETE", &[], "").is(404);
}

#[test]
fn a_session_is_its_clients_own() {
    let live = developer();
    let one = Client::initialized(&live, NEWEST);
    let two = Client::initialized(&live, NEWEST);
    assert_ne!(one.session, two.session);
    one.post(&ping(1)).is(200);
    one.ask("DELETE", &[], "").is(200);
    two.post(&ping(1)).is(200);
    let stranger = [("Mcp-Session-Id", "0123456789abcdef0123456789abcdef")];
    two.ask("POST", &stranger, &ping(2).to_string()).is(404);
    Client::new(&live).post(&ping(1)).is(400).says("initialize");
    // A failed `initialize` creates no session.
    let nonsense = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
    let refused = Client::new(&live).post(&nonsense).is(200);
    assert_eq!(refused.body["error"]["code"], -32602);
    assert_eq!(field(&refused, "mcp-session-id"), None);
}

#[test]
fn requests_that_break_the_rules_get_the_status_that_says_which() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let ping = ping(1).to_string();
    let asks = |fields: &[(&str, &str)], body: &str| client.ask("POST", fields, body);
    asks(&[("Content-Type", "text/plain")], &ping).is(415);
    asks(&[("Accept", "application/json")], &ping)
        .is(406)
        .says("event-stream");
    asks(&[("Accept", "text/event-stream")], &ping).is(406);
    asks(&[("Accept", "*/*")], &ping).is(200);
    asks(&[("MCP-Protocol-Version", "1999-01-01")], &ping)
        .is(400)
        .says(NEWEST);
    asks(&[("MCP-Protocol-Version", "2025-06-18")], &ping).is(200);
    assert_eq!(asks(&[], "{nonsense").status, 400);
    assert_eq!(asks(&[], "{nonsense").body["error"]["code"], -32700);
    assert_eq!(asks(&[], "[]").body["error"]["code"], -32600);
    assert_eq!(asks(&[], &format!("[{ping}]")).status, 400);
    // A response to an unknown request is accepted and has no effect.
    asks(&[], r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).is(202);
    assert_eq!(
        asks(&[], &ping.replace("ping", "no/such")).body["error"]["code"],
        -32601
    );
    for last in ["", "1-0", "7-1", "x", "18446744073709551616-1"] {
        let refused = client.ask("GET", &[("Last-Event-ID", last)], "").is(405);
        assert_eq!(field(&refused, "allow").as_deref(), Some("POST, DELETE"));
    }
    client.ask("GET", &[], "").is(405);
    client.ask("HEAD", &[], "").is(405).says_nothing();
    client
        .ask("GET", &[("Accept", "application/json")], "")
        .is(406);
    client.ask("PUT", &[], "{}").is(405);
    Client::new(&live).ask("DELETE", &[], "").is(400);
    client.post(&shell(2, "true")).is(200);
}

#[test]
fn what_is_refused_says_why_in_the_form_of_the_protocol() {
    let server = Server::new();
    let file = server.root().join("secret");
    std::fs::write(&file, "open sesame").unwrap();
    let file = file.to_str().unwrap();
    let live = server.start_as(&["mcp", "todo", "--http", "0", "--secret-file", file]);
    let client = Client::new(&live);
    let key = ("X-Secret-Key", "open sesame");
    let refused = |status, method: &str, fields: &[(&str, &str)], said: &str| {
        let answer = client.ask(method, fields, "{}").is(status);
        assert_eq!(answer.body["jsonrpc"], "2.0");
        assert_eq!(answer.body["id"], Value::Null);
        assert_eq!(answer.body["error"]["code"], -32600);
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    };
    refused(401, "POST", &[], "X-Secret-Key");
    refused(403, "POST", &[("Host", "evil.com")], "evil.com");
    refused(400, "POST", &[key], "initialize");
    refused(404, "POST", &[key, ("Mcp-Session-Id", "x")], "initialize");
    refused(405, "PUT", &[key], "PUT");
    refused(406, "POST", &[key, ("Accept", "a/b")], "application/json");
    refused(
        415,
        "POST",
        &[key, ("Content-Type", "a/b")],
        "application/json",
    );
    // Refused before the head is parsed.
    refused(400, "POST", &[("no field", "x")], "");
}

#[test]
fn batches_are_taken_in_the_version_that_has_them() {
    let live = developer();
    let client = Client::initialized(&live, "2025-03-26");
    let both = json!([ping(1), {"jsonrpc": "2.0", "method": "notifications/x"}, ping(2)]);
    let answer = client.post(&both).is(200);
    let mut ids: Vec<_> = (0..2).map(|n| answer.body[n]["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
    client
        .post(&json!([{"jsonrpc": "2.0", "method": "notifications/x"}]))
        .is(202);
}

#[test]
fn a_batch_of_millions_of_parts_is_refused_before_it_is_read() {
    let live = developer();
    let zeros = format!("[{}0]", "0,".repeat(4 << 20));
    for version in [None, Some(NEWEST), Some("2025-03-26")] {
        let client = match version {
            Some(version) => Client::initialized(&live, version),
            None => Client::new(&live),
        };
        let before = live.memory("VmHWM");
        client.ask("POST", &[], &zeros).is(400);
        let grown = live.memory("VmHWM").saturating_sub(before);
        assert!(grown < 64 << 20, "{version:?}: {grown} bytes for 8 MiB");
    }
    // A batch may have a thousand parts.
    let client = Client::initialized(&live, "2025-03-26");
    let pings = |count| Value::from((0..count).map(ping).collect::<Vec<_>>());
    let answer = client.post(&pings(1_000)).is(200);
    assert_eq!(answer.body.as_array().map(Vec::len), Some(1_000));
    client.post(&pings(1_001)).is(400).says("1000");
}

#[test]
fn pages_of_other_sites_and_other_names_are_refused() {
    let live = developer();
    let hello = initialize(NEWEST).to_string();
    let client = Client::new(&live);
    let asks = |field: (&str, &str)| client.ask("POST", &[field], &hello);
    for evil in ["http://evil.com", "null", "https://localhost.evil.com"] {
        asks(("Origin", evil)).is(403).says("GOOSE_ALLOWED_HOSTS");
        let preflight = [("Origin", evil), ("Access-Control-Request-Method", "POST")];
        client.ask("OPTIONS", &preflight, "").is(403);
    }
    asks(("Host", "evil.com")).is(403);
    // A valid session does not allow access to another one.
    let two = [
        ("Origin", "http://localhost"),
        ("Origin", "http://evil.com"),
    ];
    client.ask("POST", &two, &hello).is(403);
    let answer = asks(("Origin", "http://localhost:6274")).is(200);
    let shown = field(&answer, "access-control-expose-headers");
    assert_eq!(shown.as_deref(), Some("Mcp-Session-Id"));
    let preflight = [
        ("Origin", "http://127.0.0.1:5173"),
        ("Access-Control-Request-Method", "POST"),
    ];
    client.ask("OPTIONS", &preflight, "").is(200);
}

/// The statuses that pages of these origins get of an endpoint that a program serves itself.
fn statuses(access: AccessControl) -> [u16; 6] {
    let sessions = Arc::new(Sessions::new(|| {
        gosling::mcp::server::Server::new("own", "1.0.0")
    }));
    let router = mcp_endpoint::router(&sessions);
    let server = http::Server::bind(("127.0.0.1", 0), router, access, Limits::default()).unwrap();
    let body = initialize(NEWEST).to_string();
    let post = |origin: &str| {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{origin}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read("POST /mcp".to_owned(), stream).status
    };
    let statuses = [
        "",
        "Origin: http://localhost:5173\r\n",
        "Origin: http://127.0.0.1\r\n",
        "Origin: https://app.example\r\n",
        "Origin: https://evil.example\r\n",
        "Origin: null\r\n",
    ]
    .map(post);
    server.stop(Duration::from_secs(1));
    sessions.close();
    statuses
}

#[test]
fn an_endpoint_of_a_program_takes_pages_of_this_machine_unless_told_otherwise() {
    let local = [200, 200, 200, 403, 403, 403];
    assert_eq!(statuses(AccessControl::default()), local);
    let named = AccessControl::default().origins(["https://app.example"]);
    assert_eq!(statuses(named), [200, 200, 200, 200, 403, 403]);
    let hosts = AccessControl::new(None, vec!["app.example".to_owned()]);
    assert_eq!(statuses(hosts), [200, 200, 200, 200, 403, 403]);
    assert_eq!(statuses(AccessControl::default().any_origin()), [200; 6]);
}

#[test]
fn with_a_secret_only_those_who_know_it_may_call() {
    let server = Server::new();
    let file = server.root().join("secret");
    std::fs::write(&file, "open sesame\nand no more\n").unwrap();
    let file = file.to_str().unwrap();
    let live = server.start_as(&["mcp", "todo", "--http", "0", "--secret-file", file]);
    let hello = initialize(NEWEST).to_string();
    let client = Client::new(&live);
    client.ask("POST", &[], &hello).is(401);
    client
        .ask("POST", &[("X-Secret-Key", "open")], &hello)
        .is(401);
    client
        .ask("POST", &[("X-Secret-Key", "open sesame")], &hello)
        .is(200);
    live.never_logs("sesame");
    live.never_logs("every user");
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn what_takes_long_is_told_as_it_comes_and_an_old_client_gets_no_empty_event() {
    let live = developer();
    for (version, primed) in [(NEWEST, true), ("2025-06-18", false)] {
        let client = Client::initialized(&live, version);
        let mut events = client.begin(&shell(1, "echo one; read line; echo two; sleep 2"));
        if primed {
            assert_eq!(events.next(), Some(("1-0".to_owned(), Value::Null)));
        }
        let rest = events.rest();
        let ids: Vec<&str> = rest.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["1-1", "1-2", "1-3"]);
        assert_eq!(rest[0].1["params"]["data"]["output"], "one");
        assert_eq!(rest[2].1["id"], 1);
        assert_eq!(rest[2].1["result"]["content"][0]["text"], "one\ntwo\n");
    }
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn connections_that_were_given_up_take_nothing_from_the_last_one() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    for round in 1..=8 {
        let go = live.work().join(format!("go {round}"));
        let wait = format!("until [ -e '{}' ]; do sleep 0.1; done", go.display());
        let mut events = client.begin(&shell(round, &wait));
        let (first, _) = events.next().expect("the first id");
        drop(events);
        for _ in 0..40 {
            drop(client.send("GET", &[("Last-Event-ID", &first)], ""));
        }
        let last = client.resume(&first);
        std::fs::write(&go, "").unwrap();
        let rest = last.rest();
        assert_eq!(rest.len(), 1, "round {round}");
        assert_eq!(rest[0].1["id"], round);
    }
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_broken_connection_cancels_nothing_and_the_rest_is_to_be_had() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let go = live.work().join("go");
    let wait = format!(
        "echo one; until [ -e {} ]; do sleep 0.1; done; echo two",
        go.display()
    );
    let mut events = client.begin(&shell(1, &wait));
    let (begin, _) = events.next().expect("the first id");
    let (last, first) = events.next().expect("a line");
    assert_eq!(first["params"]["data"]["output"], "one");
    drop(events);
    // A listener gets nothing more after a newer one has connected.
    let mut early = client.resume(&begin);
    assert_eq!(early.next(), Some((last.clone(), first)));
    let late = client.resume(&last);
    assert_eq!(early.next(), None);
    std::fs::write(&go, "").unwrap();
    let rest = late.rest();
    assert_eq!(rest.len(), 2);
    assert_eq!(rest[0].1["params"]["data"]["output"], "two");
    assert_eq!(rest[1].1["result"]["content"][0]["text"], "one\ntwo\n");
    // A client that lost the end may ask again until it has everything.
    assert_eq!(client.resume(&rest[0].0).rest(), rest[1..]);
    client
        .ask("GET", &[("Last-Event-ID", &rest[1].0)], "")
        .is(405);
    // Another session has no access to it.
    let other = Client::initialized(&live, NEWEST);
    other.ask("GET", &[("Last-Event-ID", &last)], "").is(405);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_cancelled_call_ends_with_its_processes_and_its_stream() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let nap = unique_sleep();
    let events = client.begin(&shell(1, &format!("echo one; sleep {nap} & sleep {nap}")));
    running(&nap, 2);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    client.post(&cancel).is(202);
    assert!(events.rest().iter().all(|(_, message)| message["id"] != 1));
    running(&nap, 0);
    client.post(&ping(1)).is(200);
}

#[test]
fn a_call_that_was_overtaken_by_its_cancellation_does_not_begin() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    client.post(&cancelled).is(202);
    let begun = live.root().join("begun");
    let command = format!("touch {}", begun.display());
    let answer = client.ask("POST", &[], &shell(7, &command).to_string());
    assert!(!answer.text.contains("\"id\":7"), "{}", answer.text);
    client.post(&ping(8)).is(200);
    assert!(!begun.exists());
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_client_that_does_not_read_holds_up_nothing_and_costs_little() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let done = live.work().join("done");
    let command = format!(
        "yes 0123456789abcdef | head -c 60000000; touch {}",
        done.display()
    );
    let stream = client.send("POST", &[], &shell(1, &command).to_string());
    until("the command ends all the same", || {
        done.exists().then_some(())
    });
    client.post(&ping(2)).is(200);
    let peak = live.memory("VmHWM");
    assert!(peak < 64 << 20, "{peak} bytes");
    drop(stream);
    client.ask("DELETE", &[], "").is(200);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn many_calls_at_once_get_their_own_answers() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let streams: Vec<_> = (1..=20)
        .map(|id| client.begin(&shell(id, &format!("echo line {id}; sleep 1.5"))))
        .collect();
    for (id, events) in (1..).zip(streams) {
        let rest = events.rest();
        let (_, answer) = rest.last().expect("an answer");
        assert_eq!(answer["id"], id);
        assert_eq!(
            answer["result"]["content"][0]["text"],
            format!("line {id}\n")
        );
    }
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_signal_ends_it_with_all_that_it_started() {
    let live = developer();
    let client = Client::initialized(&live, NEWEST);
    let nap = unique_sleep();
    let events = client.begin(&shell(1, &format!("echo one; sleep {nap}")));
    running(&nap, 1);
    assert!(live.terminate().success());
    running(&nap, 0);
    drop(events);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn many_sessions_end_together_however_long_each_takes() {
    let server = Server::new();
    let temporary = server.root().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let live = server
        .env("TMPDIR", temporary.to_str().unwrap())
        .start_as(&["mcp", "developer", "--http", "0"]);
    let clients: Vec<_> = (0..8).map(|_| Client::initialized(&live, NEWEST)).collect();
    let nap = unique_sleep();
    // A process that ignores TERM has a second; output that was too long to show is completely in a file.
    let command = format!("(trap '' TERM; exec sleep {nap}) & seq 200");
    for client in &clients {
        client.post(&shell(1, &command)).is(200);
    }
    let kept = || fs::read_dir(&temporary).unwrap().count();
    running(&nap, clients.len());
    assert_eq!(kept(), clients.len());
    assert!(live.terminate().success());
    running(&nap, 0);
    assert_eq!(kept(), 0, "it ended before all of them had");
}

#[test]
fn sessions_that_end_leave_nothing_behind() {
    let live = developer();
    let round = || {
        let clients: Vec<_> = (0..8).map(|_| Client::initialized(&live, NEWEST)).collect();
        for client in &clients {
            client.post(&shell(1, "sleep 100 & true")).is(200);
        }
        for client in clients {
            client.ask("DELETE", &[], "").is(200);
        }
        live.without_descendants()
    };
    round();
    let before = round();
    round();
    live.returns_to(before);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn our_own_client_gets_along_with_it() {
    let mcp = developer();
    let url = format!("http://{}/mcp", mcp.address());
    let call = |arguments: &str| {
        let arguments = ["call", "--url", &url, "shell", arguments];
        Command::new(GOSLING).args(arguments).output().unwrap()
    };
    let output = call(r#"{"command": "echo over HTTP; sleep 2"}"#);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("over HTTP"), "{text}");

    let server = Server::new().start();
    let entry = json!({"type": "streamable_http", "name": "dev", "uri": url});
    let session = server.session([Extension(entry)]);
    let pwd = session
        .call("dev__shell", json!({"command": "pwd; sleep 1.5"}))
        .is(200);
    let work = server.work().canonicalize().unwrap();
    assert_eq!(pwd.content(), format!("{}\n", work.display()));
    // A client of gosling that hangs up cancels the call, over HTTP as elsewhere.
    let nap = unique_sleep();
    let call = session.begin_call("dev__shell", json!({"command": format!("sleep {nap}")}));
    running(&nap, 1);
    drop(call);
    running(&nap, 0);
    // The end of the session ends the processes that it started on the server.
    let background = format!("sleep {nap} & true");
    session
        .call("dev__shell", json!({"command": background}))
        .is(200);
    running(&nap, 1);
    session.stop();
    running(&nap, 0);
}

#[test]
fn its_command_line_says_what_is_wrong() {
    let fails = |arguments: &[&str], with: &str| {
        let output = Command::new(GOSLING)
            .arg("mcp")
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(with), "{text}");
    };
    fails(&["todo", "--http", "70000"], "is not a port");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    fails(&["todo", "--secret-file", file], "--http");
    fails(&["nosuch", "--http", "0"], "developer");
    let taken = developer();
    let port = taken.address().port().to_string();
    fails(&["todo", "--http", &port], "choose a free one");
    let mut rest = String::new();
    let mut idle = TcpStream::connect(taken.address()).unwrap();
    idle.write_all(b"GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .unwrap();
    idle.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 404 "), "{rest}");
}
