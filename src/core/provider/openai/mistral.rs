//! The additional rules of Mistral's servers, and of vLLM with Mistral's template:
//! <https://docs.mistral.ai/capabilities/function_calling>.
//!
//! The id of a call has nine letters and digits, and no user message follows a tool message.

use crate::provider::tool_names::hash64;
use std::borrow::Cow;

const ID_LENGTH: usize = 9;
/// The assistant message between a tool message and a user message.
pub(super) const BRIDGE: &str = "I have the results.";

/// Whether a request to this endpoint and model must follow these rules.
pub(super) fn is_mistral(url: &str, model: &str) -> bool {
    let host = url
        .split("://")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let name = model.rsplit('/').next().unwrap_or_default().to_lowercase();
    // Mistral, Ministral, Codestral, Devstral, Magistral; Mixtral, Pixtral, Voxtral.
    host.is_some_and(|host| host.ends_with("mistral.ai"))
        || name.contains("stral")
        || name.contains("xtral")
}

/// The id of a call as nine letters and digits; equal ids stay equal.
pub(super) fn id(id: &str) -> Cow<'_, str> {
    if id.len() == ID_LENGTH && id.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return id.into();
    }
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = hash64(id.bytes());
    let mut short = String::with_capacity(ID_LENGTH);
    for _ in 0..ID_LENGTH {
        short.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    short.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_nine_letters_and_digits() {
        assert_eq!(id("D681PevKs"), "D681PevKs");
        let mut seen = std::collections::HashSet::new();
        for other in [
            "",
            "call_1",
            "call_2",
            "D681PevK_",
            "toolu_01A09q90qw90lq917835lq9",
        ] {
            let short = id(other).into_owned();
            assert!(short.len() == 9 && short.bytes().all(|b| b.is_ascii_alphanumeric()));
            assert_eq!(id(other), short);
            assert!(seen.insert(short), "two ids became one");
        }
    }

    #[test]
    fn its_servers_and_its_models_are_known() {
        for (url, model, is) in [
            ("https://api.mistral.ai/v1/chat/completions", "any", true),
            (
                "http://localhost:8000/v1",
                "mistralai/Devstral-Small-2507",
                true,
            ),
            ("http://localhost:8000/v1", "open-mixtral-8x7b", true),
            ("https://api.openai.com/v1", "gpt-4o", false),
            ("https://h/mistral.ai", "mistralai/other", false),
        ] {
            assert_eq!(is_mistral(url, model), is, "{url} {model}");
        }
    }
}
