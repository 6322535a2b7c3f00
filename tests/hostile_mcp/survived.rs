//! Faults that are skipped, logged and counted while the session continues.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session};
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

fn with_extension<'a>(server: &'a RunningServer, script: &Script) -> Session<'a> {
    let session = server.session([Extension::scripted("odd", script)]);
    session.echoes("odd");
    session
}

#[test]
fn banners_before_and_between_messages() {
    let banner = "Server listening on stdio!\n\n\t\r\n{\"level\":\"info\"}\n5\n\"text\"\n[]\n";
    let noise = || Action::Out(banner.to_owned(), 1);
    let script = Script::new()
        .begin([noise()])
        .on("notifications/initialized", [noise()])
        .tool("noisy", [noise(), Action::text("found"), noise()]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    let answer = session.call("odd__noisy", json!({})).is(200);
    assert_eq!(answer.content(), "found");
    session.echoes("odd");
    server.logs("Server listening on stdio!");
    server.logs("\"odd\"");
}

#[test]
fn only_the_first_bad_lines_are_logged_and_those_shortened() {
    let long = format!("long {}\n", "x".repeat(10_000));
    let script = Script::new().begin([
        Action::Out(long, 1),
        Action::Out("noise {n}.\n".to_owned(), 1_000),
    ]);
    let server = Server::new().env("GOOSE_LOG", "debug").start();
    with_extension(&server, &script).stop();
    server.logs("noise 1.");
    server.logs("malformed=1001");
    server.never_logs("noise 100.");
    server.never_logs(&"x".repeat(1_000));
}

#[test]
fn lines_that_are_not_utf_8() {
    let mut bytes =
        b"\xff\xfe not text\n{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":\"\xc3\x28\"}\n"
            .to_vec();
    bytes.extend(b"\0\0\0\n");
    let script = Script::new()
        .begin([Action::Bytes(bytes.clone())])
        .tool("bytes", [Action::Bytes(bytes), Action::text("text again")]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    session
        .call("odd__bytes", json!({}))
        .is(200)
        .says("text again");
    session.echoes("odd");
    server.logs("not text");
}

#[test]
fn answers_that_nobody_asked_for_or_that_come_twice() {
    let answer = |id: &str, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        let result = json!({ "content": content });
        Action::line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
    };
    let script = Script::new().tool(
        "twice",
        [
            answer("999", "never asked"),
            answer("\"text\"", "not our id"),
            answer("-1", "never"),
            Action::line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#),
            Action::line(r#"{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"?"}}"#),
            answer("{id}", "the first"),
            answer("{id}", "the second"),
            answer("{id}", "the third"),
        ],
    );
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    for _ in 0..3 {
        let answer = session.call("odd__twice", json!({})).is(200);
        assert_eq!(answer.content(), "the first");
        session.echoes("odd");
    }
}

#[test]
fn requests_of_unknown_methods_are_refused() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool(
        "ask",
        [
            Action::Ask("roots/listen".into()),
            Action::Ask("tasks/list".into()),
            Action::text("asked"),
        ],
    );
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    session.call("odd__ask", json!({})).is(200).says("asked");
    for method in ["roots/listen", "tasks/list"] {
        let answer = record.answer(&format!("ask {method}"));
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    session.echoes("odd");
}

#[test]
fn a_ping_of_the_server_is_answered_even_while_it_is_asked() {
    let record = Record::new();
    let ping = || Action::Ask("ping".into());
    let script = Script::new()
        .recorded(&record.path())
        .tool("ping", [ping(), Action::text("pong")]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    session.call("odd__ping", json!({})).is(200).says("pong");
    let pong = record.answer("ask ping");
    assert_eq!(
        pong,
        json!({"jsonrpc": "2.0", "id": "ask ping", "result": {}})
    );
}

#[test]
fn a_flood_of_notifications() {
    let params = json!({"level": "info", "data": "drip {n}"});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
    let flood = Action::Out(format!("{message}\n"), 200_000);
    let script = Script::new().tool("flood", [flood, Action::text("dry again")]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    let before = server.log().len();
    let answer = session.call("odd__flood", json!({})).is(200);
    assert_eq!(answer.content(), "dry again");
    session.echoes("odd");
    assert!(
        server.log().len() < before + 10_000,
        "the flood is in the log"
    );
    stays_small(&server);
}

#[test]
fn a_flood_of_stderr() {
    let flood = Action::Err(format!("{}\n", "e".repeat(99)), 50 * MIB / 100);
    let script = Script::new().tool("flood", [flood, Action::text("dry again")]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    let answer = session.call("odd__flood", json!({})).is(200);
    assert_eq!(answer.content(), "dry again");
    session.echoes("odd");
    assert!(server.log().len() < 100_000, "the flood is in the log");
    stays_small(&server);
}

fn stays_small(server: &RunningServer) {
    if cfg!(target_os = "linux") {
        let peak = server.memory("VmHWM");
        assert!(peak < 64 * MIB, "{} MiB at the most", peak / MIB);
    }
}

#[test]
fn control_characters_never_reach_the_log() {
    let evil = "\x1b[2J\x1b]0;owned\x07\u{202e}\r evil";
    let script = Script::new()
        .begin([
            Action::Err(format!("{evil} stderr\n"), 1),
            Action::Out(format!("{evil} stdout\n"), 1),
        ])
        .tool("fail", [Action::Error(-32000, format!("{evil} error"))]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    let answer = session
        .call("odd__fail", json!({}))
        .is(500)
        .says("evil error");
    assert!(!answer.message().contains('\x1b'), "{}", answer.text);
    server.logs("evil stderr");
    server.logs("evil stdout");
    let log = server.log();
    let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!log.contains(bad), "{log:?}");
}

#[test]
fn nobody_else_writes_our_log() {
    let forged = "2026-01-01T00:00:00Z ERROR forged\n";
    let panic = "thread 'main' panicked at src/main.rs\nset RUST_BACKTRACE=1\nfatal error: oom\n";
    let odd = |actions: Vec<Action>| Extension::scripted("odd", &Script::new().begin(actions));
    let server = Server::new().env("GOOSE_LOG", "trace").start();
    let lines = || Action::Err(format!("one\n{forged}{panic}"), 1);
    let error = server.refuses(odd(vec![lines(), Action::Exit(101)]));
    assert!(
        error.contains(forged) && error.contains("panicked at"),
        "{error}"
    );
    server.session([odd(vec![lines(), Action::Out(panic.to_owned(), 1)])]);
    server.logs("forged");
    let log = server.log();
    assert!(
        !log.lines().any(|line| line.starts_with("2026-01-01")),
        "{log}"
    );
    // Goose Desktop takes these words as a sign that the server itself, not an extension, has died.
    for words in ["panicked at", "RUST_BACKTRACE", "fatal error"] {
        assert!(!log.contains(words), "{log}");
    }
}

#[test]
fn notifications_of_every_kind_and_none() {
    let script = Script::new().tool(
        "talk",
        [
            Action::notify("notifications/unheard/of", json!({"a": [1]})),
            Action::notify(
                "notifications/progress",
                json!({"progressToken": 99, "progress": 1}),
            ),
            Action::notify("notifications/progress", json!("no")),
            Action::notify("notifications/cancelled", json!({"requestId": 12345})),
            Action::notify("notifications/message", Value::Null),
            Action::notify("", json!({})),
            Action::text("said"),
        ],
    );
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    session.call("odd__talk", json!({})).is(200).says("said");
    session.echoes("odd");
}

#[test]
fn a_large_result_arrives_whole() {
    let script = Script::new().tool(
        "large",
        [Action::Text("0123456789abcdef".into(), 20 * MIB / 16)],
    );
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    let answer = session.call("odd__large", json!({})).is(200);
    let text = answer.content();
    assert_eq!(text.len(), 20 * MIB);
    assert!(text.ends_with("0123456789abcdef"));
    session.echoes("odd");
}

#[test]
fn a_batch_where_the_version_has_batches() {
    let result = json!({"content": [{"type": "text", "text": "from a batch"}]});
    let batch = format!(
        r#"[{{"jsonrpc":"2.0","method":"notifications/x"}},3,{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}]"#
    );
    let script = Script::new()
        .version("2025-03-26")
        .tool("batch", [Action::line(&batch)]);
    let server = Server::new().start();
    let session = with_extension(&server, &script);
    session
        .call("odd__batch", json!({}))
        .is(200)
        .says("from a batch");
    session.echoes("odd");
}

#[test]
fn a_batch_of_millions_of_parts_takes_no_more_memory_than_its_line() {
    let server = Server::new().start();
    for version in ["2025-03-26", "2025-11-25"] {
        let parts = [
            Action::Out("[".into(), 1),
            Action::Out("{},".into(), 3 * MIB),
            Action::line("{}]"),
        ];
        let script = Script::new().version(version).tool("parts", parts);
        let session = with_extension(&server, &script);
        let before = server.memory("VmHWM");
        let answer = session.call("odd__parts", json!({}));
        assert_ne!(answer.status, 200);
        answer.says("batch");
        let grown = server.memory("VmHWM").saturating_sub(before);
        assert!(grown < 100 * MIB, "{version}: {grown} bytes for 9 MiB");
        session.stop();
    }
}

#[test]
fn older_versions_are_accepted() {
    let server = Server::new().start();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let record = Record::new();
        let script = Script::new().version(version).recorded(&record.path());
        with_extension(&server, &script);
        let initialize = record.wait_for_message("initialize");
        assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(record.all("notifications/initialized").len(), 1);
    }
}

#[test]
fn what_was_not_declared_is_never_asked_for() {
    let record = Record::new();
    let initialized = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "serverInfo": {"name": "bare", "version": "0"},
    });
    let script = Script::new()
        .recorded(&record.path())
        .on("initialize", [Action::Result(initialized)]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("bare", &script)]);
    assert_eq!(session.tools(), Vec::<String>::new());
    session
        .call("bare__echo", json!({}))
        .is(500)
        .says("`tools`");
    session.read("bare", "x://y").is(500).says("`resources`");
    let methods = record.methods();
    assert!(!methods.contains("tools/list"), "{methods:?}");
    assert!(!methods.contains("tools/call"), "{methods:?}");
    assert!(!methods.contains("resources/read"), "{methods:?}");
}
