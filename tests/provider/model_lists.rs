//! The limits in a provider's list of models.

use crate::catalog::catalog;
use crate::model_server::{ModelServer, Reply};
use gosling::provider::Catalog;
use gosling::sys::cancel::Cancel;

#[test]
fn limits_that_a_provider_lists_count_from_then_on() {
    for (provider, host, key, model, list) in [
        (
            "openai",
            "OPENAI_HOST",
            "OPENAI_API_KEY",
            "served",
            r#"{"data":[{"id":"served","max_model_len":12345}]}"#,
        ),
        (
            "openrouter",
            "OPENROUTER_HOST",
            "OPENROUTER_API_KEY",
            "a/b",
            r#"{"data":[{"id":"a/b","context_length":12345,"top_provider":{"max_completion_tokens":99}}]}"#,
        ),
        #[cfg(feature = "anthropic")]
        (
            "anthropic",
            "ANTHROPIC_HOST",
            "ANTHROPIC_API_KEY",
            "claude-sonnet-5-5",
            r#"{"data":[{"id":"claude-sonnet-5-5","max_input_tokens":12345,"max_tokens":99}]}"#,
        ),
        #[cfg(feature = "google")]
        (
            "google",
            "GOOGLE_HOST",
            "GOOGLE_API_KEY",
            "gemini-x",
            r#"{"models":[{"name":"models/gemini-x","inputTokenLimit":12345,"outputTokenLimit":99}]}"#,
        ),
    ] {
        let server = ModelServer::new(vec![Reply::json("200 OK", list)]);
        let catalog = catalog(&[(host, &server.url), (key, "k")]);
        let before = catalog.model_config(provider, model);
        assert_ne!(before.context_limit, Some(12_345), "{provider}");
        let asked = catalog.provider(provider).unwrap();
        assert_eq!(asked.models(&Cancel::new()).unwrap(), [model]);
        let config = catalog.model_config(provider, model);
        assert_eq!(config.context_limit, Some(12_345), "{provider}");
        if provider == "anthropic" {
            assert_eq!(config.max_tokens, Some(99));
        }
    }
}

#[cfg(feature = "anthropic")]
#[test]
fn a_claude_that_no_list_has_gets_the_room_of_its_family() {
    let config = catalog(&[]).model_config("anthropic", "claude-sonnet-9-20290101");
    assert_eq!(config.context_limit, Some(200_000));
    assert_eq!(config.max_tokens, Some(64_000));
}
