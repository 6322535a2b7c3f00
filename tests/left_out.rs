//! The smallest build: what it leaves out is answered like something unknown, with a hint.
#![cfg(not(any(
    feature = "anthropic",
    feature = "chat",
    feature = "containers",
    feature = "deeplinks",
    feature = "demo",
    feature = "desktop",
    feature = "developer",
    feature = "google",
    feature = "inline-python",
    feature = "manual",
    feature = "memory",
    feature = "metrics",
    feature = "ollama",
    feature = "recipes",
    feature = "schedules",
    feature = "pinning",
    feature = "sandbox",
    feature = "screening",
    feature = "search",
    feature = "session-events",
    feature = "streamable-http",
    feature = "tls",
    feature = "todo",
)))]

mod support;

use serde_json::{Value, json};
use support::server::{Extension, Server, gosling};
use support::temp_dir;

fn hint(feature: &str) -> String {
    format!("this gosling was built without it, `cargo build --features {feature}` adds it")
}

#[test]
fn a_builtin_server_that_is_left_out_is_unknown() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let unknown = session.add(Extension::builtin("nosuch"));
    for name in ["demo", "developer", "memory", "todo"] {
        let answer = session.add(Extension::builtin(name)).says(&hint(name));
        assert_eq!(answer.status, unknown.status, "{name}");
    }
    let platform = json!({"type": "platform", "name": "todo"});
    session.add(Extension(platform)).says(&hint("todo"));
    let text = unknown.says("no builtin extension of this name").text;
    assert!(!text.contains("built without"), "{text}");
}

#[test]
fn a_provider_that_is_left_out_is_unknown() {
    let server = Server::new().env("ANTHROPIC_API_KEY", "key").start();
    let session = server.session([]);
    let update = |provider: &str| {
        let body = json!({"provider": provider, "model": "m"});
        session.post("/agent/update_provider", body)
    };
    let unknown = update("nosuch");
    for name in ["anthropic", "google", "ollama", "openai"] {
        if name != "openai" || cfg!(not(feature = "openai")) {
            let answer = update(name).says(&hint(name));
            assert_eq!(answer.status, unknown.status, "{name}");
        }
    }
    update("scripted").is(200);
    let listed = server.get("/config/providers").is(200);
    let names: Vec<&str> = (listed.body.as_array().into_iter().flatten())
        .filter_map(|provider| provider["name"].as_str())
        .collect();
    assert_eq!(
        names.contains(&"openai"),
        cfg!(feature = "openai"),
        "{names:?}"
    );
    assert!(names.contains(&"scripted"), "{names:?}");
    for name in ["anthropic", "google", "ollama"] {
        assert!(!names.contains(&name), "{names:?}");
    }
}

#[test]
fn the_key_of_a_provider_that_is_left_out_stays_secret() {
    let server = Server::new()
        .env("GOOGLE_API_KEY", "open sesame")
        .setting("ANTHROPIC_API_KEY", "open sesame")
        .start();
    for key in ["GOOGLE_API_KEY", "ANTHROPIC_API_KEY"] {
        let read = json!({"key": key, "is_secret": false});
        server.post("/config/read", read).never_says("open sesame");
    }
    server.get("/config").is(200).never_says("open sesame");
}

#[test]
fn no_server_is_reached_over_http() {
    let server = Server::new().start();
    let remote = json!({"type": "streamable_http", "name": "remote", "uri": "http://127.0.0.1:9"});
    let answer = server.session([]).add(Extension(remote));
    answer
        .says("no server can be reached over HTTP")
        .says(&hint("streamable-http"));
}

#[cfg(not(feature = "openai"))]
#[test]
fn no_provider_behind_http_is_known() {
    let server = Server::new().start();
    let body = json!({"provider": "groq", "model": "m"});
    let answer = server.session([]).post("/agent/update_provider", body);
    answer.says("`cargo build --features openai` adds them");
    let output = gosling().arg("models").output().expect("gosling runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&hint("openai")), "{said}");
}

/// A session with a model at `host`, and the answer to the choice of that model.
#[cfg(feature = "openai")]
fn with_model(server: Server, host: &str) -> String {
    let server = server
        .env("OPENAI_HOST", host)
        .env("OPENAI_API_KEY", "key")
        .start();
    let session = server.session([]);
    let body = json!({"provider": "openai", "model": "m"});
    let chosen = session.post("/agent/update_provider", body);
    chosen.text + &Value::from(session.say("hello").events).to_string()
}

#[cfg(feature = "openai")]
#[test]
fn a_proxy_over_tls_is_refused_with_the_reason() {
    let proxied = Server::new().env("HTTP_PROXY", "https://user:password@127.0.0.1:9");
    let answer = with_model(proxied, "http://192.0.2.1");
    for part in ["the proxy needs TLS", &hint("tls")] {
        assert!(answer.contains(part), "{answer}");
    }
}

#[cfg(feature = "openai")]
#[test]
fn a_provider_of_the_users_own_needs_its_protocol() {
    let server = Server::new();
    let folder = server.root().join("config/custom_providers");
    std::fs::create_dir_all(&folder).unwrap();
    let provider = json!({
        "name": "ours", "engine": "ollama", "display_name": "Ours", "api_key_env": "",
        "base_url": "http://127.0.0.1:9", "models": [{"name": "m", "context_limit": 1000}],
    });
    std::fs::write(folder.join("ours.json"), provider.to_string()).unwrap();
    let server = server.start();
    let session = server.session([]);
    let body = json!({"provider": "ours", "model": "m"});
    session
        .post("/agent/update_provider", body)
        .says("the protocol `ollama` is not available")
        .says(&hint("ollama"));
}

#[cfg(feature = "openai")]
#[test]
fn https_is_refused_with_the_reason() {
    let answer = with_model(Server::new(), "https://127.0.0.1:9");
    for part in ["needs TLS", &hint("tls")] {
        assert!(answer.contains(part), "{answer}");
    }
}

#[test]
fn a_link_is_not_read() {
    let server = Server::new().start();
    let link = json!({"link": "goose://extension?name=x&cmd=npx"});
    let answer = server.post("/config/extensions/deeplink", link);
    answer.is(404).says(&hint("deeplinks"));
}

#[test]
fn schedules_and_the_openapi_document_are_unknown() {
    let server = Server::new().start();
    for path in ["list", "x/inspect", "x/sessions"] {
        let answer = server.get(&format!("/schedule/{path}"));
        answer.is(404).says(&hint("schedules"));
    }
    for path in ["create", "x/pause", "x/unpause", "x/run_now", "x/kill"] {
        let answer = server.post(&format!("/schedule/{path}"), json!({}));
        answer.is(404).says(&hint("schedules"));
    }
    let answer = server.post("/recipes/schedule", json!({}));
    answer.is(404).says(&hint("schedules"));
    let answer = server.delete("/schedule/delete/x");
    answer.is(404).says(&hint("schedules"));
    server.get("/openapi.json").is(404).says(&hint("manual"));
}

#[test]
fn what_only_the_pages_of_a_desktop_use_is_unknown() {
    let server = Server::new().start();
    for path in [
        "/agent/list_apps",
        "/config/validate",
        "/diagnostics/20260101_1",
        "/mcp-app-proxy",
        "/system_info",
        "/tunnel/status",
    ] {
        server.get(path).is(404).says(&hint("desktop"));
    }
    for path in ["/config/custom-providers", "/config/recover"] {
        let answer = server.post(path, json!({}));
        answer.is(404).says(&hint("desktop"));
    }
    server.get("/metrics").is(404).says(&hint("metrics"));
    server.ask("GET", "/metrics", None, None).is(401);
}

#[test]
fn turns_that_outlive_their_client_are_unknown() {
    let server = Server::new().start();
    let session = server.session([]);
    let events = format!("/sessions/{}/events", session.id);
    server.get(&events).is(404).says(&hint("session-events"));
    server
        .get("/sessions/search?query=a")
        .is(404)
        .says(&hint("search"));
}

#[test]
fn no_extension_runs_in_a_container() {
    let server = Server::new().start();
    let session = server.session([]);
    let one = json!({"type": "stdio", "name": "one", "cmd": "true", "container": "box"});
    session.add(Extension(one)).says(&hint("containers"));
    let body = json!({"session_id": session.id, "container_id": "box"});
    let answer = server.post("/agent/set_container", body);
    answer.is(400).says(&hint("containers"));
}

#[test]
fn nothing_starts_without_the_walls_that_are_wanted() {
    let one = json!({"type": "stdio", "name": "one", "cmd": "true"});
    let server = Server::new().env("GOOSE_EXTENSION_SANDBOX", "workspace");
    let server = server.start();
    let answer = server.session([]).add(Extension(one.clone()));
    answer.says(&hint("sandbox"));
    let server = Server::new().start();
    let one = Extension(one).with("sandbox", "strict");
    server.session([]).add(one).says(&hint("sandbox"));
}

#[test]
fn nothing_starts_unscreened_that_a_setting_wants_screened() {
    for (setting, value) in [
        ("GOOSE_SCREENING", "strict"),
        ("GOOSE_ALLOWLIST", "/nonexistent/allowed.yaml"),
        ("GOOSE_ADVISORIES", "/nonexistent"),
        ("OSV_ENDPOINT", "http://127.0.0.1:9"),
    ] {
        let server = Server::new().env(setting, value).start();
        let one = json!({"type": "stdio", "name": "one", "cmd": "true"});
        let answer = server.session([]).add(Extension(one));
        answer.says(&hint("screening"));
    }
}

#[test]
fn nothing_starts_with_unpinned_tools_that_a_setting_wants_pinned() {
    let server = Server::new().env("GOOSE_TOOL_PINNING", "strict").start();
    let one = json!({"type": "stdio", "name": "one", "cmd": "true"});
    let answer = server.session([]).add(Extension(one));
    answer.says(&hint("pinning"));
    let accept = server.post("/agent/extensions/accept", json!({"name": "one"}));
    accept.is(404).says(&hint("pinning"));
}

#[test]
fn python_code_of_a_configuration_is_not_run() {
    let server = Server::new().start();
    let python = json!({"type": "inline_python", "name": "p", "description": "", "code": "1"});
    let answer = server.session([]).add(Extension(python));
    answer.says(&hint("inline-python"));
}

#[test]
fn recipes_are_unknown_and_everything_beside_them_works() {
    let server = Server::new().start();
    let recipe = json!({"title": "T", "description": "D", "prompt": "go"});
    let encode = json!({"recipe": recipe});
    server
        .post("/recipes/encode", encode)
        .is(404)
        .says(&hint("recipes"));
    let decode = json!({"deeplink": "e30"});
    server
        .post("/recipes/decode", decode)
        .is(404)
        .says(&hint("recipes"));
    for path in [
        "create",
        "save",
        "delete",
        "parse",
        "to-yaml",
        "scan",
        "slash-command",
    ] {
        let answer = server.post(&format!("/recipes/{path}"), json!({}));
        answer.is(404).says(&hint("recipes"));
    }
    for path in ["/recipes/list", "/config/prompts"] {
        server.get(path).is(404).says(&hint("recipes"));
    }
    let start = json!({"working_dir": server.work(), "recipe": recipe});
    server
        .post("/agent/start", start)
        .is(422)
        .says(&hint("recipes"));
    let start = json!({"working_dir": server.work(), "recipe_deeplink": "e30"});
    server
        .post("/agent/start", start)
        .is(400)
        .says(&hint("recipes"));
    let commands = server.get("/config/slash_commands").is(200);
    assert!(commands.text.contains("compact"), "{}", commands.text);
    server.session([Extension::demo()]).tools();
}

#[test]
fn a_command_or_topic_that_is_left_out_is_unknown() {
    let root = temp_dir();
    let run = |arguments: &[&str]| {
        let output = gosling()
            .args(arguments)
            .env("GOOSE_PATH_ROOT", root.path())
            .output()
            .expect("gosling runs");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    for command in ["chat", "call", "extensions", "run"] {
        let (code, text) = run(&[command]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(&hint("chat")), "{text}");
    }
    let (code, text) = run(&["recipe", "validate", "a.yaml"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&hint("recipes")), "{text}");
    let (code, text) = run(&["help"]);
    assert_eq!(code, Some(0), "{text}");
    for command in ["call", "chat", "demo", "extensions", "mcp", "recipe", "run"] {
        assert!(!text.contains(&format!("\n  {command} ")), "{text}");
    }
    assert!(text.contains("\nleft out of this build: "), "{text}");
    let (code, text) = run(&["demo"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&hint("demo")), "{text}");
    let (code, text) = run(&["help", "security"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&hint("manual")), "{text}");
    for server in ["demo", "developer", "memory", "todo"] {
        let (code, text) = run(&["mcp", server]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("there is no command \"mcp\""), "{text}");
        assert!(text.contains(&hint(server)), "{text}");
    }
    for arguments in [&["mcp"][..], &["mcp", "nonsense"], &["nonsense", "demo"]] {
        let (code, text) = run(arguments);
        assert_eq!(code, Some(2), "{text}");
        assert!(!text.contains("built without"), "{text}");
    }
}

#[test]
fn an_imported_session_comes_without_its_recipe() {
    let server = Server::new().start();
    let file = json!({"working_dir": server.work(), "name": "shared", "conversation": [],
        "recipe": {"title": "T", "description": "D", "instructions": "Be brief"}});
    let body = json!({"json": file.to_string()});
    let session = server.post("/sessions/import", body).is(200);
    assert_eq!(session.body["recipe"], Value::Null);
}

#[test]
fn https_that_is_left_out_is_refused() {
    let root = temp_dir();
    let file = root.path().join("certificate.pem");
    let [file, no] = [file.to_str().unwrap(), ""];
    for (arguments, variable, files) in [
        (&["--tls"][..], "false", no),
        (&[], "true", no),
        (&[], no, file),
    ] {
        let output = gosling()
            .args(["agent", "--port", "0"])
            .args(arguments)
            .env("GOOSE_PATH_ROOT", root.path())
            .env("GOOSE_TLS", variable)
            .env("GOOSE_TLS_CERT_PATH", files)
            .env("GOOSE_TLS_KEY_PATH", files)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("this build has no TLS") && said.contains(&hint("tls")),
            "{said}"
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn options_and_places_of_a_service_are_unknown() {
    if !gosling::features::is_left_out("service") {
        return;
    }
    let root = temp_dir();
    let refused = |arguments: &[&str], place: Option<&str>| {
        let mut command = gosling();
        command.arg("agent").args(arguments);
        command.env("GOOSE_PATH_ROOT", root.path());
        command.envs(place.map(|place| ("GOOSE_LISTEN", place)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for option in ["--end-with-stdin", "--listen", "--port-file", "--ready"] {
        let said = refused(&[option], None);
        let unknown = format!("{option} is unknown; {}", hint("service"));
        assert!(said.contains(&unknown), "{said}");
    }
    let said = refused(&[], Some("unix:/nonexistent/socket"));
    assert!(said.contains(&hint("service")), "{said}");
    let said = refused(&["--nosuch"], None);
    assert!(!said.contains("built without"), "{said}");
}
