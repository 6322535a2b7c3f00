//! Fuzz targets of text from outside.

use super::*;
#[cfg(test)]
use crate::fuzz_input::check_seeds;
use crate::fuzz_input::{self, Target, depth_of};
use crate::json;
use serde_json::Value;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("redaction", redaction, 200)];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// Written independently, to check the list in the code.
fn hides_words(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// No part of a secret is left, and nothing else is removed.
pub fn redacted(text: &str, secrets: &[String]) {
    const MARK: &str = "[secret]";
    let secrets: Vec<String> = (secrets.iter())
        .map(|secret| secret.trim().to_owned())
        .filter(|secret| !secret.is_empty())
        .collect();
    let shown = redact(text, &secrets);
    let mut is_secret = vec![false; text.len()];
    for secret in &secrets {
        for at in 0..text.len() {
            if text.as_bytes()[at..].starts_with(secret.as_bytes()) {
                is_secret[at..at + secret.len()].fill(true);
            }
        }
    }
    // The check searches for the marks, so the text must not contain any.
    if text.contains(MARK) {
        return;
    }
    let mut kept = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if !is_secret[at] {
            kept.push(byte);
        } else if at == 0 || !is_secret[at - 1] {
            kept.extend_from_slice(MARK.as_bytes());
        }
    }
    // Two adjacent secrets may have one mark or two.
    let squeezed = |text: &str| {
        let mut text = text.to_owned();
        while text.contains("[secret][secret]") {
            text = text.replace("[secret][secret]", MARK);
        }
        text
    };
    let kept = String::from_utf8(kept).expect("secrets are whole characters");
    assert_eq!(
        squeezed(&shown),
        squeezed(&kept),
        "{text:?} without {secrets:?}"
    );
}

/// Text for a person contains no invisible characters, and text for a model no hidden words.
pub fn visible(text: &str) {
    let shown = printable(text, 200);
    assert!(
        !shown.contains(|c: char| c.is_control() || hides_words(c)),
        "{shown:?}"
    );
    let shown = strip_invisible(text);
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(
        !shown.contains(|c| is_control(c) || hides_words(c)),
        "{shown:?}"
    );
    let read = for_model(text);
    assert!(!read.contains(hides_words), "{read:?}");
    assert_eq!(for_model(&read), read);
    // Only JSON has escapes; the check of JSON covers them.
    let read = json_for_model(text);
    assert!(
        read.len() <= text.len() && !read.contains(hides_words),
        "{read:?}"
    );
}

/// Checks that no text in this value hides words.
pub fn nothing_hidden(value: &Value) {
    match value {
        Value::String(text) => assert!(!text.contains(hides_words), "{text:?}"),
        Value::Array(items) => items.iter().for_each(nothing_hidden),
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            assert!(!name.contains(hides_words), "{name:?}");
            nothing_hidden(value);
        }),
        _ => {}
    }
}

/// Redaction removes secrets, and characters that are invisible to a person.
fn redaction(input: &[u8]) {
    let [text, secrets] = fuzz_input::texts(input);
    let secrets: Vec<String> = secrets.lines().take(8).map(str::to_owned).collect();
    redacted(&text, &secrets);
    visible(&text);
    let Ok(value) = json::from_str::<serde_json::Value>(&text) else {
        return;
    };
    let read = json_for_model(&text);
    assert_eq!(json_for_model(&read), read);
    let read: serde_json::Value = json::from_str(&read).expect("JSON without characters is JSON");
    assert_eq!(depth_of(&read), depth_of(&value));
    nothing_hidden(&read);
}
