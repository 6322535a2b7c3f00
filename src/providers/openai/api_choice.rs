//! Which of OpenAI's two protocols a server wants, by what it says when it refuses a request over one of them.

use crate::request_form::{OpenAiApi, Refusal};

/// What a server says of a model that it serves over Responses alone, in lower case.
const WANTS_RESPONSES: [&str; 8] = [
    "/responses",
    "responses endpoint",
    "responses api",
    "not a chat model",
    "not supported with the chat completions api",
    "in /v1/chat/completions",
    // GitHub Copilot.
    "not accessible via the /chat/completions endpoint",
    "chatcompletion operation does not work",
];
/// What a server says that does not know the URL.
const UNKNOWN_URL: [&str; 4] = [
    "unknown url",
    "unknown request url",
    "unrecognized request url",
    "invalid url",
];
/// What a server has not found, if not the URL.
const OTHER_MISSING: [&str; 3] = ["model", "deployment", "item"];

/// The other protocol than the one `used`, if the server wants it.
pub(super) fn wanted(refusal: Refusal<'_>, used: OpenAiApi) -> Option<OpenAiApi> {
    let words = refusal.words.to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match (used, refusal.status) {
        (OpenAiApi::ChatCompletions, 400 | 404) if says(&WANTS_RESPONSES) => {
            Some(OpenAiApi::Responses)
        }
        (OpenAiApi::Responses, 400) if says(&UNKNOWN_URL) || says(&["chat/completions"]) => {
            Some(OpenAiApi::ChatCompletions)
        }
        (OpenAiApi::Responses, 404 | 405) if says(&UNKNOWN_URL) || !says(&OTHER_MISSING) => {
            Some(OpenAiApi::ChatCompletions)
        }
        _ => None,
    }
}
