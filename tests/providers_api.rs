//! `/config/providers` and related routes, with a real server and a scripted model.
#![cfg_attr(
    not(all(feature = "anthropic", feature = "google", feature = "ollama")),
    allow(dead_code, reason = "a test that uses it needs all protocols")
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
use support::server::{RunningServer, Server};

/// A provider as goosed lists it.
const RECORDED: &str = r#"{
    "name": "openai",
    "metadata": {
        "name": "", "display_name": "", "description": "", "default_model": "",
        "known_models": [{"name": "", "context_limit": 0, "input_token_cost": null,
            "output_token_cost": null, "currency": null, "supports_cache_control": null}],
        "model_doc_link": "",
        "config_keys": [{"name": "", "required": true, "secret": false, "default": null,
            "oauth_flow": false, "primary": false}],
        "allows_unlisted_models": false
    },
    "is_configured": true,
    "provider_type": "Preferred"
}"#;

fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

fn entry<'a>(all: &'a Value, name: &str) -> &'a Value {
    let mut all = all.as_array().expect("a list").iter();
    all.find(|entry| entry["name"] == name).expect(name)
}

/// A server that uses this model server as OpenAI.
fn server_with(model: &ModelServer) -> RunningServer {
    Server::new()
        .env("OPENAI_HOST", &model.url)
        .env("OPENAI_API_KEY", "sk-very-secret-key")
        .start()
}

#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
#[test]
fn every_provider_is_shown_in_the_recorded_shape() {
    let server = Server::new().env("OPENAI_API_KEY", "k").start();
    let all = server.get("/config/providers").is(200).body;
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    for entry in all.as_array().expect("a list") {
        assert_eq!(keys(entry), keys(&recorded));
        assert_eq!(keys(&entry["metadata"]), keys(&recorded["metadata"]));
        for part in ["known_models", "config_keys"] {
            for one in entry["metadata"][part].as_array().expect(part) {
                assert_eq!(keys(one), keys(&recorded["metadata"][part][0]));
            }
        }
    }
    let openai = &all[0];
    assert_eq!(openai["name"], "openai");
    assert_eq!(openai["is_configured"], true);
    assert_eq!(openai["provider_type"], "Preferred");
    assert_eq!(openai["metadata"]["default_model"], "gpt-4o");
    assert_eq!(
        openai["metadata"]["config_keys"][0],
        json!({"name": "OPENAI_API_KEY", "required": false, "secret": true, "default": null,
            "oauth_flow": false, "primary": true})
    );
    assert_eq!(entry(&all, "anthropic")["is_configured"], false);
}

#[test]
fn a_secret_that_is_stored_configures_its_provider() {
    let server = Server::new().start();
    let configured = || {
        let all = server.get("/config/providers").is(200).body;
        entry(&all, "groq")["is_configured"].clone()
    };
    assert_eq!(configured(), false);
    let secret = json!({"key": "GROQ_API_KEY", "value": "gsk-1", "is_secret": true});
    server.post("/config/upsert", secret).is(200);
    assert_eq!(configured(), true);
}

#[test]
fn models_are_those_that_the_provider_lists() {
    let list = r#"{"object":"list","data":[{"id":"m1"},{"id":"m2"}]}"#;
    let model = ModelServer::new(vec![Reply::json("200 OK", list)]);
    let server = server_with(&model);
    let models = server.get("/config/providers/openai/models").is(200);
    assert_eq!(models.body, json!(["m1", "m2"]));
    let seen = &model.seen()[0];
    assert_eq!(seen.path, "/v1/models");
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer sk-very-secret-key")
    );
}

#[test]
fn a_provider_without_a_list_shows_the_known_models() {
    let server = Server::new()
        .env("DATABRICKS_HOST", "https://w.example")
        .env("DATABRICKS_TOKEN", "t")
        .start();
    let models = server
        .get("/config/providers/databricks/models")
        .is(200)
        .body;
    let known = models.as_array().expect("a list");
    assert!(
        known.contains(&json!("databricks-claude-sonnet-4-5")),
        "{models}"
    );
}

#[test]
fn failures_to_list_models_have_the_status_that_clients_expect() {
    let refused = r#"{"error":{"message":"wrong key sk-very-secret-key"}}"#;
    for (head, status) in [
        ("401 Unauthorized", 400),
        ("429 Too Many Requests\r\nRetry-After: 0", 429),
        ("500 Internal Server Error", 500),
    ] {
        let model = ModelServer::with(move |_| Reply::json(head, refused));
        let server = server_with(&model);
        let answer = server.get("/config/providers/openai/models").is(status);
        assert!(
            !answer.text.contains("sk-very-secret-key"),
            "{}",
            answer.text
        );
        server.never_logs("sk-very-secret-key");
    }
    let server = Server::new().start();
    (server.get("/config/providers/nope/models").is(400)).says("Failed to create nope provider: ");
    (server.get("/config/providers/groq/models").is(400)).says("GROQ_API_KEY");
}

#[test]
fn a_provider_is_checked_before_it_is_chosen() {
    let server = Server::new().env("XAI_API_KEY", "k").start();
    server
        .post("/config/check_provider", json!({"provider": "xai"}))
        .is(200);
    (server
        .post("/config/check_provider", json!({"provider": "groq"}))
        .is(400))
    .says("GROQ_API_KEY");
    let read = |key: &str| {
        let question = json!({"key": key, "is_secret": false});
        server.post("/config/read", question).is(200).body
    };
    let nope = json!({"provider": "nope", "model": "m"});
    (server.post("/config/set_provider", nope).is(400)).says("Failed to create nope provider: ");
    assert_eq!(read("GOOSE_PROVIDER"), Value::Null);
    let choice = json!({"provider": "xai", "model": "grok-4"});
    server.post("/config/set_provider", choice).is(200);
    assert_eq!(read("GOOSE_PROVIDER"), "xai");
    assert_eq!(read("GOOSE_MODEL"), "grok-4");
    let nameless = json!({"provider": "xai", "model": " "});
    server.post("/config/set_provider", nameless).is(400);
}

#[test]
fn what_is_known_of_a_model_is_told_as_recorded() {
    let server = Server::new().start();
    let info = |provider: &str, model: &str| {
        let question = json!({"provider": provider, "model": model});
        server
            .post("/config/canonical-model-info", question)
            .is(200)
            .text
    };
    assert_eq!(
        info("openai", "gpt-4o"),
        concat!(
            r#"{"model_info":{"provider":"openai","model":"gpt-4o","context_limit":128000,"#,
            r#""max_output_tokens":16384,"input_token_cost":2.5,"output_token_cost":10.0,"#,
            r#""cache_read_token_cost":1.25,"cache_write_token_cost":null,"currency":"$"},"#,
            r#""source":"canonical"}"#,
        )
    );
    let nothing = r#"{"model_info":null,"source":"canonical"}"#;
    assert_eq!(info("openai", "who knows"), nothing);
    assert_eq!(info("nope", "gpt-4o"), nothing);
}

#[test]
fn a_provider_of_the_user_is_listed_next_to_the_others_and_asked_for_its_models() {
    let list = r#"{"data":[{"id":"mine-1"}]}"#;
    let model = ModelServer::new(vec![Reply::json("200 OK", list)]);
    let server = Server::new().start();
    let folder = server.root().join("config/custom_providers");
    std::fs::create_dir_all(&folder).unwrap();
    let file = json!({"name": "mine", "engine": "openai", "display_name": "Mine", "api_key_env": "",
        "base_url": format!("{}/v1", model.url), "models": [{"name": "mine-1", "context_limit": 9}]});
    std::fs::write(folder.join("mine.json"), file.to_string()).unwrap();
    std::fs::write(folder.join("broken.json"), "{").unwrap();
    let all = server.get("/config/providers").is(200).body;
    let mine = entry(&all, "mine");
    assert_eq!(mine["provider_type"], "Custom");
    assert_eq!(mine["is_configured"], true);
    assert_eq!(mine["metadata"]["known_models"][0]["context_limit"], 9);
    server.logs("broken.json is not used");
    let models = server.get("/config/providers/mine/models").is(200);
    assert_eq!(models.body, json!(["mine-1"]));
}
