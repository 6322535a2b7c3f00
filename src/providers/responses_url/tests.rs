use super::*;

#[test]
fn the_url_says_when_responses_is_used() {
    for (url, expected) in [
        (
            "https://api.openai.com/v1/chat/completions",
            UseResponses::ByModel,
        ),
        (
            "https://eu.api.openai.com:443/v1/chat/completions",
            UseResponses::ByModel,
        ),
        (
            "https://r.openai.azure.com/openai/v1/chat/completions",
            UseResponses::ByModel,
        ),
        (
            "https://notapi.openai.com/v1/chat/completions",
            UseResponses::OnRefusal,
        ),
        (
            "https://api.business.githubcopilot.com/chat/completions",
            UseResponses::ByModel,
        ),
        (
            "https://openrouter.ai/api/v1/chat/completions",
            UseResponses::OnRefusal,
        ),
        (
            "http://h/api.openai.com/chat/completions",
            UseResponses::OnRefusal,
        ),
        ("https://h/v1/responses?x=1", UseResponses::Always),
        ("https://h/v1/no-responses", UseResponses::OnRefusal),
    ] {
        assert_eq!(use_responses(url), expected, "{url}");
    }
}

#[test]
fn both_protocols_have_the_same_prefix() {
    for (chat, responses) in [
        ("https://h/v1/chat/completions", "https://h/v1/responses"),
        (
            "https://h/a/chat/completions?x=1",
            "https://h/a/responses?x=1",
        ),
        ("https://h/v1/responses", "https://h/v1/responses"),
        (
            "https://api.githubcopilot.com/chat/completions",
            "https://api.githubcopilot.com/responses",
        ),
        ("https://h/v2/talk", "https://h/v1/responses"),
        (
            "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21",
            "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2025-05-01",
            "https://r.openai.azure.com/openai/responses?api-version=2025-05-01",
        ),
    ] {
        assert_eq!(responses_url(chat), responses);
    }
}
