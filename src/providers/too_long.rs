//! The phrases with which servers refuse a conversation that is longer than the model's context. A shorter
//! conversation would succeed.

use super::{Error, ErrorClass};

/// The reason of an answer that ended because the context is full.
pub(super) const CONTEXT_FULL: &str = "model_context_window_exceeded";

/// The error if such an answer has not begun.
pub(super) fn context_is_full() -> Error {
    let what = format!("the context is full ({CONTEXT_FULL})");
    Error::new(ErrorClass::ContextExceeded, what)
}

/// Phrases that say it on their own, in lower case. All parts of one have to be there.
const SURE: &[&[&str]] = &[
    &["context_length_exceeded"],
    &["context_window_exceeded"],
    &["contextwindowexceeded"],
    &["model_max_prompt_tokens_exceeded"],
    &["exceed_context_size_error"],
    &["exceed context limit"],
    &["maximum model length"],
    &["maximum prompt length"],
    &["`inputs` tokens"],
    &["prompt is too long"],
    &["prompt too long"],
    &["input is too long"],
    &["too many tokens"],
    &["input token count"],
    &["exceeds the maximum number of tokens"],
    &["reduce the length of the"],
    // Kimi.
    &["exceeded model token limit"],
    // Z.ai.
    &["prompt exceeds max length"],
    // Qwen.
    &["range of input length"],
    // GitHub Copilot.
    &["prompt token count", "exceeds the limit"],
    // llama.cpp, and LM Studio on it.
    &["context shift is disabled"],
    &["context the overflows"],
    &["tokens in request more than max tokens allowed"],
    &["total message size", "exceeds limit"],
];

/// Names of the context. A server failure can name it for another reason.
const CONTEXT: [&str; 4] = [
    "context length",
    "context window",
    "context size",
    "maximum context",
];

/// What a text that names the context says if the conversation is longer.
const EXCESS: [&str; 8] = [
    "exceed",
    "longer than",
    "larger than",
    "greater than",
    "too long",
    "too large",
    "overflow",
    "however, you requested",
];

/// Whether the text of a refusal, in lower case, says that the conversation is too long.
pub(super) fn is_refusal(text: &str) -> bool {
    is_sure(text) || names_context(text)
}

/// Whether the text of a failure of the server, in lower case, says so.
pub(super) fn is_failure(text: &str) -> bool {
    let is_exceeded = EXCESS.iter().any(|excess| text.contains(excess));
    is_sure(text) || (names_context(text) && is_exceeded)
}

fn is_sure(text: &str) -> bool {
    let has_all = |phrase: &&[&str]| phrase.iter().all(|part| text.contains(part));
    SURE.iter().any(has_all)
}

fn names_context(text: &str) -> bool {
    CONTEXT.iter().any(|name| text.contains(name))
}

#[cfg(test)]
mod tests;
