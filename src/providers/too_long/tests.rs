use crate::ErrorClass;
use crate::classify_error::{classify_body, stream_error};
use serde_json::json;

/// What servers say of a conversation that is too long, one row for each.
const TOO_LONG: &[(&str, &str)] = &[
    (
        "Anthropic",
        "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
    ),
    (
        "Anthropic",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    ("Bedrock", "Input is too long for requested model."),
    (
        "Cohere",
        "too many tokens: total number of tokens in the prompt cannot exceed 128000",
    ),
    (
        "GitHub Copilot",
        "prompt token count of 70000 exceeds the limit of 64000",
    ),
    (
        "Google",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    (
        "Google",
        "Unable to submit request because the input token count is 32825 but model only supports up to 32768.",
    ),
    (
        "Groq",
        "Please reduce the length of the messages or completion.",
    ),
    ("Kimi", "Your request exceeded model token limit: 131072"),
    ("LiteLLM", "ContextWindowExceededError: x"),
    (
        "LM Studio",
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with 4096",
    ),
    (
        "LM Studio",
        "The number of tokens to keep from the initial prompt is greater than the context length",
    ),
    (
        "MiniMax",
        "invalid params, context window exceeds limit (2013)",
    ),
    (
        "Mistral",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    ),
    ("Ollama", "the input length exceeds the context length"),
    ("OpenAI", "context_length_exceeded"),
    (
        "OpenAI",
        "Your input exceeds the context window of this model.",
    ),
    (
        "OpenRouter",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens",
    ),
    ("Qwen", "Range of input length should be [1, 98304]"),
    (
        "TGI",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    ),
    (
        "Together",
        "`inputs` tokens + `max_new_tokens` must be <= 8193",
    ),
    (
        "vLLM",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    ),
    (
        "vLLM",
        "Please reduce the length of the input prompt or the number of requested output tokens.",
    ),
    (
        "xAI",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    ),
    ("Z.ai", "Prompt exceeds max length"),
    (
        "llama.cpp",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
    ),
    ("llama.cpp", "Context size has been exceeded."),
    ("llama.cpp", "context shift is disabled"),
    ("a proxy", "tokens in request more than max tokens allowed"),
    (
        "a proxy",
        "total message size 5000000 exceeds limit 4194304",
    ),
];

#[test]
fn each_server_is_understood_in_every_place() {
    for &(who, words) in TOO_LONG {
        let error = json!({"error": {"message": words}});
        for status in [400, 413, 422, 500] {
            let (class, _) = classify_body(status, error.to_string().as_bytes());
            assert_eq!(
                class,
                ErrorClass::ContextExceeded,
                "{who}, {status}: {words}"
            );
        }
        let class = stream_error(&error).class;
        assert_eq!(class, ErrorClass::ContextExceeded, "{who}, stream: {words}");
    }
}

#[test]
fn a_limit_per_minute_and_a_failure_of_the_server_stay_what_they_are() {
    let rate = "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000";
    let wait = "Too many tokens, please wait before trying again.";
    for words in [rate, wait] {
        for status in [400, 413] {
            let (class, _) = classify_body(status, words.as_bytes());
            assert!(matches!(class, ErrorClass::RateLimit { .. }), "{words}");
        }
    }
    for words in [rate, "cannot load the model with a context size of 4096"] {
        let (class, _) = classify_body(500, words.as_bytes());
        assert_eq!(class, ErrorClass::Server, "{words}");
    }
}
