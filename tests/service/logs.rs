//! The forms of log lines, and traces from a request to the servers behind gosling.

use crate::http_peer::{Peer, ReceivedRequest, answer_as_mcp_server};
use crate::model_server::{ModelServer, Reply, delta, finish, says};
use crate::support::client::{Answer, KEY};
use crate::support::server::{Extension, RunningServer, Server, gosling};
use crate::support::{temp_dir, turns, until};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn with_format(format: &str) -> RunningServer {
    let server = Server::new().env("GOOSE_LOG_FORMAT", format);
    server.env("GOOSE_ACCESS_LOG", "true").start()
}

/// Sends a request with these fields and this body.
#[track_caller]
fn ask(server: &RunningServer, line: &str, fields: &[&str], body: &Value) -> Answer {
    let body = body.to_string();
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Secret-Key: {KEY}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n{fields}\r\n{body}",
        body.len()
    )
    .unwrap();
    Answer::read(line.to_owned(), stream)
}

/// The log file of a server.
fn log_file(server: &RunningServer) -> String {
    let days = fs::read_dir(server.root().join("state/logs/server"));
    let mut days = days.into_iter().flatten();
    let day = days.next().map(|day| day.unwrap().path());
    let mut files = day.into_iter().flat_map(|day| fs::read_dir(day).unwrap());
    files.next().map_or(String::new(), |file| {
        fs::read_to_string(file.unwrap().path()).unwrap()
    })
}

#[test]
fn json_has_one_object_on_each_line() {
    let server = with_format("json");
    server.get("/sessions").is(200);
    ask(
        &server,
        "GET /sessions/a%22b?x=hidden",
        &[&format!("traceparent: {PARENT}")],
        &json!(null),
    );
    until("both lines", || {
        (server.log().matches("\"access\"").count() >= 2).then_some(())
    });
    let records: Vec<Value> = server
        .log()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let message = records[0]["message"].as_str().unwrap();
    assert!(
        message.contains(" listens on http://127.0.0.1:"),
        "{message}"
    );
    let of_path = |path: &str| {
        records
            .iter()
            .find(|it| it["fields"]["path"] == path)
            .unwrap()
    };
    let first = of_path("/sessions");
    assert_eq!(
        (&first["level"], &first["fields"]["status"]),
        (&json!("info"), &json!(200))
    );
    assert_eq!(first["fields"]["key"], "server");
    assert!(
        first["fields"]["ms"].is_number() && first.get("trace_id").is_none(),
        "{first}"
    );
    let second = of_path("/sessions/a%22b");
    assert_eq!(second["trace_id"], TRACE, "{second}");
    // The file has the same form.
    until("the file", || {
        let text = log_file(&server);
        let mut lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.any(|it| it["trace_id"] == TRACE).then_some(())
    });
}

#[test]
fn the_journal_gets_priorities_and_a_file_gets_times() {
    let server = with_format("journald");
    server.logs("<6>gosling ");
    for _ in 0..8 {
        server.ask("GET", "/sessions", Some("wrong"), None).is(401);
    }
    server.logs("<4>wrong keys address=127.0.0.1 count=");
    for line in server.log().lines() {
        assert!(line.starts_with("<6>") || line.starts_with("<4>"), "{line}");
    }
    until("the file", || {
        log_file(&server)
            .contains("Z WARN wrong keys")
            .then_some(())
    });
    assert!(!log_file(&server).contains("<4>"));
}

#[test]
fn an_unknown_form_refuses_the_start() {
    let root = temp_dir();
    let mut command = gosling();
    command
        .args(["agent", "--port", "0"])
        .env("GOOSE_PATH_ROOT", root.path());
    let output = command
        .env("GOOSE_LOG_FORMAT", "xml")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("GOOSE_LOG_FORMAT is neither text, json nor journald"),
        "{said}"
    );
}

/// Whether a request to the model is that of a turn.
fn is_of_turn(seen: &ReceivedRequest) -> bool {
    seen.body.contains("\"tools\":")
}

fn traces(seen: &[ReceivedRequest]) -> Vec<(Option<&str>, Option<&str>)> {
    seen.iter()
        .map(|it| (it.header("traceparent"), it.header("tracestate")))
        .collect()
}

#[test]
fn a_trace_goes_to_the_model_and_to_mcp_servers_over_http() {
    // Calls the tool once, and then has the result in the history; also names the session, without tools.
    let call = r#"{"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "far__echo", "arguments": "{}"}}]}"#;
    let models = ModelServer::with(move |seen| {
        Reply::stream(
            if is_of_turn(seen) && !seen.body.contains("\"tool_call_id\"") {
                delta(call) + &finish("tool_calls")
            } else {
                says(&["done"])
            },
        )
    });
    let peer = Peer::new(|seen, stream| answer_as_mcp_server(seen, stream, None, "far"));
    let far = Extension(json!({"type": "streamable_http", "name": "far", "uri": peer.url}));
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("GOOSE_MODE", "auto")
        .env("OPENAI_HOST", &models.url)
        .env("OPENAI_API_KEY", "k")
        .env("GOOSE_ACCESS_LOG", "true")
        .start();
    let session = server.session([far]);
    assert!(traces(&peer.seen()).iter().all(|it| *it == (None, None)));
    let before = peer.seen().len();

    let body = json!({"session_id": session.id, "user_message": turns::user("go")});
    let fields = [
        &*format!("traceparent: {PARENT}"),
        "tracestate: a=1",
        "TraceState: b=2",
    ];
    ask(&server, "POST /reply", &fields, &body)
        .is(200)
        .says("done");
    let with_it = (Some(PARENT), Some("a=1,b=2"));
    let of_turns = || -> Vec<_> { models.seen().into_iter().filter(is_of_turn).collect() };
    let seen = of_turns();
    assert_eq!(seen.len(), 2);
    assert!(
        traces(&seen).iter().all(|it| *it == with_it),
        "{:?}",
        traces(&seen)
    );
    let seen = peer.seen();
    let called = &traces(&seen)[before..];
    assert!(
        !called.is_empty() && called.iter().all(|it| *it == with_it),
        "{called:?}"
    );
    server.logs(&format!("key=\"server\" trace={TRACE}"));

    // One that is not valid is ignored, with its state.
    let wrong = format!("traceparent: {}", PARENT.to_uppercase());
    ask(&server, "POST /reply", &[&wrong, "tracestate: a=1"], &body)
        .is(200)
        .says("done");
    assert_eq!(traces(&of_turns())[2..], [(None, None)]);
}
