//! Keys of clients on a real server: what each role may do, over HTTP and over the Agent Client Protocol, and how keys
//! come and go.
#![cfg(all(feature = "keys", feature = "manual", feature = "scripted"))]

mod support;

use gosling::keys::{Role, role_of};
use serde_json::{Value, json};
use std::fs;
use std::io::{PipeWriter, Read, Write};
use std::net::TcpStream;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use support::client::{Answer, KEY};
use support::server::{Extension, RunningServer, Server, gosling};
use support::until;

/// Runs `gosling keys` on the files of this server.
fn keys(server: &RunningServer, arguments: &[&str]) -> Output {
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", server.root());
    command.arg("keys").args(arguments).output().unwrap()
}

/// What `gosling keys` prints.
#[track_caller]
fn done(server: &RunningServer, arguments: &[&str]) -> String {
    let output = keys(server, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A new key.
#[track_caller]
fn add(server: &RunningServer, name: &str, role: &str, more: &[&str]) -> String {
    let printed = done(server, &[&["add", name, "--role", role], more].concat());
    let key = printed.trim_end();
    assert!(
        key.starts_with("gosling_") && !key.contains(char::is_whitespace),
        "{printed}"
    );
    key.to_owned()
}

/// How `gosling keys` fails.
#[track_caller]
fn refused(server: &RunningServer, arguments: &[&str], code: i32) -> String {
    let output = keys(server, arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[track_caller]
fn get(server: &RunningServer, key: &str, path: &str) -> Answer {
    server.ask("GET", path, Some(key), None)
}

#[track_caller]
fn post(server: &RunningServer, key: &str, path: &str, body: &Value) -> Answer {
    server.ask("POST", path, Some(key), Some(&body.to_string()))
}

/// A session of this client.
#[track_caller]
fn begin(server: &RunningServer, key: &str) -> String {
    let body = json!({"working_dir": server.work(), "extension_overrides": []});
    let started = post(server, key, "/agent/start", &body).is(200);
    started.body["id"].as_str().unwrap().to_owned()
}

/// A message of this client, to which the scripted model responds.
#[track_caller]
fn say(server: &RunningServer, key: &str, session: &str, text: &str) {
    let body = json!({
        "session_id": session,
        "user_message": {
            "role": "user", "created": 0, "content": [{"type": "text", "text": text}],
            "metadata": {"userVisible": true, "agentVisible": true},
        },
    });
    post(
        server,
        key,
        "/agent/resume",
        &json!({"session_id": session, "load_model_and_extensions": true}),
    )
    .is(200);
    post(server, key, "/reply", &body).is(200);
}

fn server() -> RunningServer {
    let script = json!({"turns": [{"steps": [{"text": "fine"}]}], "repeat": true});
    Server::scripted(script).start()
}

/// How `gosling keys` fails when it prints to this.
#[track_caller]
fn unshown(server: &RunningServer, arguments: &[&str], stdout: impl Into<Stdio>) {
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", server.root());
    command.arg("keys").args(arguments).stdout(stdout);
    let output = command.stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("nothing was changed: cannot write to stdout"),
        "{said}"
    );
}

/// The end of a pipe that nobody reads.
fn unread() -> PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_key_that_cannot_be_shown_changes_nothing() {
    let server = server();
    let team = add(&server, "team", "chat", &[]);
    let before = done(&server, &["list", "--json"]);
    for arguments in [&["rotate", "team"][..], &["add", "other", "--role", "read"]] {
        unshown(&server, arguments, unread());
        #[cfg(target_os = "linux")] // A device that is full.
        {
            let full = fs::File::options().write(true).open("/dev/full");
            unshown(&server, arguments, full.unwrap());
        }
    }
    assert_eq!(done(&server, &["list", "--json"]), before);
    get(&server, &team, "/sessions").is(200);
    // The audit log has how it ended.
    #[cfg(feature = "audit")]
    {
        let mut command = gosling();
        command.env("GOOSE_PATH_ROOT", server.root());
        let output = command
            .args(["audit", "show", "--outcome", "failed"])
            .output();
        let shown = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(shown.contains("keys.yaml"), "{shown}");
    }
}

#[test]
fn a_key_that_is_shown_and_cannot_be_stored_is_told_to_be_invalid() {
    let server = server();
    let team = add(&server, "team", "chat", &[]);
    let file = server.root().join("config/keys.yaml");
    // A file with anchors is not rewritten.
    let anchored = fs::read_to_string(&file)
        .unwrap()
        .replace("role: chat", "role: &a chat");
    fs::write(&file, &anchored).unwrap();
    let output = keys(&server, &["rotate", "team"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("nothing was changed"), "{said}");
    assert!(
        said.ends_with("the key that was printed is not valid\n"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), anchored);
    let printed = String::from_utf8(output.stdout).unwrap();
    get(&server, printed.trim_end(), "/sessions").is(401);
    get(&server, &team, "/sessions").is(200);
}

/// The operations of the document, with their roles.
fn operations(server: &RunningServer) -> Vec<(String, String, Value)> {
    let document = server.get("/openapi.json").is(200).body;
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            all.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    all
}

#[test]
fn each_role_may_do_what_the_document_says_and_nothing_else() {
    let server = server();
    let by_role: Vec<(Role, String)> = Role::ALL
        .map(|role| (role, add(&server, role.as_str(), role.as_str(), &[])))
        .into();
    let operations = operations(&server);
    assert!(operations.len() > 100);
    for (method, path, operation) in operations {
        let name = format!("{method} {path}");
        let wanted = operation["x-role"].as_str().unwrap().to_owned();
        // A file has one of the names that the document lists.
        let listed = operation.pointer("/parameters/0/schema/enum/0");
        let named = listed.and_then(Value::as_str).unwrap_or("x");
        let target = path
            .split('/')
            .map(|part| if part.starts_with('{') { named } else { part });
        let target = target.collect::<Vec<_>>().join("/");
        let body = (method != "GET").then_some("{}");
        if wanted == "none" {
            server.ask(&method, &target, None, body).is(200);
            continue;
        }
        let needed = Role::named(&wanted).unwrap();
        let is_in_query = path.ends_with("-proxy");
        server.ask(&method, &target, None, body).is(401);
        if is_in_query {
            // Frames need a ticket, see below.
            continue;
        }
        for (role, key) in &by_role {
            let answer = server.ask(&method, &target, Some(key), body);
            let refusal = format!("has the role {role}; {name} needs {needed}");
            // The audit log quotes refusals, and is none.
            let message = answer.body["message"].as_str().unwrap_or_default();
            assert_eq!(
                message.contains(&refusal),
                *role < needed,
                "{role}: {answer:?}"
            );
            assert_eq!(
                answer.status == 403,
                message.contains("has the role"),
                "{answer:?}"
            );
            assert_ne!(answer.status, 401, "{role}: {answer:?}");
        }
    }
    get(&server, &by_role[0].1, "/nothing").is(404);
    server
        .ask("DELETE", "/metrics", Some(&by_role[0].1), None)
        .is(405);
}

#[cfg(feature = "acp")]
#[test]
fn each_role_may_call_the_methods_of_the_table_and_no_others() {
    use gosling::acp::method_names;
    use std::collections::BTreeSet;
    use support::web_socket::WebSocketClient;

    let methods: BTreeSet<String> = method_names().into_iter().collect();
    let rows = gosling::keys::operations().filter_map(|(name, _)| name.strip_prefix("acp "));
    let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
    assert_eq!(methods, rows);

    let server = server();
    let refusal = |role: Role, method: &str| format!("has the role {role}; acp {method} needs");
    for role in Role::ALL {
        let key = add(&server, role.as_str(), role.as_str(), &[]);
        let field = format!("X-Secret-Key: {key}\r\n");
        if role == Role::Metrics {
            assert_eq!(
                support::web_socket::status(server.address(), "GET /acp", &field),
                403
            );
            continue;
        }
        let mut client = WebSocketClient::connect(server.address(), "/acp", &field);
        client.call("initialize", json!({"protocolVersion": 1}));
        for method in methods.iter().filter(|it| *it != "logout") {
            let id = client.begin(method, json!({"sessionId": "20200101_1"}));
            let response = client.response(id).to_string();
            let is_refused = role < role_of(&format!("acp {method}"));
            assert_eq!(
                response.contains(&refusal(role, method)),
                is_refused,
                "{method}: {response}"
            );
        }
        let id = client.begin("session/unheard_of", json!({}));
        let response = client.response(id).to_string();
        let is_refused = response.contains(&refusal(role, "session/unheard_of"));
        assert_eq!(is_refused, role < Role::Admin, "{response}");
    }
}

#[test]
fn a_key_is_shown_once_and_known_at_once_until_it_is_rotated_or_revoked() {
    let server = server();
    let key = add(&server, "grafana", "metrics", &["--expires", "2h"]);
    get(&server, &key, "/metrics").is(200);
    let bearer = |key: &str| {
        let fields = format!("Authorization: Bearer {key}\r\n");
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\n{fields}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    assert!(bearer(&key).starts_with("HTTP/1.1 200 "));
    let file = server.root().join("config/keys.yaml");
    let content = fs::read_to_string(&file).unwrap();
    assert!(
        !content.contains(&key) && content.contains("sha256: "),
        "{content}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let listed = done(&server, &["list"]);
    assert!(
        listed.contains("grafana") && listed.contains("metrics") && !listed.contains(&key),
        "{listed}"
    );
    let listed: Value = serde_json::from_str(&done(&server, &["list", "--json"])).unwrap();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["role"]),
        (&json!("grafana"), &json!("metrics"))
    );
    assert_eq!(
        (&listed[0]["sessions"], &listed[0]["is_expired"]),
        (&json!("all"), &json!(false))
    );
    let again = refused(&server, &["add", "grafana", "--role", "admin"], 1);
    assert!(
        again.contains("there is a key grafana; rotate or revoke it"),
        "{again}"
    );

    let rotated = done(&server, &["rotate", "grafana"]);
    let rotated = rotated.trim_end();
    get(&server, rotated, "/metrics").is(200);
    let old = bearer(&key);
    assert!(
        old.starts_with("HTTP/1.1 401 ") && old.contains("WWW-Authenticate: Bearer"),
        "{old}"
    );
    assert!(old.contains("The key is not the server's"), "{old}");
    done(&server, &["revoke", "grafana"]);
    get(&server, rotated, "/metrics").is(401);
    let unknown = refused(&server, &["revoke", "grafana"], 1);
    assert!(unknown.contains("there is no key \"grafana\""), "{unknown}");
    server.get("/metrics").is(200);

    // A time that is over, whoever has written it.
    let key = add(&server, "late", "metrics", &["--expires", "2h"]);
    get(&server, &key, "/metrics").is(200);
    let content = fs::read_to_string(&file).unwrap();
    let expires = content
        .lines()
        .find(|line| line.contains("expires:"))
        .unwrap();
    fs::write(
        &file,
        content.replace(expires, "  expires: 2020-01-01T00:00:00Z"),
    )
    .unwrap();
    get(&server, &key, "/metrics").is(401);
    assert!(done(&server, &["list"]).contains("2020-01-01T00:00:00Z (expired)"));
    // What cannot be read opens nothing but for the server's key.
    fs::write(&file, "late: [").unwrap();
    get(&server, &key, "/metrics").is(401);
    server.get("/metrics").is(200);
    server.logs("no key but the server's is valid");
}

#[cfg(feature = "audit")]
#[test]
fn the_audit_log_has_the_names_of_keys_and_what_becomes_of_them() {
    let server = server();
    let key = add(&server, "team", "chat", &[]);
    let session = begin(&server, &key);
    post(
        &server,
        &key,
        "/config/upsert",
        &json!({"key": "A", "value": "b", "is_secret": false}),
    )
    .is(403);
    done(&server, &["rotate", "team"]);
    done(&server, &["revoke", "team"]);
    let audit = |filters: &[&str]| -> Vec<Value> {
        let mut command = gosling();
        command.env("GOOSE_PATH_ROOT", server.root());
        let output = command
            .args(["audit", "show", "--json"])
            .args(filters)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains(&key), "{text}");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let created = audit(&["--kind", "session", "--session", &session]);
    assert_eq!(created[0]["key"], "team");
    let denied = audit(&["--kind", "refused", "--key", "team"]);
    assert_eq!(denied[0]["subject"], "POST /config/upsert");
    let changes = audit(&["--kind", "setting", "--extension", "keys.yaml"]);
    let changes: Vec<_> = changes
        .iter()
        .map(|it| (&it["subject"], &it["outcome"], &it["front"]))
        .collect();
    let (team, keys) = (json!("team"), json!("keys"));
    let outcomes = ["added", "rotated", "revoked"].map(Value::from);
    assert_eq!(
        changes,
        outcomes
            .iter()
            .map(|it| (&team, it, &keys))
            .collect::<Vec<_>>()
    );
}

#[cfg(all(feature = "acp", feature = "session-events"))]
#[test]
fn connections_end_with_their_key() {
    use support::web_socket::{WebSocketClient, request};
    let server = server();
    let session = begin(&server, KEY);
    for end in ["revoke", "rotate"] {
        let key = add(&server, "team", "chat", &[]);
        let kept = add(&server, end, "chat", &[]);
        let open = |key: &str| {
            let field = format!("X-Secret-Key: {key}\r\n");
            let target = format!("GET /sessions/{session}/events");
            let (head, stream) = request(server.address(), &target, &field);
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let mut client = WebSocketClient::connect(server.address(), "/acp", &field);
            client.call("initialize", json!({"protocolVersion": 1}));
            (stream, client)
        };
        let (mut other_stream, mut other) = open(&kept);
        let (mut stream, mut client) = open(&key);
        done(&server, &[end, "team"]);
        until("the stream is broken off", || {
            // It has comments twice a second.
            let read = stream.read(&mut [0; 1_000]);
            (!matches!(read, Ok(1..))).then_some(())
        });
        while client.frame().is_some() {}
        other.call("session/list", json!({}));
        assert_ne!(other_stream.read(&mut [0; 10]).unwrap(), 0);
        let _ = keys(&server, &["revoke", "team"]);
    }
}

#[test]
fn a_client_sees_its_own_sessions_only() {
    let server = server();
    let own = ["--sessions", "own"];
    let (a, b) = (
        add(&server, "a", "chat", &own),
        add(&server, "b", "chat", &own),
    );
    let reader = add(&server, "reader", "read", &[]);
    let (of_a, of_b, of_server) = (begin(&server, &a), begin(&server, &b), begin(&server, KEY));
    for (key, session) in [(&*a, &of_a), (&b, &of_b), (KEY, &of_server)] {
        say(&server, key, session, "needle");
    }
    let listed = |key: &str, path: &str| -> Vec<String> {
        let body = get(&server, key, path).is(200).body;
        let sessions = body.get("sessions").unwrap_or(&body).as_array().unwrap();
        let mut ids: Vec<String> = sessions
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    for path in ["/sessions", "/sessions/search?query=needle"] {
        assert_eq!(listed(&a, path), std::slice::from_ref(&of_a));
        assert_eq!(listed(&b, path), std::slice::from_ref(&of_b));
        assert_eq!(listed(&reader, path).len(), 3);
        assert_eq!(listed(KEY, path).len(), 3);
    }
    assert_eq!(
        get(&server, &a, "/sessions/insights").is(200).body["totalSessions"],
        1
    );

    // Every operation that names a session.
    let document = server.get("/openapi.json").is(200).body;
    let mut count = 0;
    for (method, path, operation) in operations(&server) {
        let role = operation["x-role"].as_str().and_then(Role::named);
        if role.is_none_or(|role| role > Role::Chat) {
            continue;
        }
        let named = |name: &str| ["session_id", "sessionId"].contains(&name);
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_query =
            parameters.filter(|it| it["in"] == "query" && named(it["name"].as_str().unwrap()));
        let query: Vec<String> = in_query
            .map(|it| format!("{}={of_b}", it["name"].as_str().unwrap()))
            .collect();
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let schema = match schema["$ref"].as_str() {
            Some(path) => document.pointer(path.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        let members = schema["properties"].as_object().into_iter().flatten();
        let body: Value = members
            .filter(|(name, _)| named(name))
            .map(|(name, _)| (name.clone(), json!(of_b)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let is_in_body = body.as_object().is_some_and(|it| !it.is_empty());
        if !path.contains("{session_id}") && query.is_empty() && !is_in_body {
            continue;
        }
        let target = format!(
            "{}?{}",
            path.replace("{session_id}", &of_b),
            query.join("&")
        );
        let body = (method != "GET").then(|| body.to_string());
        let answer = server.ask(&method, &target, Some(&a), body.as_deref());
        answer.is(404).says("Session not found");
        count += 1;
    }
    assert!(count >= 25, "{count}");
    // As one that does not exist.
    for id in ["20200101_1", "x", "..", "%2e%2e"] {
        let answer = get(&server, &a, &format!("/sessions/{id}"));
        assert_eq!(answer.status, 404, "{answer:?}");
    }
    get(&server, &a, &format!("/sessions/{of_a}"))
        .is(200)
        .says("needle");
    get(&server, &b, &format!("/sessions/{of_b}")).is(200);

    // Copies belong to those who make them; a file claims nothing.
    let copy = json!({"copy": true, "truncate": false});
    let forked = post(&server, &a, &format!("/sessions/{of_a}/fork"), &copy).is(200);
    let forked = forked.body["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(listed(&a, "/sessions").len(), 2);
    get(&server, &b, &format!("/sessions/{forked}")).is(404);
    let exported = get(&server, &a, &format!("/sessions/{of_a}/export"))
        .is(200)
        .body;
    assert!(
        exported.as_str().unwrap().contains("\"owner.v0\": \"a\""),
        "{exported}"
    );
    server
        .post("/sessions/import", json!({"json": exported}))
        .is(200);
    assert_eq!(listed(&a, "/sessions").len(), 2);
    // Two values for one name: neither opens the other's session.
    let body = format!(
        r#"{{"session_id": "{of_a}", "session_id": "{of_b}", "load_model_and_extensions": false}}"#
    );
    let twice = server.ask("POST", "/agent/resume", Some(&a), Some(&body));
    assert!(
        twice.status >= 400 && !twice.text.contains("needle"),
        "{twice:?}"
    );
    let body = format!(
        r#"{{"session_id": "{of_b}", "session_id": "{of_a}", "load_model_and_extensions": false}}"#
    );
    let twice = server.ask("POST", "/agent/resume", Some(&a), Some(&body));
    assert!(
        twice.status >= 400 && !twice.text.contains(&of_b),
        "{twice:?}"
    );

    let refusal = refused(
        &server,
        &["add", "c", "--role", "configure", "--sessions", "own"],
        2,
    );
    assert!(
        refusal.contains("reaches every session through the settings"),
        "{refusal}"
    );
}

#[cfg(feature = "acp")]
#[test]
fn a_client_of_a_web_socket_sees_its_own_sessions_only() {
    use support::web_socket::WebSocketClient;
    let server = server();
    let other = begin(&server, KEY);
    say(&server, KEY, &other, "needle");
    let key = add(&server, "a", "chat", &["--sessions", "own"]);
    let mut client = WebSocketClient::connect(
        server.address(),
        "/acp",
        &format!("X-Secret-Key: {key}\r\n"),
    );
    client.call("initialize", json!({"protocolVersion": 1}));
    let opened = client.call(
        "session/new",
        json!({"cwd": server.work(), "mcpServers": []}),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let prompt = client.begin_prompt(&session, "hello");
    client.response(prompt);
    let listed = client.call("session/list", json!({}));
    assert!(
        !listed.to_string().contains(&other) && listed.to_string().contains(&session),
        "{listed}"
    );
    let prompt = json!([{"type": "text", "text": "hello"}]);
    for method in [
        "session/load",
        "session/resume",
        "session/prompt",
        "session/close",
        "session/delete",
        "session/fork",
    ] {
        let params =
            json!({"sessionId": other, "cwd": server.work(), "mcpServers": [], "prompt": prompt});
        let id = client.begin(method, params);
        let response = client.response(id);
        assert_eq!(
            response["error"]["message"], "Session not found",
            "{method}: {response}"
        );
    }
    let server_of_client = json!([{"name": "x", "command": "/bin/sh", "args": [], "env": []}]);
    let id = client.begin(
        "session/new",
        json!({"cwd": server.work(), "mcpServers": server_of_client}),
    );
    let response = client.response(id).to_string();
    assert!(response.contains("need configure"), "{response}");
    get(&server, KEY, &format!("/sessions/{other}"))
        .is(200)
        .says("needle");
}

#[test]
fn those_who_chat_start_configured_extensions_only() {
    let server = server();
    let chat = add(&server, "chat", "chat", &[]);
    let configure = add(&server, "configure", "configure", &[]);
    let sneaky = Extension::shell("sneaky", "touch ran; cat").0;
    let start = |key: &str, extra: Value| {
        let mut body = json!({"working_dir": server.work()});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        post(&server, key, "/agent/start", &body)
    };
    start(&chat, json!({"extension_overrides": [sneaky]}))
        .is(403)
        .says("need configure");
    start(&chat, json!({"recipe": {"title": "t", "description": "d"}}))
        .is(403)
        .says("need configure");
    start(&chat, json!({"recipe_deeplink": "x"}))
        .is(403)
        .says("need configure");
    let session = begin(&server, &chat);
    let added = json!({"session_id": session, "config": sneaky});
    post(&server, &chat, "/agent/add_extension", &added)
        .is(403)
        .says("need configure");
    let body = json!({"name": "sneaky", "enabled": false, "config": sneaky});
    post(&server, &chat, "/config/extensions", &body)
        .is(403)
        .says("needs configure");
    post(&server, &configure, "/config/extensions", &body).is(200);
    // Now it is one of those that the user has.
    start(&chat, json!({"extension_overrides": [sneaky]})).is(200);
}

#[test]
fn those_who_read_see_no_secrets() {
    const SECRETS: [&str; 3] = ["hush-variable", "hush-field", "hush-password"];
    let server = server();
    let reader = add(&server, "reader", "read", &[]);
    let chat = add(&server, "chat", "chat", &[]);
    let program = Extension::shell("program", "cat")
        .with("envs", json!({"TOKEN": SECRETS[0]}))
        .0;
    let remote = json!({
        "type": "streamable_http", "name": "remote", "description": "",
        "uri": format!("http://me:{}@127.0.0.1:9/mcp", SECRETS[2]), "headers": {"X-Key": SECRETS[1]},
    });
    let body = json!({"working_dir": server.work(), "extension_overrides": [program, remote]});
    let session = server.post("/agent/start", body).is(200).body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    say(&server, KEY, &session, "hello");
    let whole = server.get(&format!("/sessions/{session}")).is(200);
    assert!(
        SECRETS.iter().all(|secret| whole.text.contains(secret)),
        "{whole:?}"
    );
    let mut paths = vec![
        "/sessions".to_owned(),
        "/sessions/search?query=hello".to_owned(),
    ];
    paths.extend(["", "/export", "/extensions"].map(|page| format!("/sessions/{session}{page}")));
    for path in paths {
        for key in [&reader, &chat] {
            let answer = get(&server, key, &path).is(200);
            assert!(answer.text.len() > 50, "{answer:?}");
            for secret in SECRETS {
                assert!(!answer.text.contains(secret), "{secret}: {answer:?}");
            }
        }
    }
    for path in [
        "/config",
        "/config/extensions",
        "/config/provider-secrets",
        "/config/custom-providers/x",
    ] {
        get(&server, &reader, path).is(403);
    }
    let body = json!({"key": "X", "is_secret": false});
    post(&server, &reader, "/config/read", &body).is(403);
}

#[cfg(feature = "desktop")]
#[test]
fn a_ticket_opens_one_path_for_those_who_may_open_it() {
    let server = server();
    let session = begin(&server, KEY);
    let path = format!("/sessions/{session}");
    let ticket = |key: &str, path: &str| {
        let answer = post(&server, key, "/ticket", &json!({"path": path})).is(200);
        assert_eq!(answer.body["expires_in"], 60);
        answer.body["ticket"].as_str().unwrap().to_owned()
    };
    let without_key = |method: &str, target: &str| server.ask(method, target, None, None);
    let read = add(&server, "reader", "read", &[]);
    let metrics = add(&server, "grafana", "metrics", &[]);
    for key in [KEY, &read] {
        let of_path = ticket(key, &path);
        without_key("GET", &format!("{path}?token={of_path}")).is(200);
        without_key("GET", &format!("{path}?token={of_path}")).is(200);
        without_key("GET", &format!("{path}/export?token={of_path}"))
            .is(401)
            .says("not valid for this path");
        without_key("GET", &format!("/sessions?token={of_path}")).is(401);
        without_key("DELETE", &format!("{path}?token={of_path}")).is(401);
        without_key("GET", &format!("{path}?secret={of_path}")).is(401);
        without_key("GET", &format!("{path}?token={of_path}x")).is(401);
        let of_frame = ticket(key, "/mcp-ui-proxy");
        without_key("GET", &format!("/mcp-ui-proxy?secret={of_frame}")).is(200);
        without_key("GET", &format!("/mcp-app-proxy?secret={of_frame}")).is(401);
    }
    // A ticket can do no more than its key, and ends with it.
    without_key("GET", &format!("{path}?token={}", ticket(&metrics, &path))).is(403);
    let of_reader = ticket(&read, &path);
    done(&server, &["rotate", "reader"]);
    without_key("GET", &format!("{path}?token={of_reader}")).is(401);
    // A key of a client is not for URLs.
    without_key("GET", &format!("{path}?token={metrics}")).is(401);
    for wrong in [
        json!({}),
        json!({"path": "acp"}),
        json!({"path": "/acp?x=y"}),
        json!({"path": format!("/{}", "x".repeat(3_000))}),
    ] {
        let answer = post(&server, KEY, "/ticket", &wrong);
        assert!([400, 422].contains(&answer.status), "{answer:?}");
    }
    server.never_logs("gosling_ticket_");
}

#[cfg(feature = "acp")]
#[test]
fn a_ticket_opens_a_web_socket() {
    use support::web_socket::WebSocketClient;
    let server = server();
    let key = add(&server, "page", "chat", &[]);
    let ticket = post(&server, &key, "/ticket", &json!({"path": "/acp"})).is(200);
    let target = format!("/acp?token={}", ticket.body["ticket"].as_str().unwrap());
    let mut client = WebSocketClient::connect(server.address(), &target, "");
    client.call("initialize", json!({"protocolVersion": 1}));
    let id = client.begin("_goose/unstable/config/read-all", json!({}));
    let response = client.response(id).to_string();
    assert!(
        response.contains("The key `page` has the role chat"),
        "{response}"
    );
}

#[test]
fn wrong_keys_without_end_keep_no_client_with_a_right_one_out() {
    let server = server();
    let key = add(&server, "grafana", "metrics", &[]);
    let (address, is_over) = (server.address(), AtomicBool::new(false));
    // Wine does one system call at a time.
    let guessers = if cfg!(windows) { 10 } else { 100 };
    let counts: Vec<usize> = thread::scope(|scope| {
        let guessers: Vec<_> = (0..guessers)
            .map(|n| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut count = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let Ok(mut stream) = TcpStream::connect(address) else {
                            continue;
                        };
                        let request = format!(
                            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: gosling_{n}\r\n\r\n"
                        );
                        let mut head = [0; 12];
                        let _ = stream
                            .write_all(request.as_bytes());
                        if stream.read_exact(&mut head).is_ok() {
                            assert_eq!(&head, b"HTTP/1.1 401");
                        }
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        for _ in 0..100 {
            get(&server, &key, "/metrics").is(200);
            server.get("/metrics").is(200);
        }
        is_over.store(true, Ordering::Relaxed);
        guessers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    server.logs("wrong keys address=127.0.0.1 count=");
    // The count is that of the address: the next wrong key is answered late, a right one is not.
    get(&server, "wrong", "/metrics")
        .is(401)
        .says("The key is not the server's");
    server
        .ask("GET", "/metrics", None, None)
        .is(401)
        .says("The request has no key");
    get(&server, &key, "/metrics").is(200);
}

#[test]
fn names_with_control_characters_reach_no_terminal_and_no_log() {
    let server = server();
    for name in ["a\nb", "\u{1b}[31mred", "server", "", "../x"] {
        let refusal = refused(&server, &["add", name, "--role", "read"], 2);
        assert!(
            !refusal.contains('\u{1b}') && !refusal.contains("a\nb"),
            "{refusal}"
        );
    }
    for arguments in [["revoke", "\u{1b}[31m"], ["rotate", "\u{1b}[31m"]] {
        assert!(!refused(&server, &arguments, 1).contains('\u{1b}'));
    }
    let hash = "0".repeat(64);
    let entries = ["\"\\e[31m\\nred\"", "good", "later"];
    let [bad, good, later] = entries;
    let content = format!(
        "{bad}: {{role: admin, sha256: {hash}}}\n{good}: {{role: read, sha256: {hash}}}\n\
         {later}: {{role: read, sha256: {hash}, only_from: 10.0.0.0/8}}\n"
    );
    fs::write(server.root().join("config/keys.yaml"), content).unwrap();
    let listed = done(&server, &["list"]);
    assert!(
        !listed.contains('\u{1b}') && listed.contains("good"),
        "{listed}"
    );
    assert!(
        listed.contains("is not valid: it has an unknown field `only_from`"),
        "{listed}"
    );
    assert!(!done(&server, &["list", "--json"]).contains('\u{1b}'));
    get(&server, "wrong", "/metrics").is(401);
    server.logs("key not valid");
    assert!(!server.log().contains('\u{1b}'));
    done(&server, &["revoke", "later"]);
    for wrong in [
        &["add", "x"][..],
        &["add", "x", "--role", "root"],
        &["add", "x", "--role", "read", "--expires", "yesterday"],
        &["add", "x", "--role", "read", "--sessions", "mine"],
        &["list", "x"],
        &["forget", "x"],
        &[],
    ] {
        refused(&server, wrong, 2);
    }
}
