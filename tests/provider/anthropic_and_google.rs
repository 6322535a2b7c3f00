//! The providers of Anthropic and Google, made by the catalog.

use crate::catalog::provider;
use crate::harness::{KEY, Question, brief};
use crate::model_server::{ModelServer, Reply};
use gosling::conversation::{Message, Role};
use gosling::provider::{ErrorClass, ModelConfig, Provider, StopReason};
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::sync::Arc;

pub fn anthropic(server: &ModelServer) -> Arc<dyn Provider> {
    let variables = [
        ("ANTHROPIC_HOST", server.url.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    provider("anthropic", &variables)
}

pub fn google(server: &ModelServer) -> Arc<dyn Provider> {
    let variables = [
        ("GOOGLE_HOST", server.url.as_str()),
        ("GOOGLE_API_KEY", KEY),
    ];
    provider("google", &variables)
}

const CLAUDE: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":3}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);
const GEMINI: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}]}}],\"responseId\":\"r1\"}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}]},\"finishReason\":\"STOP\"}],",
    "\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}\r\n\r\n",
);

#[test]
fn claude_answers_over_the_wire() {
    let server = ModelServer::new(vec![Reply::stream(CLAUDE)]);
    let (answer, recorded) = Question::default().ask(&*anthropic(&server));
    let answer = answer.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    assert_eq!(recorded.all, ["begin msg_1", "text hello"]);
    assert_eq!(
        (answer.usage.input, answer.usage.output),
        (Some(3), Some(2))
    );
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/messages")
    );
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(
        server.bodies()[0]["messages"][0]["content"][0]["text"],
        "hello"
    );
}

#[test]
fn gemini_answers_over_the_wire_and_the_key_is_not_in_the_url() {
    let server = ModelServer::new(vec![Reply::stream(GEMINI)]);
    let (answer, recorded) = Question::default().ask(&*google(&server));
    let answer = answer.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    assert_eq!(recorded.text(), "hello");
    assert_eq!(answer.stop, StopReason::Complete);
    assert_eq!(answer.usage.total, Some(5));
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/v1beta/models/m:streamGenerateContent?alt=sse");
    assert_eq!(seen.header("x-goog-api-key"), Some(KEY));
}

/// The model's part of a conversation that goes on with this answer, as a model of this name gets it.
fn replayed_to(model: &str, stream: &str) -> Value {
    let server = ModelServer::new(vec![Reply::stream(stream), Reply::stream(GEMINI)]);
    let gemini = google(&server);
    let mut question = Question {
        model: ModelConfig {
            model_name: "gemini-4-argon".into(),
            ..ModelConfig::default()
        },
        ..Question::default()
    };
    let answer = question.ask(&*gemini).0.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    let answer = Message::new(Role::Assistant, answer.content);
    question.messages.push(answer);
    question.messages.push(Message::text(Role::User, "go on"));
    question.model.model_name = model.into();
    question.ask(&*gemini).0.unwrap();
    server.bodies()[1]["contents"][1]["parts"].clone()
}

#[test]
fn a_signature_on_text_goes_back_to_the_model_that_signed_it() {
    let stream = |parts: &[&str]| -> String {
        let event = |part: &&str| {
            let end = r#""finishReason":"STOP""#;
            format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}},{end}}}]}}\n\n")
        };
        parts.iter().map(event).collect()
    };
    let signed = json!([{"text": "hello", "thoughtSignature": "c2ln"}]);
    let plain = json!([{"text": "hello"}]);
    let own = "gemini-4-argon";
    let hel = r#"{"text":"hel"}"#;
    let lo = r#"{"text":"lo","thoughtSignature":"c2ln"}"#;
    let empty = r#"{"text":"","thoughtSignature":"c2ln"}"#;
    assert_eq!(replayed_to(own, &stream(&[hel, lo])), signed);
    assert_eq!(
        replayed_to(own, &stream(&[r#"{"text":"hello"}"#, empty])),
        signed
    );
    assert_eq!(
        replayed_to(
            own,
            &stream(&[
                r#"{"text":"hel","thoughtSignature":"b2xk"}"#,
                r#"{"text":"lo"}"#
            ])
        ),
        plain,
        "the text went on after the signature"
    );
    assert_eq!(
        replayed_to("gemini-3.8-flash", &stream(&[hel, lo])),
        plain,
        "another model did not sign it"
    );
}

#[test]
fn an_overloaded_claude_is_asked_again() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let busy = Reply::json("529 Overloaded\r\nRetry-After: 0", overloaded);
    let server = ModelServer::new(vec![busy, Reply::stream(CLAUDE)]);
    let (answer, recorded) = Question::default().ask(&*anthropic(&server));
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
    assert_eq!(recorded.retries.len(), 1);
}

#[test]
fn a_refused_key_says_which_setting_to_look_at_and_stays_secret() {
    let claude = ModelServer::new(vec![Reply::json(
        "401 Unauthorized",
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-very-secret-key"}}"#,
    )]);
    let gemini = ModelServer::new(vec![Reply::json(
        "400 Bad Request",
        r#"[{"error":{"code":400,"message":"API key not valid: sk-very-secret-key","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
    )]);
    for (provider, setting) in [
        (anthropic(&claude), "ANTHROPIC_API_KEY"),
        (google(&gemini), "GOOGLE_API_KEY"),
    ] {
        let error = Question::default().ask(&*provider).0.unwrap_err();
        assert_eq!(error.class, ErrorClass::Authentication);
        assert!(error.message.contains(setting), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
}

#[test]
fn their_models_are_listed() {
    let claude = ModelServer::new(vec![Reply::json(
        "200 OK",
        r#"{"data":[{"id":"claude-x"}]}"#,
    )]);
    assert_eq!(
        anthropic(&claude).models(&Cancel::new()).unwrap(),
        ["claude-x"]
    );
    assert_eq!(claude.seen()[0].path, "/v1/models?limit=1000");
    let gemini = ModelServer::new(vec![Reply::json(
        "200 OK",
        r#"{"models":[{"name":"models/gemini-x"}]}"#,
    )]);
    assert_eq!(
        google(&gemini).models(&Cancel::new()).unwrap(),
        ["gemini-x"]
    );
}

/// Halves of surrogate pairs and numbers beyond a double, in a text and in arguments: readers of the answer are strict.
#[test]
fn what_every_protocol_sends_is_unicode_with_bounded_numbers() {
    let odd = r#"{"a":"x\ud800","n":[1e999,-1e999]}"#;
    let as_text = serde_json::to_string(odd).unwrap();
    let claude = CLAUDE.replace("hello", r"x\ud800").replace(
        "event: message_delta",
        &format!(
            "data: {{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{{}}}}}}\n\n\
             data: {{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":{as_text}}}}}\n\n\
             event: message_delta"
        ),
    );
    let gemini = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"x\\ud800\"}},{{\"functionCall\":{{\"name\":\"f\",\"args\":{odd}}}}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let ollama = format!(
        "{{\"message\":{{\"content\":\"x\\ud800\",\"tool_calls\":[{{\"function\":{{\"name\":\"f\",\"arguments\":{odd}}}}}]}}}}\n\
         {{\"done\":true,\"done_reason\":\"stop\"}}\n"
    );
    let ask = |body: &str, provider: &dyn Fn(&ModelServer) -> Arc<dyn Provider>| {
        let server = ModelServer::new(vec![Reply::stream(body)]);
        let (answer, _) = Question::default().ask(&*provider(&server));
        answer.unwrap()
    };
    let answers = [
        ask(&claude, &anthropic),
        ask(&gemini, &google),
        ask(&ollama, &|server| crate::ollama::ollama(&server.url)),
    ];
    for answer in answers {
        assert_eq!(brief(&answer)[0], "text x\u{fffd}");
        let json = serde_json::to_string(&answer.content).unwrap();
        let read: serde_json::Value = serde_json::from_str(&json).expect("strict JSON");
        let call = &read[1]["toolCall"]["value"]["arguments"];
        assert_eq!(
            *call,
            serde_json::json!({"a": "x\u{fffd}", "n": [1e308, -1e308]})
        );
    }
}
