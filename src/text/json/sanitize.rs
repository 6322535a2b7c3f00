//! The door for JSON from outside: text that every strict reader accepts, since raw JSON is passed on to clients,
//! providers and files that refuse half a surrogate pair or a number beyond the range of a double.

use std::borrow::Cow;

/// The longest number that passes unchanged, in bytes. The longest whole number within the range of a double has
/// 309 digits.
const MAX_NUMBER: usize = 310;
/// What replaces a number beyond the range of a double. The shortest such number has as many bytes.
const LARGEST: &str = "1e308";
const REPLACEMENT: &str = "\\ufffd";
/// The length of `\uXXXX`, in bytes.
const UNIT: usize = 6;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// As [`sanitize`], for bytes: also drops a byte order mark, and replaces what is not UTF-8 by U+FFFD.
pub fn sanitize_bytes(json: &[u8]) -> Cow<'_, str> {
    let json = json.strip_prefix(BOM).unwrap_or(json);
    // Faster than the lossy conversion, which nearly no text needs.
    match std::str::from_utf8(json) {
        Ok(text) => sanitize(text),
        Err(_) => Cow::Owned(sanitize(&String::from_utf8_lossy(json)).into_owned()),
    }
}

/// Replaces what strict readers of JSON refuse: the escape of half a surrogate pair by `\ufffd`, a number beyond
/// the range of a double by 1e308 with its sign, which stays a number and larger than most, and a number of more
/// than 310 bytes by the nearest double. Spaces fill the rest, so that places in errors stay.
///
/// Ordinary text is returned as it is, after two scans: for `\u`, and for numbers, eight bytes at a time.
pub fn sanitize(json: &str) -> Cow<'_, str> {
    let may_have_half = json.contains("\\u") && (json.contains("\\ud") || json.contains("\\uD"));
    if may_have_half || may_have_large_number(json.as_bytes()) {
        replace(json)
    } else {
        Cow::Borrowed(json)
    }
}

/// Whether there may be a number with an exponent, or a long one: a digit before an `e`, or many digits in a row.
fn may_have_large_number(json: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    const LOW: u64 = 0x7f * EACH;
    /// Fewer than a long number contains, wherever it begins.
    const MANY_WORDS: usize = MAX_NUMBER / 8 - 2;

    let (words, rest) = json.as_chunks();
    let mut last_is_digit = 0;
    let mut words_of_digits = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let low = word & LOW;
        // The highest bit of each byte that is a digit.
        let digits = (low + 0x50 * EACH) & !(low + 0x46 * EACH) & !word & HIGH;
        let unlike = (word | (0x20 * EACH)) ^ (u64::from(b'e') * EACH);
        // The highest bit of each byte that is `e` or `E`.
        let exponents = !(((unlike & LOW) + LOW) | unlike | LOW);
        if ((digits << 8) | last_is_digit) & exponents != 0 {
            return true;
        }
        last_is_digit = digits >> 56;
        words_of_digits = if digits == HIGH {
            words_of_digits + 1
        } else {
            0
        };
        if words_of_digits == MANY_WORDS {
            return true;
        }
    }
    let mut was_digit = last_is_digit != 0;
    rest.iter().any(|byte| {
        let is_exponent = was_digit && (byte | 0x20) == b'e';
        was_digit = byte.is_ascii_digit();
        is_exponent
    })
}

fn replace(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut replaced: Option<String> = None;
    let mut put = |at: usize, length: usize, text: &str| {
        let replaced = replaced.get_or_insert_with(|| json.to_owned());
        replaced.replace_range(at..at + length, &format!("{text:length$}"));
    };
    let mut quoted = false;
    // Where the string may end: the next quote, which may be escaped.
    let mut quote = 0;
    let mut at = 0;
    while at < bytes.len() {
        if quoted {
            if quote < at {
                quote = json[at..].find('"').map_or(bytes.len(), |found| at + found);
            }
            let Some(found) = json[at..quote].find('\\') else {
                quoted = false;
                at = quote + 1;
                continue;
            };
            at += found;
            let (length, is_half) = escape(&bytes[at..]);
            if is_half {
                put(at, length, REPLACEMENT);
            }
            at += length;
            continue;
        }
        match bytes[at] {
            b'"' => quoted = true,
            b'-' | b'0'..=b'9' => {
                let in_number =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(in_number).count();
                if let Some(text) = replacement(&json[at..at + length]) {
                    put(at, length, &text);
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    replaced.map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The length of the escape at the start, and whether it is half a surrogate pair alone.
fn escape(json: &[u8]) -> (usize, bool) {
    let unit = |json: &[u8]| {
        let digits = json.strip_prefix(b"\\u")?.get(..UNIT - 2)?;
        let hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| hex)?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(json), json.get(UNIT..).and_then(unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (2 * UNIT, false),
        (Some(0xd800..=0xdfff), _) => (UNIT, true),
        (Some(_), _) => (UNIT, false),
        // The escaped byte may be a quote; a character that is not ASCII cannot be escaped.
        (None, _) => (
            1 + usize::from(json.get(1).is_some_and(u8::is_ascii)),
            false,
        ),
    }
}

/// What replaces a number; `None` if it may stay, or is not a number.
fn replacement(number: &str) -> Option<String> {
    let value: f64 = number.parse().ok()?;
    if value.is_finite() {
        (number.len() > MAX_NUMBER).then(|| format!("{value:e}"))
    } else if value.is_sign_negative() {
        Some(format!("-{LARGEST}"))
    } else {
        Some(LARGEST.to_owned())
    }
}

#[cfg(test)]
mod tests;
