//! JSON that strict readers refuse, wherever it enters: halves of surrogate pairs, numbers beyond the range of a
//! double. Nothing of it comes out of an API, a file or a request. The readers of these tests are strict: each
//! fails on the first such escape or number.

use crate::model_server::{DONE, ModelServer, Reply, delta, event, finish, says};
use crate::support::client::KEY;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Odd JSON texts of all kinds, as one array.
fn odd() -> String {
    let digits = "7".repeat(2_000);
    let all = [
        r#""a\ud800b""#,
        r#""\uDFFF\ud83d\ud83d\ude00""#,
        r#""\\\ud800\"\udc00""#,
        r#"{"\udbff":"\udbff","deep":[[{"n":1E+400}]]}"#,
        "1e999",
        "-1e999",
        &digits,
        &format!("-{digits}.5"),
        &format!("{digits}e-1990"),
        &format!("0.{digits}"),
    ];
    format!("[{}]", all.join(","))
}

/// Fails if strict readers refuse the text, in which each line or the whole is JSON.
#[track_caller]
fn is_strict(text: &str, what: &str) {
    let whole = serde_json::from_str::<Value>(text);
    let lines = || {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.try_for_each(|line| serde_json::from_str::<Value>(line).map(drop))
    };
    if let Err(error) = whole.map(drop).or_else(|_| lines()) {
        panic!("{what}: {error}: {text}");
    }
}

/// Checks every JSON file in this folder.
#[track_caller]
fn files_are_strict(folder: &Path) -> usize {
    let mut checked = 0;
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            checked += files_are_strict(&path);
        } else if path
            .extension()
            .is_some_and(|it| it == "json" || it == "jsonl")
        {
            let text = fs::read_to_string(&path).expect("text");
            is_strict(&text, &path.display().to_string());
            checked += 1;
        }
    }
    checked
}

/// Checks what the server stores and exports of a session.
#[track_caller]
fn is_stored_strictly(session: &Session<'_>) -> Value {
    let read = |route: &str| {
        let path = format!("/sessions/{}{route}", session.id);
        let answer = session.server.get(&path).is(200);
        is_strict(&answer.text, &path);
        answer.body
    };
    let exported = read("/export");
    let exported = exported.as_str().expect("a text");
    is_strict(exported, "the export");
    if cfg!(feature = "search") {
        let found = session.server.get("/sessions/search?query=odd").is(200);
        is_strict(&found.text, "the search");
    }
    assert!(files_are_strict(&session.server.root().join("data")) >= 2);
    read("")
}

fn with_model(model: &ModelServer) -> RunningServer {
    Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("OPENAI_HOST", model.url.as_str())
        .env("OPENAI_API_KEY", "none")
        .start()
}

/// A message of the user with odd parts.
fn message(odd: &str) -> String {
    format!(
        r#"{{"id":"m","role":"user","created":1,"content":[{{"type":"hologram","x":{odd}}},
        {{"type":"text","text":"odd \ud800"}}],"metadata":{{"userVisible":true,"agentVisible":true}}}}"#
    )
    .replace('\n', " ")
}

#[cfg(feature = "openai")]
#[test]
fn what_servers_and_models_send_comes_out_for_strict_readers() {
    let odd = odd();
    let arguments = json!(format!(r#"{{"a":{odd}}}"#));
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"c","type":"function","function":{{"name":"one__odd","arguments":{arguments}}}}}]}}"#
    );
    let model = ModelServer::with(move |request| {
        let has = |member: &str| request.body.contains(member);
        if has("\"tool\"") || !has("\"tools\"") {
            return Reply::stream(says(&["Done."]));
        }
        let stream = [
            delta(r#"{"content":"odd \ud800"}"#),
            event(r#"{"id":"x","unknown":1e999,"choices":[]}"#),
            delta(&call),
            finish("tool_calls"),
            DONE.to_owned(),
        ];
        Reply::stream(stream.concat())
    });
    let record = Record::new();
    let answer = |result: String| {
        Action::line(&format!(
            r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#
        ))
    };
    let list = format!(
        r#"{{"tools":[{{"name":"odd","title":"\ud800","description":"odd \udfff","_meta":{{"x":{odd}}},
        "inputSchema":{{"type":"object","properties":{{"a":{{"description":"\ud800","default":{odd}}}}}}}}},
        {{"name":"\ud800","inputSchema":{{"enum":{odd}}}}}]}}"#
    );
    let note = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{odd}}}}}"#
    );
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"odd \ud800"}},{{"type":"hologram","x":{odd}}}],
        "structuredContent":{{"s":{odd}}},"_meta":{{"m":{odd}}}}}"#
    );
    let script = Script::new()
        .recorded(&record.path())
        .instructions("odd")
        .on("tools/list", [answer(list.replace('\n', " "))])
        .tool(
            "odd",
            [Action::line(&note), answer(result.replace('\n', " "))],
        );
    let server = with_model(&model);
    let file = server.root().join("script");
    let session = server.session([Extension::scripted_by(&file, "one", &script)]);

    let turn = session.say("go").finishes();
    for event in &turn.events {
        is_strict(&event.to_string(), "an event");
    }
    assert_eq!(turn.events_of("Notification").len(), 1);
    // Both recorders fail on JSON that is not strict.
    let called = record.wait_for_message("tools/call");
    assert_eq!(called["params"]["arguments"]["a"][0], "a\u{fffd}b");
    assert_eq!(called["params"]["arguments"]["a"][4], 1e308);
    assert_eq!(called["params"]["arguments"]["a"][5], -1e308);
    for request in model.seen() {
        is_strict(&request.body, "a request to the model");
    }
    let tools = server
        .get(&format!("/agent/tools?session_id={}", session.id))
        .is(200);
    is_strict(&tools.text, "the tools");
    let result = session.call("one__odd", json!({})).is(200);
    is_strict(&result.text, "a result");
    assert_eq!(result.body["content"][0]["text"], "odd \u{fffd}");
    let stored = is_stored_strictly(&session);
    assert_eq!(
        stored["conversation"].as_array().map(Vec::len),
        Some(4),
        "{stored}"
    );
}

#[cfg(feature = "openai")]
#[test]
fn what_clients_send_and_import_comes_out_for_strict_readers() {
    let odd = odd();
    let model = ModelServer::with(|_| Reply::stream(says(&["Yes."])));
    let server = with_model(&model);
    let session = server.session([]);
    let message = message(&odd);
    let body = format!(
        r#"{{"session_id":"{}","user_message":{message}}}"#,
        session.id
    );
    server.ask("POST", "/reply", Some(KEY), Some(&body)).is(200);
    is_stored_strictly(&session);
    for file in [
        format!("{{\"working_dir\":\"/\",\"message_count\":1}}\n{message}"),
        format!(r#"{{"working_dir":"/","conversation":[{message}],"x":1e999}}"#),
    ] {
        let imported = server
            .post("/sessions/import", json!({"json": file}))
            .is(200)
            .body;
        let session = server.known(imported["id"].as_str().expect("an id"));
        let stored = is_stored_strictly(&session);
        assert_eq!(
            stored["conversation"].as_array().map(Vec::len),
            Some(1),
            "{stored}"
        );
    }
    let body = format!(r#"{{"key":"ODD","value":{odd},"is_secret":false}}"#);
    server
        .ask("POST", "/config/upsert", Some(KEY), Some(&body))
        .is(200);
    let config = server.get("/config").is(200);
    is_strict(&config.text, "the configuration");
    assert_eq!(config.body["config"]["ODD"][0], "a\u{fffd}b");
}

#[test]
fn sessions_and_settings_that_another_program_wrote_are_read() {
    let server =
        Server::scripted(json!({"repeat": true, "turns": [{"steps": [{"text": "Yes."}]}]}));
    let server = server.setting("ODD", json!("kept")).start();
    let session = server.session([]);
    session.say("go").finishes();
    let id = session.id.clone();
    assert!(server.terminate().success());
    let append = |path: &str, text: &str| {
        let path = server.root().join(path);
        let before = fs::read_to_string(&path).expect("a file");
        fs::write(&path, format!("{before}{text}\n")).unwrap();
    };
    append(
        &format!("data/sessions/{id}/messages.jsonl"),
        &message(&odd()),
    );
    let digits = "7".repeat(2_000);
    append(
        "config/config.yaml",
        &format!("N: 1e999\nM: .nan\nL: {digits}"),
    );
    let server = server.again();
    is_strict(&server.get("/config").is(200).text, "the configuration");
    for route in ["", "/export"] {
        let answer = server.get(&format!("/sessions/{id}{route}")).is(200);
        is_strict(&answer.text, route);
    }
    let turn = server.known(&id).say("go").finishes();
    assert_eq!(turn.text(), "Yes.");
}
