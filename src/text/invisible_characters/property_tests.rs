//! Properties of all texts.

use super::*;
use crate::redact;
use gosling_testing::arbitrary::{Result, Unstructured};
use gosling_testing::property_testing::{any_text, check, one_of, vec_of};

/// Written independently, to check the list in the code.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

fn hides_words(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}')
}

#[test]
fn what_is_shown_can_be_seen_whole_and_stays_the_same_the_second_time() {
    check(|u| {
        let text = any_text(u)?;
        let shown = printable(&text, usize::MAX);
        assert!(!shown.contains(is_dangerous), "{shown:?}");
        assert_eq!(printable(&shown, usize::MAX), shown);
        if !text.contains(is_invisible) {
            assert_eq!(shown, text);
        }
        let limit = u.int_in_range(0..=30)?;
        let cut = printable(&text, limit);
        assert!(!cut.contains(is_dangerous), "{cut:?}");
        assert!(cut.chars().count() <= limit * "\\u{10ffff}".len() + 1);
        let whole = cut.strip_suffix('…').unwrap_or(&cut);
        assert!(shown.starts_with(whole));
        Ok(())
    });
}

#[test]
fn what_a_terminal_gets_has_no_power_and_all_its_words() {
    check(|u| {
        let text = any_text(u)?;
        let shown = strip_invisible(&text);
        let harmless = |c: char| matches!(c, '\n' | '\t');
        assert!(
            !shown.contains(|c| is_dangerous(c) && !harmless(c)),
            "{shown:?}"
        );
        assert_eq!(strip_invisible(&shown), shown);
        let visible = text.chars().filter(|c| harmless(*c) || !is_invisible(*c));
        assert!(visible.eq(shown.chars()));
        Ok(())
    });
}

#[test]
fn a_model_gets_the_text_without_hidden_words_and_otherwise_unchanged() {
    check(|u| {
        let text = any_text(u)?;
        let read = for_model(&text);
        assert!(!read.contains(hides_words), "{read:?}");
        assert_eq!(for_model(&read), read);
        let rest = text.chars().filter(|c| !may_hide_words(*c));
        assert!(rest.eq(read.chars()));
        Ok(())
    });
}

/// Parts of JSON strings.
const IN_JSON: [&str; 22] = [
    "a",
    "\\\\",
    "\\\"",
    "\\n",
    "\\/",
    "\\u0041",
    "\\u202e",
    "\\u202E",
    "\\u2066",
    "\\udb40",
    "\\uDB40",
    "\\udc41",
    "\\uDC7F",
    "\\udb40\\udc41",
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "\u{e0041}",
    "\u{202e}",
    "é",
    "u202e",
    "udc41",
];

/// The UTF-16 of a JSON string's escapes, including unpaired surrogates.
fn units(json: &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let length = match rest.strip_prefix("\\u") {
            Some(hex) => {
                units.push(u16::from_str_radix(&hex[..4], 16).unwrap());
                6
            }
            None if c == '\\' => {
                units.push(u16::from(rest.as_bytes()[1]));
                2
            }
            None => {
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    units
}

#[test]
fn json_hides_no_words_either_however_they_are_escaped() {
    check(|u| {
        let json: String = vec_of(u, 14, |u| {
            Ok(match one_of(u, &IN_JSON)? {
                one if one == "\"" || one == "\\" => "x".to_owned(),
                one => one,
            })
        })?
        .concat();
        let read = json_for_model(&json);
        let decoded = String::from_utf16_lossy(&units(&read));
        assert!(!decoded.contains(hides_words), "{json:?} becomes {read:?}");
        assert_eq!(json_for_model(&read), read);
        if !String::from_utf16_lossy(&units(&json)).contains(may_hide_words) {
            assert_eq!(read, json);
        }
        Ok(())
    });
}

#[test]
fn any_text_is_taken_for_json_without_harm() {
    check(|u| {
        let parts = vec_of(u, 14, |u| one_of(u, &IN_JSON))?;
        let json: String = parts.concat();
        assert!(json_for_model(&json).len() <= json.len());
        Ok(())
    });
}

#[test]
fn no_part_of_a_secret_is_left_and_nothing_else_is_lost() {
    const LETTERS: [&str; 4] = ["a", "b", "ab", "é"];
    fn word(u: &mut Unstructured<'_>, most: usize) -> Result<String> {
        vec_of(u, most, |u| one_of(u, &LETTERS)).map(|word| word.concat())
    }
    check(|u| {
        let secrets = vec_of(u, 4, |u| word(u, 4))?;
        // A secret is found with and without the white space around it.
        let found = secrets.iter().flat_map(|secret| [secret, secret.trim()]);
        let found: Vec<&str> = found.filter(|secret| !secret.trim().is_empty()).collect();
        // The replacement text must not contain a secret.
        if found.iter().any(|secret| "[secret]".contains(secret)) {
            return Ok(());
        }
        let text = word(u, 16)?;
        let shown = redact(&text, &secrets);
        let mut secret_bytes = vec![false; text.len()];
        for secret in found {
            for at in
                (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(secret.as_bytes()))
            {
                secret_bytes[at..at + secret.len()].fill(true);
            }
        }
        let kept = text
            .bytes()
            .zip(&secret_bytes)
            .filter(|(_, secret)| !**secret);
        let kept: Vec<u8> = kept.map(|(byte, _)| byte).collect();
        assert_eq!(
            shown.replace("[secret]", "").as_bytes(),
            kept,
            "{text:?} without {secrets:?} is {shown:?}"
        );
        let hidden = secret_bytes.contains(&true);
        assert_eq!(hidden, shown.contains("[secret]"));
        Ok(())
    });
}
