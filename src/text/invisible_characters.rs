//! Characters that a person does not see: escaped for a person, removed for a model.

use std::borrow::Cow;

/// Text for a log or an error: at most `limit` characters, on one line, with control characters, terminal
/// escapes and other invisible characters escaped.
pub fn printable(text: &str, limit: usize) -> String {
    if text.len() <= limit && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == limit {
            out.push('…');
            break;
        }
        if is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Text for a terminal: keeps its lines and drops the characters that [`printable`] escapes, so that escape
/// sequences have no effect.
pub fn strip_invisible(text: &str) -> String {
    let harmless = |c: &char| matches!(c, '\n' | '\t') || !is_invisible(*c);
    text.chars().filter(harmless).collect()
}

/// Control characters, and characters that change how the text around them is shown: directions, joiners, tags.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Text for a model: without characters that are invisible to a person but that a model may read as words, or
/// that show a person the words in another order.
///
/// Removed are tags and the supplementary variation selectors (U+E0000–U+E0FFF), direction controls
/// (U+202A–U+202E, U+2066–U+2069), and invisible operators and annotations (U+2060–U+2064, U+206A–U+206F,
/// U+FFF9–U+FFFB). Characters that writing systems need stay: joiners, direction marks, the zero-width space.
/// Flags of subdivisions are emoji made of tags: only their black flag stays.
pub fn for_model(text: &str) -> Cow<'_, str> {
    if text.contains(may_hide_words) {
        Cow::Owned(text.chars().filter(|c| !may_hide_words(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// As [`for_model`], for JSON text, in which such characters may also be escaped as `\u…`. Everything else
/// stays byte for byte, also in invalid JSON.
pub fn json_for_model(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return for_model(json);
    }
    let mut out = String::with_capacity(json.len());
    // The offsets of unpaired surrogates at the end of `out`. Removing characters may bring the other half of a
    // pair next to one.
    let mut halves: Vec<usize> = Vec::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&for_model(&rest[..at]));
        rest = &rest[at..];
        let (escaped, length) = escape(rest);
        let text = &rest[..length];
        rest = &rest[length..];
        if halves.last().is_none_or(|at| at + UNIT != out.len()) {
            halves.clear();
        }
        match escaped {
            Escaped::Char(c) if may_hide_words(c) => {}
            Escaped::Half(second) => {
                let first = halves.last().and_then(|at| unit(&out[*at..]));
                let whole = first.and_then(|first| pair(first, second));
                if whole.is_some_and(may_hide_words) {
                    out.truncate(halves.pop().unwrap_or_default());
                } else {
                    halves.push(out.len());
                    out.push_str(text);
                }
            }
            _ => out.push_str(&for_model(text)),
        }
    }
    out.push_str(&for_model(rest));
    if out.len() == json.len() {
        Cow::Borrowed(json)
    } else {
        Cow::Owned(out)
    }
}

/// The length of `\uXXXX`, in bytes.
const UNIT: usize = 6;

/// The meaning of an escape.
enum Escaped {
    Char(char),
    /// A surrogate that is not followed by its other half.
    Half(u16),
    /// Anything else.
    Other,
}

/// The meaning of the escape at the start of `json`, and its length in bytes.
fn escape(json: &str) -> (Escaped, usize) {
    let Some(first) = unit(json) else {
        let second = json.chars().nth(1).map_or(0, char::len_utf8);
        return (Escaped::Other, 1 + second);
    };
    if let Some(c) = char::from_u32(first.into()) {
        return (Escaped::Char(c), UNIT);
    }
    match unit(&json[UNIT..]).and_then(|second| pair(first, second)) {
        Some(c) => (Escaped::Char(c), 2 * UNIT),
        None => (Escaped::Half(first), UNIT),
    }
}

/// The number in the `\uXXXX` at the start.
fn unit(json: &str) -> Option<u16> {
    let digits = json.strip_prefix("\\u")?.get(..4)?;
    let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

fn pair(first: u16, second: u16) -> Option<char> {
    let mut decoded = char::decode_utf16([first, second]);
    decoded.next()?.ok().filter(|_| decoded.next().is_none())
}

/// Whether the character can hide words from a person that a model reads.
pub fn may_hide_words(c: char) -> bool {
    // Most text contains no such character; one comparison excludes all below.
    c >= '\u{202a}'
        && matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
