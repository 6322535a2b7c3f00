//! `/config/providers` and related routes, with a real server and a scripted model.
#![cfg(feature = "openai")]
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
use std::io::Write;
use std::net::TcpStream;
use support::client::{Answer, KEY};
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

#[cfg(feature = "azure")]
#[test]
#[cfg(unix)] // The program is a script.
fn azure_takes_the_token_of_its_command_line_program() {
    let model = ModelServer::with(|seen| match seen.header("authorization") {
        Some("Bearer of-the-user") => Reply::stream(model_server::says(&["hello"])),
        _ => Reply::json("401 No", r#"{"error":{"message":"who are you?"}}"#),
    });
    let folder = support::temp_dir();
    let az = r#"#!/bin/sh
[ "$*" = "account get-access-token --output json --resource https://cognitiveservices.azure.com" ] || exit 1
[ -z "$OPENAI_API_KEY" ] && echo '{"accessToken": "of-the-user", "expires_on": 4102444800}'
"#;
    support::system::script(&folder.path().join("az"), az);
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let server = Server::new()
        .env("PATH", &path)
        .env("OPENAI_API_KEY", "k")
        .env("AZURE_OPENAI_ENDPOINT", &model.url)
        .env("AZURE_OPENAI_DEPLOYMENT_NAME", "d")
        // This machine is none of Azure.
        .env("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:9")
        .start();
    let session = server.session([]);
    let body = json!({"provider": "azure_openai", "model": "d"});
    session.post("/agent/update_provider", body).is(200);
    session.say("hi").finishes().says("hello");
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
    let default = openai["metadata"]["default_model"].as_str().unwrap();
    assert!(default.starts_with("gpt-"), "{default}");
    assert_eq!(openai["metadata"]["known_models"][0]["name"], default);
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

/// The answer to a client that names itself like this.
fn as_agent(server: &RunningServer, agent: &str, path: &str) -> Value {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\nUser-Agent: {agent}\r\n\
         Connection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    Answer::read(path.to_owned(), stream).is(200).body
}

#[test]
fn goose_desktop_from_1_39_on_gets_the_tokens_of_a_session_in_two_objects() {
    let export = json!({"working_dir": "/tmp", "input_tokens": 5, "output_tokens": 2, "total_tokens": 7,
        "accumulated_input_tokens": 50, "accumulated_output_tokens": 20, "accumulated_total_tokens": 70});
    let server = Server::new().start();
    let imported = server.post("/sessions/import", json!({"json": export.to_string()}));
    let id = imported.is(200).body["id"].as_str().unwrap().to_owned();
    let path = format!("/sessions/{id}");
    let plain = as_agent(&server, "Goose/1.38.0", &path);
    assert_eq!(
        (&plain["usage"], &plain["total_tokens"]),
        (&json!(null), &json!(7))
    );
    let mut newer = as_agent(&server, "Mozilla/5.0 Goose/1.39.0", &path);
    let fields = newer.as_object_mut().unwrap();
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7});
    assert_eq!(fields.shift_remove("usage"), Some(usage));
    let usage = json!({"input_tokens": 50, "output_tokens": 20, "total_tokens": 70});
    assert_eq!(fields.shift_remove("accumulated_usage"), Some(usage));
    assert_eq!(newer, plain);
}

#[test]
fn goose_desktop_from_1_35_on_gets_models_as_objects() {
    let model =
        ModelServer::with(|_| Reply::json("200 OK", r#"{"data":[{"id":"o3"},{"id":"own"}]}"#));
    let server = Server::new()
        .env("OPENAI_HOST", &model.url)
        .env("OPENAI_API_KEY", KEY)
        .start();
    let models = |agent: &str| as_agent(&server, agent, "/config/providers/openai/models");
    let names = json!(["o3", "own"]);
    assert_eq!(models("curl/8"), names);
    assert_eq!(
        models("Mozilla/5.0 (X11) Goose/1.34.1 Chrome/142.0.0.0 Electron/39.0.0"),
        names
    );
    let objects = json!([
        {"name": "o3", "context_limit": 200_000, "reasoning": true},
        {"name": "own", "context_limit": 128_000, "reasoning": false},
    ]);
    for version in ["1.35.0", "1.39.0", "2.0"] {
        let agent = format!("Mozilla/5.0 (X11) Goose/{version} Chrome/142.0.0.0");
        assert_eq!(models(&agent), objects);
    }
    let asked = json!({"model": "o3"});
    let one = server.post("/config/providers/openai/model-info", asked.clone());
    one.is(200).gives(objects[0].clone());
    server
        .post("/config/providers/nope/model-info", asked)
        .is(400);
}

#[test]
#[cfg(feature = "desktop")]
fn keys_in_the_store_are_listed_without_their_values_and_removed_one_by_one() {
    let server = Server::new()
        .secrets("OPENAI_API_KEY: sk-very-secret\nOTHER: x")
        .start();
    let listed = server.get("/config/provider-secrets").is(200);
    assert!(!listed.text.contains("sk-very-secret"));
    let secrets = listed.body["secrets"].as_array().unwrap();
    assert_eq!(secrets.len(), 1);
    assert_eq!(
        (&secrets[0]["id"], &secrets[0]["provider"]),
        (&json!("OPENAI_API_KEY"), &json!("openai"))
    );
    server.delete("/config/provider-secrets/OTHER").is(400);
    server
        .delete("/config/provider-secrets/OPENAI_API_KEY")
        .is(200);
    let listed = server.get("/config/provider-secrets").is(200);
    assert_eq!(listed.body, json!({"secrets": []}));
}

#[test]
#[cfg(feature = "desktop")]
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

/// The body that Goose Desktop sends.
fn custom(url: &str, key: &str) -> Value {
    json!({"engine": "openai_compatible", "display_name": "My LLM", "api_url": url, "api_key": key,
        "models": ["m1", "m2"], "supports_streaming": true, "headers": {"X-Team": "tools"},
        "requires_auth": true})
}

fn create(server: &RunningServer, body: &Value) -> String {
    let made = server
        .post("/config/custom-providers", body.clone())
        .is(200);
    let text = made.body.as_str().expect("a text");
    let id = text.strip_prefix("Custom provider added - ID: ");
    id.expect("an id").to_owned()
}

fn file_of(server: &RunningServer, id: &str) -> Value {
    let path = server
        .root()
        .join(format!("config/custom_providers/{id}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap_or_default()).unwrap_or_default()
}

fn secrets_of(server: &RunningServer) -> String {
    std::fs::read_to_string(server.root().join("config/secrets.yaml")).unwrap_or_default()
}

#[test]
#[cfg(feature = "desktop")]
fn a_custom_provider_is_created_used_changed_and_deleted() {
    const KEY: &str = "sk-custom-0123456789";
    let list = r#"{"data":[{"id":"m1"},{"id":"m3"}]}"#;
    let model = ModelServer::with(move |_| Reply::json("200 OK", list));
    let server = Server::new().start();
    let id = create(&server, &custom(&format!("{}/v1", model.url), KEY));
    assert_eq!(id, "custom_my_llm");
    // The file has the shape of Goose's, and no key.
    let file = file_of(&server, &id);
    assert_eq!(
        file,
        json!({"name": id, "engine": "openai", "display_name": "My LLM",
            "description": "Custom My LLM provider", "api_key_env": "CUSTOM_MY_LLM_API_KEY",
            "base_url": format!("{}/v1", model.url), "models": [
                {"name": "m1", "context_limit": 128000, "input_token_cost": null,
                    "output_token_cost": null, "currency": null, "supports_cache_control": null},
                {"name": "m2", "context_limit": 128000, "input_token_cost": null,
                    "output_token_cost": null, "currency": null, "supports_cache_control": null}],
            "headers": {"X-Team": "tools"}, "timeout_seconds": null, "supports_streaming": true,
            "requires_auth": true})
    );
    assert!(secrets_of(&server).contains(KEY));
    let path = format!("/config/custom-providers/{id}");
    let shown = server.get(&path).is(200).never_says(KEY);
    assert_eq!(shown.body, json!({"config": file, "is_editable": true}));
    let all = server.get("/config/providers").is(200).never_says(KEY).body;
    let mine = entry(&all, &id);
    assert_eq!(
        (&mine["is_configured"], &mine["provider_type"]),
        (&json!(true), &json!("Custom"))
    );
    let models = server
        .get(&format!("/config/providers/{id}/models"))
        .is(200);
    assert_eq!(models.body, json!(["m1", "m3"]));
    let seen = &model.seen()[0];
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer sk-custom-0123456789")
    );
    assert_eq!(seen.header("x-team"), Some("tools"));
    server
        .post(
            "/config/set_provider",
            json!({"provider": id, "model": "m1"}),
        )
        .is(200);

    // What the request does not name stays, and so does the key when none is sent.
    let file_path = server
        .root()
        .join(format!("config/custom_providers/{id}.json"));
    let mut by_hand = file.clone();
    by_hand["of_tomorrow"] = json!([1]);
    by_hand["models"][0]["context_limit"] = json!(5000);
    std::fs::write(file_path, by_hand.to_string()).unwrap();
    let mut change = custom("http://127.0.0.1:1", "");
    change["display_name"] = json!("Renamed");
    change["models"] = json!(["m1"]);
    change["headers"] = Value::Null;
    let changed = server.ask(
        "PUT",
        &path,
        Some(support::client::KEY),
        Some(&change.to_string()),
    );
    changed
        .is(200)
        .gives(json!(format!("Updated custom provider: {id}")));
    let file = file_of(&server, &id);
    assert_eq!(file["display_name"], "Renamed");
    assert_eq!(file["of_tomorrow"], json!([1]));
    assert_eq!(file["headers"], json!({"X-Team": "tools"}));
    assert_eq!(file["models"].as_array().unwrap().len(), 1);
    assert_eq!(file["models"][0]["context_limit"], 5000);
    assert!(secrets_of(&server).contains(KEY));

    let deleted = server.delete(&path).is(200);
    deleted.gives(json!(format!("Removed custom provider: {id}")));
    assert!(!secrets_of(&server).contains(KEY) && file_of(&server, &id) == Value::Null);
    let all = server.get("/config/providers").is(200).body;
    assert!(
        all.as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["name"] != id)
    );
    for method in ["GET", "DELETE"] {
        server
            .ask(method, &path, Some(support::client::KEY), None)
            .is(404)
            .says(&id);
    }
    let gone = server.ask(
        "PUT",
        &path,
        Some(support::client::KEY),
        Some(&change.to_string()),
    );
    gone.is(404);
    server.never_logs(KEY);
}

#[cfg(all(feature = "anthropic", feature = "ollama"))]
#[test]
fn each_engine_of_goose_speaks_its_protocol() {
    let model = ModelServer::with(|seen| {
        if seen.path.starts_with("/v1/models") {
            Reply::json("200 OK", r#"{"data":[{"id":"a"}]}"#)
        } else {
            Reply::json("200 OK", r#"{"models":[{"name":"b"}]}"#)
        }
    });
    let server = Server::new().start();
    for (engine, stored, path) in [
        ("openai_compatible", "openai", "/v1/models"),
        (
            "openai_responses_compatible",
            "openai_responses",
            "/v1/models",
        ),
        ("anthropic_compatible", "anthropic", "/v1/models"),
        ("ollama_compatible", "ollama", "/api/tags"),
    ] {
        let mut body = custom(&model.url, "k-123");
        body["engine"] = json!(engine);
        let id = create(&server, &body);
        assert_eq!(file_of(&server, &id)["engine"], stored);
        server
            .get(&format!("/config/providers/{id}/models"))
            .is(200);
        let seen = model.seen();
        let last = seen.last().unwrap();
        assert!(last.path.starts_with(path), "{}", last.path);
    }
}

#[test]
#[cfg(feature = "desktop")]
fn an_invalid_custom_provider_is_refused_with_its_field_and_nothing_is_stored() {
    let server = Server::new().start();
    let with = |field: &str, value: Value| {
        let mut body = custom("http://127.0.0.1:1", "secret-key-1");
        body[field] = value;
        body
    };
    for (body, field) in [
        (with("engine", json!("generic_http")), "engine"),
        (with("display_name", json!("  ")), "display_name"),
        (with("api_url", json!("ftp://h")), "api_url"),
        (with("api_url", json!("http://user:pass@h")), "api_url"),
        (with("api_key", json!("")), "api_key"),
        (with("api_key", json!("a\r\nb")), "api_key"),
        (with("models", json!(["m", ""])), "models"),
        (with("models", json!(vec!["m"; 1_001])), "models"),
        (with("headers", json!({"a b": "c"})), "headers"),
        (with("headers", json!({"a": "c\r\nd: e"})), "headers"),
    ] {
        let refused = server.post("/config/custom-providers", body).is(400);
        refused
            .says(&format!("`{field}`"))
            .never_says("secret-key-1");
    }
    let shapeless = json!({"engine": "openai_compatible"});
    server
        .post("/config/custom-providers", shapeless)
        .is(422)
        .says("missing field");
    let folder = server.root().join("config/custom_providers");
    assert!(!folder.exists() && secrets_of(&server).is_empty());
    // An id from a client is only compared with names.
    for id in ["..%2F..%2Fsecrets", "%2e%2e", "openai", "nope"] {
        server
            .get(&format!("/config/custom-providers/{id}"))
            .is(404);
        server
            .delete(&format!("/config/custom-providers/{id}"))
            .is(404);
    }
    let mut hostile = with("display_name", json!("../../../x"));
    hostile["requires_auth"] = json!(false);
    assert_eq!(create(&server, &hostile), "custom_x");
    assert_eq!(file_of(&server, "custom_x")["api_key_env"], "");
    assert!(secrets_of(&server).is_empty());
}

#[test]
#[cfg(feature = "desktop")]
fn a_change_that_is_refused_leaves_provider_and_key() {
    let server = Server::new().start();
    let id = create(&server, &custom("http://127.0.0.1:1", "first-key"));
    let before = file_of(&server, &id);
    let mut body = custom("nonsense", "second-key");
    let path = format!("/config/custom-providers/{id}");
    let put = |body: &Value| {
        server.ask(
            "PUT",
            &path,
            Some(support::client::KEY),
            Some(&body.to_string()),
        )
    };
    put(&body).is(400).says("api_url");
    assert_eq!(file_of(&server, &id), before);
    // The secrets cannot be written, so the file goes back.
    std::fs::write(server.root().join("config/secrets.yaml"), "[").unwrap();
    body["api_url"] = json!("http://127.0.0.1:2");
    put(&body).is(422).never_says("second-key");
    assert_eq!(file_of(&server, &id), before);
    let refused = server.post(
        "/config/custom-providers",
        custom("http://127.0.0.1:1", "third-key"),
    );
    refused.is(422);
    assert_eq!(file_of(&server, "custom_my_llm_1"), Value::Null);
}

#[test]
#[cfg(feature = "desktop")]
fn a_key_that_another_provider_uses_survives_the_deletion() {
    let server = Server::new()
        .secrets("OPENAI_API_KEY: shared-with-openai\nTWO: shared-by-two\n")
        .start();
    let folder = server.root().join("config/custom_providers");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, key) in [("a", "OPENAI_API_KEY"), ("b", "TWO"), ("c", "two")] {
        let file = json!({"name": name, "engine": "openai", "display_name": name, "api_key_env": key,
            "base_url": "http://127.0.0.1:1", "models": []});
        // The file may have another name than the provider.
        std::fs::write(folder.join(format!("file-{name}.json")), file.to_string()).unwrap();
    }
    server.delete("/config/custom-providers/a").is(200);
    server.delete("/config/custom-providers/b").is(200);
    let secrets = secrets_of(&server);
    assert!(secrets.contains("shared-with-openai") && secrets.contains("shared-by-two"));
    assert!(folder.join("file-c.json").exists() && !folder.join("file-b.json").exists());
}

#[test]
#[cfg(feature = "desktop")]
fn clients_that_create_at_once_get_a_provider_each() {
    let server = Server::new().start();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|n| {
                let body = custom("http://127.0.0.1:1", &format!("key-of-{n}"));
                let server = &server;
                scope.spawn(move || (create(server, &body), format!("key-of-{n}")))
            })
            .collect();
        let made = threads.into_iter().map(|thread| thread.join().unwrap());
        let secrets_and_ids: Vec<_> = made.collect();
        let secrets = secrets_of(&server);
        for (id, key) in &secrets_and_ids {
            let line = format!("{}_API_KEY: {key}", id.to_uppercase());
            assert!(secrets.contains(&line), "{line} in {secrets}");
        }
        secrets_and_ids.into_iter().map(|(id, _)| id).collect()
    });
    let different: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), 6, "{ids:?}");
}

#[test]
#[cfg(feature = "desktop")]
fn a_key_is_recognized_and_checked_with_its_own_vendor_only() {
    const KEY: &str = "sk-proj-0123456789";
    let list = r#"{"data":[{"id":"m1"}]}"#;
    let openai = ModelServer::with(move |seen| match seen.header("authorization") {
        Some("Bearer sk-proj-0123456789") => Reply::json("200 OK", list),
        _ => Reply::json(
            "401 Unauthorized",
            r#"{"error":{"message":"bad sk-proj-bad"}}"#,
        ),
    });
    let other = ModelServer::with(|_| Reply::json("200 OK", "{}"));
    let server = Server::new()
        .env("OPENAI_HOST", &openai.url)
        .env("OPENAI_API_KEY", "sk-proj-stored")
        .env("GROQ_HOST", &other.url)
        .env("ANTHROPIC_HOST", &other.url)
        .start();
    let detect = |key: &str| server.post("/config/detect-provider", json!({"api_key": key}));
    let found = detect(&format!(" {KEY}\n")).is(200);
    found.gives(json!({"provider_name": "openai", "models": ["m1"]}));
    // Whoever the key belongs to, it is not sent on trial.
    detect("sk-0123456789abcdef0123456789abcdef").is(404);
    detect("hello").is(404).says("no provider alone");
    let refused = detect("sk-proj-bad").is(404);
    refused.never_says("sk-proj-bad");
    detect(" ").is(400).says("`api_key`");
    detect(&"x".repeat(5_000)).is(400);
    server
        .post("/config/detect-provider", json!({}))
        .is(422)
        .says("api_key");
    assert_eq!(openai.seen().len(), 2);
    assert!(other.seen().is_empty());
    server.never_logs(KEY);
}

#[test]
#[cfg(feature = "desktop")]
fn offline_a_key_is_recognized_by_its_form_alone() {
    let server = Server::new().start_as(&["agent", "--port", "0", "--offline"]);
    let body = json!({"api_key": "gsk_0123456789"});
    let found = server.post("/config/detect-provider", body).is(200).body;
    assert_eq!(found["provider_name"], "groq");
    assert!(!found["models"].as_array().unwrap().is_empty());
}
