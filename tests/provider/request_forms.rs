//! What a server refuses by its name is left out, and the request is sent once more.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, openai};
use crate::model_server::{ModelServer, Reply, says};
use gosling::conversation::{Message, Role};
use gosling::provider::{ErrorClass, ModelConfig};
use serde_json::{Value, json};

fn warm_question() -> Question {
    Question {
        model: ModelConfig {
            model_name: "m".into(),
            temperature: Some(0.5),
            ..ModelConfig::default()
        },
        ..Question::default()
    }
}

/// A server that refuses a parameter with these words, and responds with this stream otherwise.
fn refuses(at: &'static str, words: &'static str, stream: String) -> ModelServer {
    ModelServer::with(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        match body.pointer(at) {
            Some(_) => {
                let body = json!({"error": {"message": words, "type": "invalid_request_error"}});
                Reply::json("400 Bad Request", &body.to_string())
            }
            None => Reply::stream(&stream),
        }
    })
}

#[test]
fn a_refused_parameter_is_left_out_from_then_on() {
    let words = "Unsupported parameter: 'temperature' is not supported with this model.";
    let server = refuses("/temperature", words, says(&["hello"]));
    let provider = openai(&server.url);
    for requests in [2, 3] {
        let (answer, _) = warm_question().ask(&provider);
        assert_eq!(answer.unwrap().content[0].as_text(), Some("hello"));
        assert_eq!(server.bodies().len(), requests);
    }
    let server = refuses(
        "/stream_options",
        "json: unknown field \"stream_options\"",
        says(&["hello"]),
    );
    Question::default().ask(&openai(&server.url)).0.unwrap();
    assert_eq!(server.bodies().len(), 2);
}

#[test]
fn every_protocol_leaves_it_out() {
    let claude = crate::output_limits::CLAUDE.to_owned();
    let words = "`temperature` is deprecated for this model.";
    let server = refuses("/temperature", words, claude);
    warm_question().ask(&*anthropic(&server)).0.unwrap();
    let gemini = crate::output_limits::GEMINI.to_owned();
    let server = refuses("/generationConfig/temperature", words, gemini);
    warm_question().ask(&*google(&server)).0.unwrap();
}

#[test]
fn a_parameter_that_is_refused_twice_is_an_error() {
    let words = "Unsupported parameter: 'temperature'";
    let server = refuses("/model", words, String::new());
    let (answer, _) = warm_question().ask(&openai(&server.url));
    assert_eq!(answer.unwrap_err().class, ErrorClass::Refused);
    assert_eq!(server.bodies().len(), 2);
}

#[test]
fn claude_behind_others_is_sent_marks_for_their_cache() {
    let marked = json!({"type": "ephemeral"});
    let asked = |provider: &str, model: &str, refuses: bool| {
        let server = ModelServer::with(move |seen| {
            if refuses && seen.body.contains("cache_control") {
                let words = "messages.0.content.0.cache_control: Extra inputs are not permitted";
                let body = json!({"error": {"message": words}}).to_string();
                return Reply::json("400 Bad Request", &body);
            }
            Reply::stream(says(&["hello"]))
        });
        let url = format!("{}/", server.url);
        let settings: &[(&'static str, &str)] = match provider {
            "openrouter" => &[("OPENROUTER_HOST", &url), ("OPENROUTER_API_KEY", "k")],
            "litellm" => &[("LITELLM_HOST", &url)],
            "databricks" => &[("DATABRICKS_HOST", &url), ("DATABRICKS_TOKEN", "k")],
            _ => &[("OPENAI_HOST", &url), ("OPENAI_API_KEY", "k")],
        };
        let messages = ["one", "two", "three"].map(|text| {
            let role = if text == "two" {
                Role::Assistant
            } else {
                Role::User
            };
            Message::text(role, text)
        });
        let mut question = Question {
            messages: messages.to_vec(),
            ..Question::default()
        };
        question.model.model_name = model.to_owned();
        let provider = crate::catalog::provider(provider, settings);
        question.ask(&*provider).0.unwrap();
        server.bodies().pop().unwrap()
    };
    for provider in ["openrouter", "litellm", "databricks"] {
        let body = asked(provider, "anthropic/claude-sonnet-5.5", false);
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages[0]["content"][0]["cache_control"], marked, "{body}");
        assert_eq!(messages[1]["content"][0]["cache_control"], marked);
        assert_eq!(messages[2]["content"], "two");
        assert_eq!(messages[3]["content"][0]["text"], "three");
        assert_eq!(messages[3]["content"][0]["cache_control"], marked);
        assert_eq!(body.to_string().matches("cache_control").count(), 3);
        let other = asked(provider, "gpt-5", false);
        assert!(!other.to_string().contains("cache_control"));
        let refused = asked(provider, "anthropic/claude-sonnet-5.5", true);
        assert!(!refused.to_string().contains("cache_control"));
    }
    let direct = asked("openai", "claude-sonnet-5.5", false);
    assert!(!direct.to_string().contains("cache_control"));
}
