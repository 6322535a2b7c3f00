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
    match value.is_finite() {
        true if number.len() <= MAX_NUMBER => None,
        true => Some(format!("{value:e}")),
        false if value.is_sign_negative() => Some(format!("-{LARGEST}")),
        false => Some(LARGEST.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gosling_testing::property_testing::{any_json, check, one_of, vec_of};
    use serde_json::Value;

    #[test]
    fn halves_of_pairs_are_replaced() {
        for (json, read) in [
            (r#""a\ud83d b""#, "a\u{fffd} b"),
            (r#""\ude00\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\uD83D\ud83d\ude00\n""#, "\u{fffd}😀\n"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\"\ud800\"""#, "\"\u{fffd}\""),
        ] {
            let read_again: String = serde_json::from_str(&sanitize(json)).unwrap();
            assert_eq!(read_again, read, "{json}");
        }
        for json in [
            r#""\ud83"#,
            "\"\\",
            r#""\u"#,
            r#""\u+123""#,
            "\"\\é\\ud80é\"",
            r"\ud800",
        ] {
            assert!(matches!(sanitize(json), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn numbers_that_readers_refuse_are_replaced() {
        let digits = "7".repeat(2_000);
        for (number, value) in [
            ("1e999", 1e308),
            ("-9E+0308", -1e308),
            ("2e308", 1e308),
            (&digits, 1e308),
            (&format!("-{digits}.5e-1999"), -7.777777777777778),
            (&format!("0.{digits}"), 0.7777777777777778),
            ("1e-999", 0.0),
        ] {
            let json = format!(r#"{{"a":[{number}],"b":"{number}"}}"#);
            let sanitized = sanitize(&json);
            assert_eq!(sanitized.len(), json.len());
            let read: Value = serde_json::from_str(&sanitized).unwrap();
            assert_eq!(read["a"][0], value, "{number}");
            assert_eq!(read["b"], number);
        }
        let whole = "1".repeat(309);
        for json in [
            "1e308",
            "[1e-5,1.5E+3]",
            "\"1e999\"",
            "1e",
            "[12e+]",
            &whole,
        ] {
            assert!(matches!(sanitize(json), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_replaced_and_a_byte_order_mark_dropped() {
        assert_eq!(
            sanitize_bytes(b"\xef\xbb\xbf{\"a\":\"\xe9\\ud800\"}"),
            "{\"a\":\"\u{fffd}\\ufffd\"}"
        );
        assert!(matches!(
            sanitize_bytes("\u{feff}{\"ä\":1}".as_bytes()),
            Cow::Borrowed("{\"ä\":1}")
        ));
    }

    /// JSON in which strings and numbers are odd.
    fn odd_json(
        u: &mut gosling_testing::arbitrary::Unstructured<'_>,
    ) -> gosling_testing::arbitrary::Result<String> {
        const UNITS: [&str; 9] = [
            "\\ud800", "\\uDFFF", "\\n", "\\\\", "\\\"", "é", "1e999", "u", "\\u0041",
        ];
        let mut json = any_json(u, &["a", "NUMBER", "STRING"], 4)?.to_string();
        while let Some(at) = json.find("\"NUMBER\"") {
            let digits = "9".repeat(*u.choose(&[1, 2, 7, 8, 9, 308, 309, 310, 400])?);
            let end = one_of(
                u,
                &["", "e", "e1", "E+308", "e999", "e-9999", ".5", ".5e300"],
            )?;
            json.replace_range(at..at + 8, &format!("{digits}{end}"));
        }
        while let Some(at) = json.find("STRING") {
            let units = vec_of(u, 9, |u| one_of(u, &UNITS))?;
            json.replace_range(at..at + 6, &units.concat());
        }
        Ok(json)
    }

    #[test]
    fn whatever_serde_skips_can_be_read_afterwards() {
        check(|u| {
            let json = odd_json(u)?;
            let sanitized = sanitize(&json);
            assert_eq!(sanitized.len(), json.len());
            assert_eq!(sanitize(&sanitized), sanitized, "twice is once");
            if serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok() {
                let read = serde_json::from_str::<Value>(&sanitized);
                assert!(read.is_ok(), "{json} became {sanitized}: {read:?}");
            }
            Ok(())
        });
    }

    #[test]
    fn a_scan_finds_what_is_replaced_wherever_it_is() {
        for before in 0..20 {
            for number in ["1e999", &"7".repeat(330)] {
                let json = format!("{}{number}", " ".repeat(before));
                assert!(may_have_large_number(json.as_bytes()), "{json}");
                assert!(matches!(sanitize(&json), Cow::Owned(_)), "{json}");
            }
        }
        check(|u| {
            let bytes: Vec<u8> = u.arbitrary()?;
            let is_exponent = |pair: &[u8]| pair[0].is_ascii_digit() && (pair[1] | 0x20) == b'e';
            let found = bytes.windows(2).any(is_exponent);
            assert_eq!(may_have_large_number(&bytes), found);
            sanitize_bytes(&bytes);
            Ok(())
        });
    }
}
