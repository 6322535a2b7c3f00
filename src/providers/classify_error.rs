//! Classifies the errors of providers and extracts their messages, by shapes and phrases that the providers
//! share. A protocol with specific error codes checks those first.

use super::too_long;
use super::wait_in_words::wait_in_words;
use super::{Error, ErrorClass};
use serde_json::Value;

/// Words for an image or audio in a refusal; each must be a complete word.
const IMAGE: [&str; 10] = [
    "audio",
    "input_audio",
    "image",
    "images",
    "image_url",
    "input_image",
    "vision",
    "multimodal",
    "multi-modal",
    "mmproj",
];
/// What such a refusal says of the image.
const UNFIT: [&str; 26] = [
    "not support",
    "unsupported",
    "only supported",
    "that support",
    "not enabled",
    "not accept",
    "not a multi",
    "not a vision",
    "no vision",
    "invalid",
    "not valid",
    "valid image",
    "corrupt",
    "not process",
    "to process",
    "decod",
    "load",
    "pars",
    "exceed",
    "too large",
    "too many",
    "at most",
    "unknown variant",
    "media type",
    "media_type",
    "base64",
];
/// Phrases of servers that accept only text: a message with an image is a list of parts.
const TEXT_ONLY: [&str; 3] = [
    "content must be a string",
    "content': expected a string",
    "sequence, expected a string",
];
/// Phrases of server errors because of an image.
const NO_IMAGES: [&str; 6] = [
    "image input",
    "audio input",
    "support image",
    "image data",
    "load image",
    "mmproj",
];
/// Phrases for an account without credits.
const NO_CREDITS: [&str; 11] = [
    "insufficient_quota",
    "insufficient credits",
    "insufficient balance",
    "credit balance",
    "billing_hard_limit",
    "exceeded your current quota",
    "more credits",
    "have any credits",
    "available credits",
    "out of credits",
    "spending limit",
];
/// Phrases for a text that the provider's moderation refused.
const MODERATION: [&str; 4] = ["moderation", "flagged", "content policy", "usage policies"];
/// Phrases for a rate limit, for errors whose status is missing or does not say so.
const RATE_LIMIT: [&str; 6] = [
    "rate_limit",
    "rate limit",
    "too many requests",
    "resource_exhausted",
    "tokens per minute",
    "too many tokens, please wait",
];
/// Phrases for a failure of the server. They classify errors without a status, and tell a 5xx from an error
/// about an image.
const SERVER_FAILURE: [&str; 6] = [
    "overloaded",
    "server_error",
    "internal error",
    "api_error",
    "unavailable",
    "bad gateway",
];

/// The class and the message of an error response.
pub(super) fn classify_body(status: u16, body: &[u8]) -> (ErrorClass, String) {
    let Ok(json) = crate::json::from_slice::<Value>(body) else {
        let words = String::from_utf8_lossy(body).into_owned();
        return (classify(status, "", &words), words);
    };
    let (_, kind, words) = error_parts(&json);
    (classify(status, &kind, &words), words)
}

/// The error in a message of a stream.
pub(super) fn stream_error(message: &Value) -> Error {
    let (status, kind, words) = error_parts(message);
    Error::new(classify(status.unwrap_or(0), &kind, &words), words)
}

/// The class of an error. `status` is 0 if there is none; `kind` is the provider's error code, `words` its
/// message.
pub(super) fn classify(status: u16, kind: &str, words: &str) -> ErrorClass {
    let text = format!("{kind} {words}").to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let rate_limit = || ErrorClass::RateLimit {
        after: wait_in_words(words),
    };
    match status {
        401 => ErrorClass::Authentication,
        402 => ErrorClass::Credits,
        _ if says(&NO_CREDITS) => ErrorClass::Credits,
        403 if says(&MODERATION) => ErrorClass::Refused,
        403 => ErrorClass::Authentication,
        429 => rate_limit(),
        // Another request was in the way; the capacity of Groq's "flex" was used up; the model wrote a call that
        // Groq could not read.
        409 | 498 => ErrorClass::Server,
        0 | 400 if says(&["tool_use_failed"]) => ErrorClass::Server,
        // Some providers report a rate limit with 413, or as "too many tokens" for the minute. A shorter
        // conversation would not help.
        0 | 400..=499 if says(&RATE_LIMIT) => rate_limit(),
        0 | 400..=499 if too_long::is_refusal(&text) => ErrorClass::ContextExceeded,
        413 => ErrorClass::ContextExceeded,
        0 if says(&["request_too_large"]) => ErrorClass::ContextExceeded,
        500 if too_long::is_failure(&text) && !says(&RATE_LIMIT) => ErrorClass::ContextExceeded,
        408 | 500..=599 => ErrorClass::Server,
        0 if says(&["authentication", "invalid_api_key", "permission"]) => {
            ErrorClass::Authentication
        }
        0 if says(&SERVER_FAILURE) => ErrorClass::Server,
        0 if says(&["invalid_request", "not_found"]) => ErrorClass::Refused,
        0 => ErrorClass::Server,
        _ => ErrorClass::Refused,
    }
}

/// Whether an error of this class with this message is about an image of the request. The caller checks that
/// the request has an image. `status` is 0 for an error in a stream.
pub(super) fn is_image_error(status: u16, class: ErrorClass, words: &str) -> bool {
    let text = words.to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let is_separator = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    let names_one = || text.split(is_separator).any(|word| IMAGE.contains(&word));
    match class {
        ErrorClass::Refused => says(&TEXT_ONLY) || (says(&UNFIT) && names_one()),
        // The request is too large in bytes, not in tokens.
        ErrorClass::ContextExceeded => {
            status == 413 && !too_long::is_refusal(&text) && says(&UNFIT) && names_one()
        }
        ErrorClass::Server => {
            (500..=599).contains(&status) && says(&NO_IMAGES) && !says(&SERVER_FAILURE)
        }
        _ => false,
    }
}

/// The status (if the error's code is one), the error codes, and the message.
fn error_parts(json: &Value) -> (Option<u16>, String, String) {
    let json = json.get(0).unwrap_or(json);
    let error = match json.get("error") {
        Some(error) if !error.is_null() => error,
        _ => json,
    };
    let code = error.get("code");
    let status = code.and_then(|code| match code {
        Value::Number(n) => n.as_u64(),
        Value::String(s) => s.parse().ok(),
        _ => None,
    });
    let status = status.filter(|n| (100..600).contains(n)).map(|n| n as u16);
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let kind = ["type", "code", "status"].map(|key| text(error, key).unwrap_or_default());
    let words = (text(error, "message"))
        .or_else(|| error.as_str().map(str::to_owned))
        .or_else(|| text(json, "message"))
        .or_else(|| text(json, "detail"))
        .unwrap_or_else(|| json.to_string());
    // OpenRouter: the message of the provider behind it.
    let words = match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) => format!("{words}: {raw}"),
        None => words,
    };
    (status, kind.join(" ").trim().to_owned(), words)
}

#[cfg(test)]
mod tests;
