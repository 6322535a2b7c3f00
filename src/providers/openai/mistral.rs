//! The additional rules of Mistral's servers, and of vLLM with Mistral's template:
//! <https://docs.mistral.ai/capabilities/function_calling>.
//!
//! The id of a call has nine letters and digits, and no user message follows a tool message.

use crate::tool_result_conversion::hash64;
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
mod tests;
