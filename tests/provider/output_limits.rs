//! The limit on output tokens: when a request has one, how large it is, and what happens if the provider
//! refuses it.

use crate::anthropic_and_google::{anthropic, google};
use crate::catalog::{catalog, provider};
use crate::harness::{KEY, Question, brief, openai};
use crate::model_server::{ModelServer, Reply, says};
use gosling::provider::{Catalog, ErrorClass, ModelConfig};
use serde_json::Value;

pub const CLAUDE: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hello\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);
pub const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";

/// A request with so many input tokens to a model with this context.
fn question(max_tokens: Option<u64>, context: u64, input: u64) -> Question {
    Question {
        model: ModelConfig {
            model_name: "m".into(),
            max_tokens,
            context_limit: Some(context),
            ..ModelConfig::default()
        },
        input,
        ..Question::default()
    }
}

fn refused(status: &str, message: &str) -> Reply {
    let body = serde_json::json!({"error": {"message": message}});
    Reply::json(status, &body.to_string())
}

fn limit(body: &Value) -> Option<u64> {
    body["max_tokens"].as_u64()
}

#[test]
fn the_limit_leaves_the_input_its_room_in_the_context() {
    for (wanted, input, sent) in [
        (Some(64_000), 10_000, 64_000),
        (Some(64_000), 178_959, 21_041),
        (None, 195_000, 5_000),
        (None, 0, 8_192),
        // The input is an estimate.
        (Some(64_000), 300_000, 1_024),
        (Some(10), 300_000, 10),
    ] {
        let claude = ModelServer::new(vec![Reply::stream(CLAUDE)]);
        let question = question(wanted, 200_000, input);
        question.ask(&*anthropic(&claude)).0.unwrap();
        assert_eq!(limit(&claude.bodies()[0]), Some(sent));
        let gemini = ModelServer::new(vec![Reply::stream(GEMINI)]);
        question.ask(&*google(&gemini)).0.unwrap();
        let config = &gemini.bodies()[0]["generationConfig"];
        let sent = wanted.map(|_| sent);
        assert_eq!(config["maxOutputTokens"].as_u64(), sent);
    }
}

#[test]
fn a_limit_that_the_provider_refuses_is_lowered_once() {
    let words = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input \
                 length or `max_tokens` and try again";
    let refusal = refused("400 Bad Request", words);
    let claude = ModelServer::new(vec![refusal.clone(), Reply::stream(CLAUDE)]);
    let (answer, recorded) = question(Some(64_000), 200_000, 100).ask(&*anthropic(&claude));
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
    assert!(recorded.retries.is_empty(), "{:?}", recorded.retries);
    let sent: Vec<_> = claude.bodies().iter().map(limit).collect();
    assert_eq!(sent, [Some(64_000), Some(50_000)]);

    // The conversation needs more room than estimated.
    let claude = ModelServer::new(vec![refusal.clone(), refusal]);
    let (answer, _) = question(Some(64_000), 200_000, 100).ask(&*anthropic(&claude));
    assert_eq!(answer.unwrap_err().class, ErrorClass::ContextExceeded);
    assert_eq!(claude.seen().len(), 2);

    let groq = ModelServer::new(vec![
        refused("400 Bad Request", "max_tokens is too large"),
        Reply::stream(says(&["hello"])),
    ]);
    let (answer, _) = question(Some(64_000), 200_000, 0).ask(&openai(&groq.url));
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
    let sent: Vec<_> = groq.bodies().iter().map(limit).collect();
    assert_eq!(sent, [Some(64_000), None]);
}

#[test]
fn a_limit_that_is_too_large_is_not_a_full_context_and_a_full_one_is() {
    for (words, class) in [
        (
            "max_tokens is too large: 131072. This model supports at most 16384 completion tokens, whereas \
             you provided 131072.",
            ErrorClass::Refused,
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5060 tokens (4036 in \
             the messages, 1024 in the completion). Please reduce the length of the messages or completion.",
            ErrorClass::ContextExceeded,
        ),
        (
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input \
             length or `max_tokens` and try again",
            ErrorClass::ContextExceeded,
        ),
    ] {
        let server = ModelServer::with(move |_| refused("400 Bad Request", words));
        let (answer, _) = question(Some(131_072), 200_000, 0).ask(&openai(&server.url));
        let error = answer.unwrap_err();
        assert_eq!(error.class, class, "{error}");
    }
}

#[test]
fn a_limit_on_requests_is_not_a_full_context() {
    let words = "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please \
                 reduce your message size and try again.";
    let refusal = refused("413 Payload Too Large\r\nRetry-After: 100", words);
    let groq = ModelServer::new(vec![refusal]);
    let (answer, _) = Question::default().ask(&openai(&groq.url));
    let class = answer.unwrap_err().class;
    assert!(matches!(class, ErrorClass::RateLimit { .. }), "{class:?}");
}

#[test]
fn servers_that_know_their_own_limits_are_sent_none() {
    for (name, host, model) in [
        ("openai", "OPENAI_HOST", "gpt-4o"),
        ("vllm", "VLLM_HOST", "llama-3.3-70b-versatile"),
        ("groq", "GROQ_HOST", "openai/gpt-oss-120b"),
    ] {
        let server = ModelServer::new(vec![Reply::stream(says(&["hello"]))]);
        let variables = [(host, server.url.as_str()), ("GROQ_API_KEY", KEY)];
        let catalog = catalog(&variables);
        let question = Question {
            model: catalog.model_config(name, model),
            ..Question::default()
        };
        question.ask(&*provider(name, &variables)).0.unwrap();
        let body = &server.bodies()[0];
        for key in ["max_tokens", "max_completion_tokens"] {
            assert!(body.get(key).is_none(), "{name}: {body}");
        }
    }
}

/// A server that refuses a limit on output above `most` with this message, and responds "hello" otherwise.
fn limited(most: u64, words: &'static str) -> ModelServer {
    ModelServer::with(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        match limit(&body) {
            Some(limit) if limit > most => refused("400 Bad Request", words),
            _ => Reply::stream(says(&["hello"])),
        }
    })
}

#[test]
fn a_refused_limit_is_remembered_for_its_model() {
    for (words, lowered) in [
        ("max_tokens must be at most 8192", Some(8_192)),
        ("max_tokens is too large", None),
    ] {
        let server = limited(8_192, words);
        let provider = openai(&server.url);
        let ask = |max_tokens| {
            let (answer, _) = question(max_tokens, 200_000, 0).ask(&provider);
            assert_eq!(brief(&answer.unwrap()), ["text hello"]);
        };
        for wanted in [Some(64_000), Some(64_000), Some(100_000), Some(4_000), None] {
            ask(wanted);
        }
        let sent: Vec<_> = server.bodies().iter().map(limit).collect();
        let expected = [Some(64_000), lowered, lowered, lowered, Some(4_000), None];
        assert_eq!(sent, expected, "{words}");
    }
    // The room in the context differs for each conversation, so it is not remembered.
    let words = "This model's maximum context length is 9000 tokens. However, your request has 2000 input tokens \
                 plus 64000 'max_tokens'.";
    let server = limited(7_000, words);
    let provider = openai(&server.url);
    for _ in 0..2 {
        question(Some(64_000), 200_000, 0).ask(&provider).0.unwrap();
    }
    let sent: Vec<_> = server.bodies().iter().map(limit).collect();
    assert_eq!(sent, [64_000, 7_000, 64_000, 7_000].map(Some));
}

#[test]
fn a_limit_that_is_refused_for_another_reason_is_not_left_out() {
    for words in [
        "max_tokens must be greater than thinking.budget_tokens",
        "max_tokens must be > 0",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
    ] {
        let server = limited(0, words);
        let (answer, _) = question(Some(64_000), 200_000, 0).ask(&openai(&server.url));
        assert_eq!(answer.unwrap_err().class, ErrorClass::Refused, "{words}");
        assert_eq!(server.seen().len(), 1, "{words}");
    }
}

#[test]
fn a_limit_above_what_a_model_named_after_vision_gives_is_lowered() {
    let words = "`max_tokens` must be less than or equal to `8192`, the maximum value for \
                 `llama-3.2-90b-vision-preview`";
    let server = limited(8_192, words);
    let (answer, _) = question(Some(64_000), 200_000, 0).ask(&openai(&server.url));
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
}
