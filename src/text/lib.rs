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

/// A fenced code block in Markdown; the fence is longer than any run of backquotes in the text.
pub fn fenced_block(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{gap}{fence}\n")
}

#[cfg(test)]
mod tests;
