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
