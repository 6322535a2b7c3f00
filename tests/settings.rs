//! Settings with wrong values and wrong names: the user learns which, where and what to do.
// Some tests need features that the build may leave out.
#![cfg_attr(
    not(all(feature = "desktop", feature = "screening")),
    allow(dead_code, unused_imports)
)]

#[path = "support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;
#[path = "support/model_server.rs"]
#[allow(dead_code)]
mod model_server;
mod support;

use model_server::{ModelServer, Reply};
use serde_json::{Value, json};
use std::fs;
use support::scripted::{Action, Script};
use support::server::{Extension, RunningServer, Server};

/// A model server that answers every request with `Hello.`
fn model() -> ModelServer {
    let body = json!({"choices": [{
        "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop",
    }]});
    ModelServer::with(move |_| Reply::json("200 OK", &body.to_string()))
}

/// A server with this `config.yaml` whose provider is `openai`.
fn openai(config: &str) -> Server {
    Server::new().config(&format!("GOOSE_PROVIDER: openai\n{config}"))
}

/// What `/config/validate` answers, with its status.
fn validated(server: &RunningServer) -> (u16, String) {
    let answer = server.get("/config/validate");
    let message = answer.body["message"].as_str();
    let text = message.or(answer.body.as_str()).expect("a sentence");
    (answer.status, text.to_owned())
}

/// How often the log has this text.
fn times_logged(server: &RunningServer, text: &str) -> usize {
    server.logs(text);
    server.log().matches(text).count()
}

#[test]
#[cfg(feature = "desktop")]
fn a_model_that_is_not_text_is_an_error_and_no_other_model_is_asked() {
    for (value, found) in [
        ("4.10", "the number 4.1"),
        ("[gpt-4o]", "a list"),
        ("true", "true"),
    ] {
        let model = model();
        let server = openai(&format!(
            "OPENAI_HOST: {}\nGOOSE_MODEL: {value}\n",
            model.url
        ))
        .start();
        let session = server.session([]);
        let mut turn = session.say("hello");
        for part in ["GOOSE_MODEL", "config.yaml, line 3,", found, "must be text"] {
            turn = turn.fails(part);
        }
        if !value.starts_with('[') {
            turn.fails("put it in quotes");
        }
        assert!(model.seen().is_empty(), "another model was asked");
        let (status, faults) = validated(&server);
        assert_eq!(status, 422);
        assert!(
            faults.contains("GOOSE_MODEL") && faults.contains(found),
            "{faults}"
        );
    }
}

#[cfg(feature = "openai")]
#[test]
fn a_host_that_is_a_list_is_an_error_and_never_the_vendors_host() {
    let server = openai("GOOSE_MODEL: m\nOPENAI_HOST: [http://127.0.0.1:1]\n")
        .env("OPENAI_API_KEY", "sk-very-secret-key")
        .start();
    let check = json!({"provider": "openai"});
    let refused = server.post("/config/check_provider", check).is(400);
    refused
        .says("OPENAI_HOST in ")
        .says("line 3")
        .says("a list")
        .says("a URL");
    server.session([]).say("hello").fails("OPENAI_HOST");
}

#[test]
#[cfg(feature = "desktop")]
fn a_secret_of_the_wrong_type_is_an_error_that_does_not_show_it() {
    let server = openai("GOOSE_MODEL: m\n")
        .secrets("OPENAI_API_KEY: [sk-very-secret-key]\n")
        .start();
    let check = json!({"provider": "openai"});
    let refused = server.post("/config/check_provider", check).is(400);
    let refused = refused
        .says("OPENAI_API_KEY in ")
        .says("secrets.yaml, line 1, is a list");
    refused.never_says("very-secret");
    let (status, faults) = validated(&server);
    assert_eq!(status, 422);
    assert!(
        faults.contains("OPENAI_API_KEY") && !faults.contains("very-secret"),
        "{faults}"
    );
    server.never_logs("very-secret");
}

#[test]
#[cfg(feature = "desktop")]
fn a_key_in_the_wrong_file_is_named_by_the_error_for_the_missing_one() {
    let server = openai("GOOSE_MODEL: m\nOPENAI_API_KEY: sk-very-secret-key\n").start();
    let check = json!({"provider": "openai"});
    let refused = server.post("/config/check_provider", check).is(400);
    let refused = refused
        .says("OPENAI_API_KEY in ")
        .says("config.yaml")
        .says("secrets.yaml");
    refused.never_says("very-secret");
    let (status, faults) = validated(&server);
    assert_eq!(status, 200);
    assert!(
        faults.contains("OPENAI_API_KEY") && !faults.contains("very-secret"),
        "{faults}"
    );
}

#[test]
#[cfg(feature = "desktop")]
fn other_wrong_values_are_logged_once_with_their_place_and_replaced() {
    let model = model();
    let server = openai(&format!(
        "GOOSE_MODEL: m\nGOOSE_MAX_TURNS: ten\nGOOSE_AUTO_COMPACT_THRESHOLD: 80\nGOOSE_TEMPERATURE: [1]\n\
         GOOSE_MAX_TOKENS: -5\nCONTEXT_FILE_NAMES: {{a: b}}\nOPENAI_HOST: {}\n\
         OPENAI_CUSTOM_HEADERS: {{X-Team: tools, X-List: [very-secret]}}\n",
        model.url
    ))
    .env("GOOSE_CONTEXT_LIMIT", "many")
    .env("OPENAI_TIMEOUT", "soon")
    .start();
    let session = server.session([]);
    for _ in 0..2 {
        session.say("hello").finishes().says("Hello.");
    }
    let expected = [
        "GOOSE_MAX_TURNS in ",
        "line 3, is \"ten\", but must be a whole number from 0; the default 1000 is used",
        "line 4, is the number 80, but must be a number from 0 to 1; the default 0.8 is used",
        "GOOSE_TEMPERATURE in ",
        "line 6, is the number -5, but must be a whole number from 1; it is not used",
        "CONTEXT_FILE_NAMES in ",
        "GOOSE_CONTEXT_LIMIT in the environment is \"many\", but must be a whole number from 1",
        "OPENAI_TIMEOUT in the environment is \"soon\"",
        "has the header \"X-List\" without such text",
    ];
    for text in expected {
        assert_eq!(times_logged(&server, text), 1, "{text}: {}", server.log());
    }
    server.never_logs("very-secret");
    let seen = model.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.header("x-team") == Some("tools")),
        "{seen:?}"
    );
    let body = &model.bodies()[0];
    assert_eq!(
        (&body["temperature"], &body["max_tokens"]),
        (&Value::Null, &Value::Null)
    );
    let (status, faults) = validated(&server);
    assert_eq!(status, 200, "{faults}");
    assert!(faults.starts_with("Config file is valid, but"), "{faults}");
    for name in [
        "GOOSE_MAX_TURNS",
        "GOOSE_CONTEXT_LIMIT",
        "OPENAI_TIMEOUT",
        "X-List",
    ] {
        assert!(faults.contains(name), "{name}: {faults}");
    }
}

#[test]
#[cfg(feature = "desktop")]
fn right_values_in_every_spelling_are_used_and_not_reported() {
    let model = model();
    let server = openai(&format!(
        "GOOSE_MODEL: '4.10'\nGOOSE_MAX_TURNS: \"10\"\nGOOSE_TEMPERATURE: 0\nOPENAI_HOST: {}\n\
         OPENAI_ORGANIZATION: 1234\nGOOSE_SEARCH_PATHS: [a]\nGOOSE_DISABLE_KEYRING: 1\ncustom: [x]\n",
        model.url
    ))
    .env("GOOSE_MAX_TOKENS", " 77 ")
    .env("GOOSE_PLANNER_MODEL", "x")
    .start();
    server.session([]).say("hello").finishes().says("Hello.");
    let body = &model.bodies()[0];
    assert_eq!(body["model"], "4.10");
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(model.seen()[0].header("openai-organization"), Some("1234"));
    assert_eq!(validated(&server), (200, "Config file is valid".to_owned()));
    server.never_logs("is not a setting");
}

#[cfg(feature = "openai")]
#[test]
fn a_number_in_the_environment_keeps_its_text() {
    let model = model();
    let server = openai(&format!("OPENAI_HOST: {}\n", model.url))
        .env("GOOSE_MODEL", "4.10")
        .start();
    server.session([]).say("hello").finishes().says("Hello.");
    assert_eq!(model.bodies()[0]["model"], "4.10");
}

#[test]
#[cfg(feature = "desktop")]
fn a_name_that_is_nearly_a_setting_is_reported_once() {
    let server = Server::scripted(json!({"repeat": true, "turns": [{"steps": [{"text": "Hi."}]}]}))
        .setting("GOOSE_MDOE", "approve")
        .setting("goose_max_turns", 3)
        .setting("GOOSE_PORT", 4000)
        .env("GOOSE_PROVDER", "openai")
        .start();
    let session = server.session([]);
    for _ in 0..2 {
        session.say("hello").finishes().says("Hi.");
    }
    for text in [
        "did you mean GOOSE_MODE?",
        "did you mean GOOSE_MAX_TURNS?",
        "GOOSE_PROVDER in the environment is not a setting, so it has no effect; did you mean GOOSE_PROVIDER?",
        "it counts in the environment only",
    ] {
        assert_eq!(times_logged(&server, text), 1, "{text}: {}", server.log());
        let (status, faults) = validated(&server);
        assert!(status == 200 && faults.contains(text), "{faults}");
    }
}

#[test]
#[cfg(unix)] // Variables are Unicode there, or nearly.
fn a_variable_that_is_not_unicode_does_not_count_as_unset() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let script = "export GOOSE_MODE=$(printf 'a\\377') GOOSE_LOG=loud; exec \"$@\"";
    let server = Server::scripted(json!({"turns": []}));
    let server = server.through("sh", &["-c", script, "sh"]).start();
    server.session([]).say("hello").finishes();
    server.logs("GOOSE_MODE in the environment is \"a\u{fffd}\", but must be one of auto");
    server.logs("`approve` is used");
    server.logs("GOOSE_LOG is \"loud\", but levels are");
    let mut refused = support::server::gosling();
    let name = OsStr::from_bytes(b"\xff.pem");
    let output = refused
        .arg("agent")
        .env("GOOSE_TLS_CERT_PATH", name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("GOOSE_TLS_CERT_PATH in the environment is not valid Unicode"),
        "{text}"
    );
}

#[test]
#[cfg(feature = "desktop")]
fn an_extension_with_another_word_for_enabled_is_reported() {
    let server = Server::new()
        .config("extensions:\n  one: {enabled: yes, type: stdio, name: one, cmd: nosuch}\n")
        .start();
    let listed = server.get("/config/extensions").is(200);
    listed.says("'one' counts as not enabled: `enabled` must be true or false");
    server.start(json!({"working_dir": server.work()}));
    server.logs("extension left out: 'one' counts as not enabled");
    let (status, faults) = validated(&server);
    assert!(
        status == 200 && faults.contains("extensions: 'one' counts as"),
        "{faults}"
    );
}

#[test]
#[cfg(feature = "screening")]
fn a_list_of_allowed_extensions_that_is_not_text_allows_none() {
    let script = Script::new();
    let server = Server::new()
        .config("GOOSE_ALLOWLIST: [a.yaml]\nGOOSE_ALLOWLIST_WARNING: maybe\n")
        .start();
    let refused = server.refuses(Extension::scripted("one", &script));
    assert!(refused.contains("GOOSE_ALLOWLIST in "), "{refused}");
}

#[cfg(feature = "inline-python")]
#[test]
fn a_command_line_that_is_not_text_starts_nothing() {
    let server = Server::new()
        .config("GOOSE_INLINE_PYTHON_RUNNER: [sh, -c]\n")
        .start();
    let code = json!({"type": "inline_python", "name": "one", "description": "", "code": "pass"});
    let refused = server.refuses(Extension(code));
    assert!(
        refused.contains("GOOSE_INLINE_PYTHON_RUNNER in "),
        "{refused}"
    );
    assert!(
        refused.contains("line 1, is a list, but must be text"),
        "{refused}"
    );
}

#[test]
#[cfg(feature = "desktop")]
fn a_file_of_a_provider_that_is_wrong_is_named_with_the_reason() {
    let server = Server::new().start();
    let folder = server.root().join("config/custom_providers");
    fs::create_dir_all(&folder).unwrap();
    let good = json!({
        "name": "good", "engine": "openai", "display_name": "Good", "base_url": "http://127.0.0.1:1",
    });
    fs::write(folder.join("good.json"), good.to_string()).unwrap();
    fs::write(
        folder.join("work.json"),
        "{\n  \"name\": \"work\",\n  \"engine\": openai\n}",
    )
    .unwrap();
    let lacking = json!({"name": "other", "engine": "openai", "display_name": "O"});
    fs::write(folder.join("o.json"), lacking.to_string()).unwrap();
    let refusal = |name: &str| {
        let body = json!({"provider": name});
        server.post("/config/check_provider", body).is(400)
    };
    let work = refusal("work")
        .says("work.json is not used: ")
        .says("line 3")
        .says("correct");
    work.never_says("Unsupported provider").never_says("o.json");
    refusal("other")
        .says("o.json is not used: ")
        .says("base_url");
    #[cfg(feature = "desktop")]
    (server.get("/config/custom-providers/work").is(422)).says("work.json");
    // Any of the files may be meant.
    refusal("nope")
        .says("Unsupported provider 'nope'")
        .says("work.json")
        .says("o.json");
    let all = server.get("/config/providers").is(200).body;
    let names: Vec<&Value> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert!(names.contains(&&json!("good")) && !names.contains(&&json!("work")));
    let (status, faults) = validated(&server);
    assert!(
        status == 200 && faults.contains("work.json") && faults.contains("o.json"),
        "{faults}"
    );
}

/// Asserts whether a tool call needs approval where the user's setting and the recipe name these modes.
#[track_caller]
fn assert_asks(of_user: Option<&str>, of_recipe: Value, expected: bool) {
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"call": {"name": "one__act", "arguments": {}}}, {"text": "Done."},
    ]}]});
    let mut server = Server::scripted(script);
    if let Some(mode) = of_user {
        server = server.setting("GOOSE_MODE", mode);
    }
    let server = server.start();
    let one = Extension::scripted("one", &Script::new().tool("act", [Action::text("acted")]));
    let recipe = json!({
        "title": "T", "description": "D", "prompt": "go", "extensions": [one.0],
        "settings": {"goose_mode": of_recipe},
    });
    let session = server.start(json!({"working_dir": server.work(), "recipe": recipe}));
    let mut turn = session.begin_turn("go");
    if expected {
        turn.asks();
    } else {
        let turn = turn.rest().finishes();
        assert!(turn.parts_of("actionRequired").is_empty());
    }
}

#[cfg(feature = "recipes")]
#[test]
fn the_mode_of_a_recipe_counts_where_it_is_stricter_than_the_users() {
    assert_asks(None, json!("approve"), true);
    assert_asks(Some("auto"), json!("approve"), true);
    // A recipe does not loosen the mode.
    assert_asks(Some("approve"), json!("auto"), true);
    assert_asks(Some("auto"), json!("auto"), false);
    assert_asks(None, Value::Null, false);
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_with_an_unknown_mode_is_refused() {
    let server = Server::scripted(json!({"turns": []})).start();
    let recipe = json!({
        "title": "T", "description": "D", "prompt": "go", "settings": {"goose_mode": "yolo"},
    });
    let body = json!({"working_dir": server.work(), "recipe": recipe});
    let refused = server.post("/agent/start", body).is(400);
    refused.says("goose_mode").says("smart_approve");
}
