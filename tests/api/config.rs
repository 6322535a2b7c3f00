//! `/config` and `/config/extensions`: settings, secrets and configured extensions.

use crate::support::server::{Extension, RunningServer, Server};
use serde_json::{Value, json};
use std::fs;

fn read(server: &RunningServer, key: &str, is_secret: bool) -> Value {
    let body = json!({"key": key, "is_secret": is_secret});
    server.post("/config/read", body).is(200).body
}

#[test]
fn only_status_is_open_to_everybody() {
    let server = Server::new().start();
    let status = server.ask("GET", "/status", None, None).is(200);
    assert_eq!(status.text, "ok");
    for (method, path) in [
        ("GET", "/config"),
        ("POST", "/agent/start"),
        ("DELETE", "/agent/start"),
        ("GET", "/no/such/path"),
    ] {
        server
            .ask(method, path, None, None)
            .is(401)
            .says("X-Secret-Key");
        server.ask(method, path, Some("wrong"), None).is(401);
    }
    server.get("/no/such/path").is(404);
    server.delete("/agent/start").is(405);
}

/// The configured extensions, apart from the platform extensions of Goose.
fn listed(server: &RunningServer) -> Vec<Value> {
    let all = server.get("/config/extensions").is(200).body;
    let all = all["extensions"].as_array().expect("a list").iter();
    all.filter(|entry| entry["type"] != "platform")
        .cloned()
        .collect()
}

#[test]
fn settings_are_read_written_and_removed() {
    let server = Server::new()
        .config("GOOSE_PROVIDER: openai\ncustom_key:\n  nested: [1, two, true]\n")
        .start();
    assert_eq!(read(&server, "GOOSE_PROVIDER", false), "openai");
    assert_eq!(
        read(&server, "custom_key", false),
        json!({"nested": [1, "two", true]})
    );
    server
        .post("/config/read", json!({"key": "NOPE", "is_secret": false}))
        .is(200)
        .says("null");
    let body = json!({"key": "x_key", "value": {"a": [1]}, "is_secret": false});
    server
        .post("/config/upsert", body)
        .is(200)
        .gives(json!("Upserted key x_key"));
    assert_eq!(read(&server, "x_key", false), json!({"a": [1]}));
    let all = server.get("/config").is(200).body["config"].to_string();
    let expected =
        r#"{"GOOSE_PROVIDER":"openai","custom_key":{"nested":[1,"two",true]},"x_key":{"a":[1]}"#;
    assert!(all.starts_with(expected), "{all}");
    for key in ["x_key", "never"] {
        let body = json!({"key": key, "is_secret": false});
        let answer = server.post("/config/remove", body).is(200);
        answer.gives(json!(format!("Removed key {key}")));
    }
    assert_eq!(read(&server, "x_key", false), Value::Null);
}

#[test]
fn a_variable_wins_over_the_file() {
    let server = Server::new()
        .config("some_number: 1\n")
        .env("SOME_NUMBER", "7")
        .start();
    assert_eq!(read(&server, "some_number", false), 7);
}

#[test]
fn secrets_are_masked_and_private() {
    let server = Server::new().start();
    let secret = "abcdefghijklmnop";
    let body = json!({"key": "X_SECRET", "value": secret, "is_secret": true});
    server
        .post("/config/upsert", body)
        .is(200)
        .never_says(secret);
    assert_eq!(
        read(&server, "X_SECRET", true),
        json!({"maskedValue": "abcdefgh********"})
    );
    assert_eq!(read(&server, "X_SECRET", false), Value::Null);
    assert_eq!(read(&server, "ABSENT", true), Value::Null);
    server.get("/config").is(200).never_says(secret);
    let file = server.root().join("config/secrets.yaml");
    assert!(fs::read_to_string(&file).unwrap().contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    server.never_logs(secret);
    let body = json!({"key": "X_SECRET", "is_secret": true});
    server
        .post("/config/remove", body)
        .is(200)
        .gives(json!("Removed key X_SECRET"));
    assert_eq!(read(&server, "X_SECRET", true), Value::Null);
}

#[cfg(feature = "openai")]
#[test]
fn what_a_provider_or_an_extension_calls_secret_is_masked_however_it_is_asked_for() {
    const VALUE: &str = "abcdefghijklmnop";
    let server = Server::new()
        .config(&format!(
            "GROQ_API_KEY: {VALUE}\nOPENAI_HOST: http://127.0.0.1:1\nextensions:\n  x:\n    \
             enabled: false\n    type: stdio\n    name: x\n    cmd: x\n    \
             env_keys: [OF_CONFIGURED, OPENAI_HOST]\n"
        ))
        .secrets("STORED: other\n");
    let folder = server.root().join("config/custom_providers");
    fs::create_dir_all(&folder).unwrap();
    let custom = json!({
        "name": "mine", "engine": "openai", "display_name": "Mine", "api_key_env": "MY_OWN_KEY",
        "base_url": "http://127.0.0.1:1", "models": [{"name": "m", "context_limit": 1000}],
    });
    fs::write(folder.join("mine.json"), custom.to_string()).unwrap();
    let names = [
        "OPENAI_API_KEY",
        "MY_OWN_KEY",
        "OF_CONFIGURED",
        "OF_SESSION",
        "STORED",
    ];
    let server = names
        .iter()
        .fold(server, |server, name| server.env(name, VALUE));
    let server = server.start();
    let script = crate::support::scripted::Script::new();
    let one = Extension::scripted("one", &script).with("env_keys", ["OF_SESSION"]);
    server.session([one]).stop();
    let masked = json!({"maskedValue": "abcdefgh********"});
    for name in names.into_iter().chain(["GROQ_API_KEY"]) {
        assert_eq!(read(&server, name, false), masked, "{name}");
        if name != "GROQ_API_KEY" {
            assert_eq!(read(&server, name, true), masked, "{name}");
        }
        assert_ne!(read(&server, &name.to_lowercase(), false), VALUE);
    }
    // A provider declares that this setting is not a secret.
    assert_eq!(read(&server, "OPENAI_HOST", false), "http://127.0.0.1:1");
    let all = server.get("/config").is(200).never_says(VALUE);
    assert_eq!(all.body["config"]["GROQ_API_KEY"], "abcdefgh********");
}

#[test]
fn a_variable_that_is_not_a_setting_is_not_shown() {
    const VALUE: &str = "abcdefghijklmnop";
    let server = Server::new()
        .env("DATABASE_URL", VALUE)
        .env("GOOSE_MODE", "approve")
        .env("CONTEXT_FILE_NAMES", "[]")
        .env("OPENAI_HOST", "http://127.0.0.1:2")
        .start();
    for name in ["DATABASE_URL", "database_url", "PATH", "HOME"] {
        for is_secret in [false, true] {
            assert_eq!(read(&server, name, is_secret), Value::Null, "{name}");
        }
    }
    assert_eq!(read(&server, "goose_mode", false), "approve");
    assert_eq!(read(&server, "CONTEXT_FILE_NAMES", false), json!([]));
    let host = read(&server, "OPENAI_HOST", false);
    let known = if cfg!(feature = "openai") {
        json!("http://127.0.0.1:2")
    } else {
        Value::Null
    };
    assert_eq!(host, known);
}

#[test]
fn a_variable_is_not_shown_while_the_file_of_secrets_cannot_be_read() {
    const VALUE: &str = "abcdefghijklmnop";
    let server = Server::new()
        .secrets("STORED: [unclosed\n  more: {\n")
        .env("STORED", VALUE)
        .start();
    let body = json!({"key": "STORED", "is_secret": false});
    let answer = server.post("/config/read", body);
    answer.is(422).never_says(VALUE);
}

#[test]
fn the_servers_own_key_is_told_to_nobody() {
    let server = Server::new().start();
    for key in [
        "GOOSE_SERVER__SECRET_KEY",
        "goose_server__secret_key",
        // The upper case of the long s is S.
        "goose_\u{17f}erver__secret_key",
    ] {
        assert_eq!(read(&server, key, false), Value::Null);
        assert_eq!(read(&server, key, true), Value::Null);
    }
}

#[test]
fn a_broken_file_is_refused_and_left_alone() {
    let broken = "GOOSE_PROVIDER: openai\nextensions: [unclosed\n  more: {\n";
    let server = Server::new().config(broken).start();
    let entry = json!({
        "name": "x", "enabled": true, "config": {"type": "stdio", "name": "x", "cmd": "true"},
    });
    let key = json!({"key": "k", "value": 1, "is_secret": false});
    for answer in [
        server.get("/config"),
        server.get("/config/extensions"),
        server.post("/config/extensions", entry),
        server.delete("/config/extensions/x"),
        server.post("/config/read", key.clone()),
        server.post("/config/upsert", key.clone()),
        server.post("/config/remove", key),
        server.post("/agent/start", json!({"working_dir": server.work()})),
    ] {
        answer.is(422).says("config.yaml").says("line");
    }
    // Requests that do not need the file succeed.
    server.session([]).stop();
    let file = fs::read_to_string(server.root().join("config/config.yaml")).unwrap();
    assert_eq!(file, broken);
}

#[test]
fn extensions_are_added_updated_and_removed() {
    let server = Server::new().start();
    let config = json!({
        "type": "stdio", "name": "Bench Tools", "description": "d", "cmd": "true", "args": [],
        "envs": {"A": "1"}, "env_keys": [], "timeout": 30, "bundled": null, "available_tools": [],
    });
    for (what, enabled) in [("Added", false), ("Updated", true)] {
        let entry = json!({"name": "Bench Tools", "enabled": enabled, "config": config});
        let answer = server.post("/config/extensions", entry).is(200);
        answer.gives(json!(format!("{what} extension Bench Tools")));
        let mut expected = config.clone();
        expected["enabled"] = enabled.into();
        assert_eq!(listed(&server), [expected]);
    }
    for (path, name) in [("Bench%20Tools", "Bench Tools"), ("none", "none")] {
        let answer = server.delete(&format!("/config/extensions/{path}")).is(200);
        answer.gives(json!(format!("Removed extension {name}")));
    }
    assert_eq!(listed(&server), [Value::Null; 0]);
}

#[test]
fn every_type_comes_back_as_it_was_sent() {
    let server = Server::new().start();
    let all = [
        json!({"type": "builtin", "name": "b", "description": "", "display_name": "B",
            "timeout": 300, "bundled": true, "available_tools": []}),
        json!({"type": "stdio", "name": "s", "description": "d", "cmd": "c", "args": ["1"],
            "envs": {"Z": "1", "A": "2"}, "env_keys": ["K"], "timeout": null, "bundled": null,
            "available_tools": ["t"], "of_tomorrow": {"a": [null]}}),
        json!({"type": "streamable_http", "name": "h", "description": "", "uri": "http://x/",
            "envs": {}, "env_keys": ["TOKEN"], "headers": {"Authorization": "Bearer $TOKEN"},
            "timeout": 5, "bundled": null, "available_tools": []}),
        json!({"type": "frontend", "name": "f", "description": "", "tools": [{"name": "t",
            "description": "x", "inputSchema": {"type": "object"}}], "instructions": "use it",
            "bundled": null, "available_tools": []}),
        json!({"type": "inline_python", "name": "p", "description": "", "code": "print(1)",
            "timeout": null, "dependencies": ["mcp"], "available_tools": []}),
        json!({"type": "sse", "name": "old", "description": "", "uri": "http://x/sse"}),
        json!({"type": "platform", "name": "todo", "description": "", "display_name": "Todo",
            "bundled": true, "available_tools": []}),
    ];
    for config in &all {
        let entry = json!({"name": config["name"], "enabled": false, "config": config});
        server.post("/config/extensions", entry).is(200);
    }
    let listed = server.get("/config/extensions").is(200);
    for (sent, back) in all
        .iter()
        .zip(listed.body["extensions"].as_array().unwrap())
    {
        let mut expected = json!({"enabled": false});
        expected
            .as_object_mut()
            .unwrap()
            .extend(sent.as_object().unwrap().clone());
        assert_eq!(back.to_string(), expected.to_string());
    }
    let warning = "'old': SSE is unsupported, migrate to streamable_http";
    assert_eq!(listed.body["warnings"], json!([warning]));
    let session = server.start(json!({"working_dir": server.work(), "extension_overrides": all}));
    let path = format!("/sessions/{}/extensions", session.id);
    server.get(&path).is(200).gives(json!({"extensions": all}));
}

#[test]
fn an_entry_that_makes_no_sense_hides_no_other() {
    let server = Server::new()
        .config(
            "extensions:\n  bad:\n    enabled: true\n    type: nope\n    name: bad\n  \
             good:\n    enabled: true\n    type: builtin\n    name: good\n",
        )
        .start();
    let names: Vec<Value> = listed(&server).iter().map(|e| e["name"].clone()).collect();
    assert_eq!(names, ["good"]);
    let warnings = server.get("/config/extensions").is(200).body["warnings"].clone();
    assert!(
        warnings[0].as_str().unwrap().contains("'bad'"),
        "{warnings}"
    );
    server.start(json!({"working_dir": server.work()}));
}

#[test]
fn what_is_no_extension_is_refused_with_the_reason() {
    let server = Server::new().start();
    let post = |config: Value| {
        let entry = json!({"name": "b", "enabled": true, "config": config});
        server.post("/config/extensions", entry).is(422)
    };
    post(json!({"type": "nope", "name": "b"})).says("type: unknown variant `nope`");
    post(json!({"type": "stdio", "name": "b"})).says("missing field `cmd`");
    post(json!({"type": "stdio", "cmd": "b"})).says("missing field `name`");
    post(json!({"type": "streamable_http", "name": "b", "url": "http://x"}))
        .says("missing field `uri`")
        .says("not `url`");
    let entry = json!({"name": "b", "config": {"type": "sse", "name": "b"}});
    server
        .post("/config/extensions", entry)
        .is(422)
        .says("missing field `enabled`");
    let raw = |body: &str| {
        let key = Some(crate::support::client::KEY);
        server.ask("POST", "/config/extensions", key, Some(body))
    };
    raw("{nope")
        .is(400)
        .says("Failed to parse the request body as JSON");
    raw("").is(400);
    raw("[]").is(422);
    let entry = json!({"name": " ", "enabled": true, "config": {"type": "sse", "name": "b"}});
    server.post("/config/extensions", entry).is(400);
}
