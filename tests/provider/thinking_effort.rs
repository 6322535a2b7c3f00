//! How much a model thinks, from the setting to the request.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, openai};
use crate::model_server::{ModelServer, Reply, says};
use crate::output_limits::{CLAUDE, GEMINI};
use gosling::provider::ModelConfig;
use serde_json::{Map, Value, json};

fn question(model: &str, effort: &str) -> Question {
    Question {
        model: ModelConfig {
            model_name: model.into(),
            temperature: Some(0.5),
            max_tokens: Some(1_000),
            context_limit: Some(200_000),
            request_params: Some(Map::from_iter([("thinking_effort".into(), json!(effort))])),
            ..ModelConfig::default()
        },
        ..Question::default()
    }
}

#[test]
fn each_protocol_has_its_words() {
    let server = ModelServer::new(vec![Reply::stream(says(&["hello"]))]);
    let asked = question("gpt-5.1", "off").ask(&openai(&server.url));
    asked.0.unwrap();
    let body = &server.bodies()[0];
    assert_eq!(body["reasoning_effort"], "none");
    assert_eq!(body.get("thinking_effort"), None);

    let server = ModelServer::new(vec![Reply::stream(CLAUDE)]);
    let asked = question("claude-sonnet-4-5", "low").ask(&*anthropic(&server));
    asked.0.unwrap();
    let body = &server.bodies()[0];
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 4_096})
    );
    assert_eq!(
        body["max_tokens"], 5_096,
        "what is thought counts as output"
    );
    assert_eq!(body.get("temperature"), None);

    let server = ModelServer::new(vec![Reply::stream(GEMINI)]);
    let asked = question("gemini-4-argon", "high").ask(&*google(&server));
    asked.0.unwrap();
    let config = &server.bodies()[0]["generationConfig"];
    assert_eq!(config["thinkingConfig"]["thinkingLevel"], "high");
    assert_eq!(config["maxOutputTokens"], 1_000);
}

#[test]
fn a_refused_effort_is_left_out() {
    let server = ModelServer::with(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        match body.get("output_config") {
            Some(_) => {
                let words = "output_config: Extra inputs are not permitted";
                let body = json!({"error": {"type": "invalid_request_error", "message": words}});
                Reply::json("400 Bad Request", &body.to_string())
            }
            None => Reply::stream(CLAUDE),
        }
    });
    let asked = question("claude-opus-5", "max").ask(&*anthropic(&server));
    asked.0.unwrap();
    let body = &server.bodies()[1];
    assert_eq!(body["thinking"]["type"], "adaptive");
}

#[test]
fn settings_say_how_much_a_session_thinks() {
    use gosling::provider::thinking_effort::add_settings;
    use gosling::providers::ProviderCatalog;
    use gosling::store::Secrets;
    use std::path::PathBuf;
    use std::sync::Arc;

    let with = |settings: &[(&'static str, &str)], provider: &str, model: &str| {
        let config = crate::catalog::config(settings);
        let mut model = ModelConfig {
            model_name: model.into(),
            ..ModelConfig::default()
        };
        let secrets = Secrets::with_env(PathBuf::new(), Box::new(|_| None));
        let catalog = ProviderCatalog::new(config.clone(), Arc::new(secrets), true);
        add_settings(&config, &catalog, provider, &mut model);
        json!(model.request_params)
    };
    assert_eq!(with(&[], "anthropic", "claude-opus-5"), Value::Null);
    let effort = [
        ("GOOSE_THINKING_EFFORT", "high"),
        ("CLAUDE_THINKING_ENABLED", "true"),
    ];
    let set = with(&effort, "anthropic", "claude-opus-5");
    assert_eq!(set, json!({"thinking_effort": "high"}));
    let enabled = [
        ("CLAUDE_THINKING_ENABLED", "true"),
        ("CLAUDE_THINKING_BUDGET", "2000"),
    ];
    for (provider, model, params) in [
        (
            "anthropic",
            "claude-sonnet-4-5",
            json!({"thinking": {"type": "enabled", "budget_tokens": 2_000}}),
        ),
        (
            "anthropic",
            "claude-opus-5",
            json!({"thinking": {"type": "adaptive"}}),
        ),
        ("anthropic", "claude-3-5-haiku", Value::Null),
        ("openrouter", "claude-sonnet-4-5", Value::Null),
    ] {
        assert_eq!(
            with(&enabled, provider, model),
            params,
            "{provider} {model}"
        );
    }
}
