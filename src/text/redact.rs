//! Redaction: removes secrets from text.

use std::ops::Range;

/// The replacement of a secret.
const REDACTED: &str = "[secret]";
/// The minimum length in bytes at which a piece of a secret is recognized.
const PIECE: usize = 3;
/// The minimum length in bytes at which a line of a multi-line secret counts as a secret.
const LINE: usize = 8;

/// Replaces these secrets in the text. Truncate text after this call, or use [`redact_excerpt`]: half a secret
/// is not found. Of overlapping secrets no part is left. A secret with several lines, such as a private key, is
/// found as a whole and line by line.
pub fn redact(text: &str, secrets: &[String]) -> String {
    let found = whole(text, &patterns(secrets));
    replace(text, found)
}

/// At which ends an excerpt was cut off.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Text before it is missing.
    pub before: bool,
    /// Text after it is missing, or may be.
    pub behind: bool,
}

/// As [`redact`], for an excerpt of a longer text. Also replaces pieces of secrets at the cut ends. Bytes that
/// are not UTF-8 become U+FFFD.
pub fn redact_excerpt(excerpt: &[u8], cut: Cut, secrets: &[String]) -> String {
    let text = String::from_utf8_lossy(without_split_characters(excerpt, cut));
    let patterns = patterns(secrets);
    let mut found = whole(&text, &patterns);
    for pattern in patterns {
        // The longest piece first.
        let lengths = || (PIECE..pattern.len()).rev();
        let head = |n: &usize| pattern.get(..*n).is_some_and(|head| text.ends_with(head));
        let tail = |n: &usize| {
            let tail = pattern.get(pattern.len() - n..);
            tail.is_some_and(|tail| text.starts_with(tail))
        };
        if let Some(length) = lengths().find(|n| cut.behind && head(n)) {
            found.push(text.len() - length..text.len());
        }
        if let Some(length) = lengths().find(|n| cut.before && tail(n)) {
            found.push(0..length);
        }
        if cut.before && cut.behind && text.len() >= PIECE && pattern.contains(&*text) {
            found.push(0..text.len());
        }
    }
    replace(&text, found)
}

/// Removes bytes of characters that a cut has split.
fn without_split_characters(excerpt: &[u8], cut: Cut) -> &[u8] {
    let is_inner = |byte: &&u8| **byte & 0xc0 == 0x80;
    let mut bytes = excerpt;
    if cut.before {
        let rest = bytes.iter().take(3).take_while(is_inner).count();
        bytes = &bytes[rest..];
    }
    if cut.behind {
        let inner = bytes.iter().rev().take(3).take_while(is_inner).count();
        let last = bytes.len().saturating_sub(inner + 1);
        // Bytes that are invalid anyway stay.
        if std::str::from_utf8(&bytes[last..]).is_err_and(|error| error.error_len().is_none()) {
            bytes = &bytes[..last];
        }
    }
    bytes
}

/// The texts to search for.
fn patterns(secrets: &[String]) -> Vec<&str> {
    let mut patterns = Vec::with_capacity(secrets.len());
    for secret in secrets {
        let trimmed = secret.trim();
        if trimmed.is_empty() {
            // White space alone is not a secret.
            continue;
        }
        patterns.push(trimmed);
        if trimmed.len() < secret.len() {
            patterns.push(secret);
        }
        if trimmed.contains('\n') {
            let lines = trimmed.lines().map(str::trim);
            patterns.extend(lines.filter(|line| line.len() >= LINE));
        }
    }
    patterns
}

fn whole(text: &str, patterns: &[&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for pattern in patterns {
        let step = pattern.chars().next().map_or(1, char::len_utf8);
        let mut from = 0;
        while let Some(at) = text[from..].find(pattern) {
            let begin = from + at;
            found.push(begin..begin + pattern.len());
            // Occurrences may overlap.
            from = begin + step;
        }
    }
    found
}

fn replace(text: &str, mut found: Vec<Range<usize>>) -> String {
    crate::sorting::sort_by(&mut found, |a, b| a.start.cmp(&b.start));
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for found in found {
        if found.start >= end {
            out.push_str(&text[end..found.start]);
            out.push_str(REDACTED);
        }
        end = end.max(found.end);
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests;
