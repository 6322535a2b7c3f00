//! Text and JSON from outside: makes text safe to show, removes secrets from it, and parses JSON.
#![forbid(unsafe_code)]

#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzz_input;
#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
mod invisible_characters;
pub mod json;
mod redact;
pub mod sorting;
pub mod split_command;

pub use invisible_characters::{
    for_model, is_invisible, json_for_model, may_hide_words, printable, strip_invisible,
};
pub use redact::{Cut, redact, redact_excerpt};

/// What follows `http://` or `https://`, in upper or lower case; `None` if the address begins otherwise.
pub fn after_http_scheme(address: &str) -> Option<&str> {
    ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = address.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}
