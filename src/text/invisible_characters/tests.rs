use super::*;

#[test]
fn text_from_outside_loses_its_teeth() {
    for (text, shown) in [
        ("a\x1b[31mb\u{202e}", "a\\u{1b}[31mb\\u{202e}"),
        ("one\r\ntwo\u{2028}", "one\\u{d}\\u{a}two\\u{2028}"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("naïve — ok", "naïve — ok"),
    ] {
        assert_eq!(printable(text, 50), shown);
    }
    assert_eq!(printable("abcdef", 3), "abc…");
    assert_eq!(
        strip_invisible("a\tb\r\n\x1b]0;t\x07\u{9b}é\u{202e}"),
        "a\tb\n]0;té"
    );
}

#[test]
fn a_model_reads_no_more_than_a_person_sees() {
    for (text, read) in [
        ("add\u{e0041}\u{e0042}\u{e007f} two", "add two"),
        ("a\u{202e}b\u{2066}c\u{2069}", "abc"),
        ("\u{2063}\u{fffa}\u{e0100}", ""),
        ("\u{1f3f4}\u{e0067}\u{e007f}", "\u{1f3f4}"),
    ] {
        assert_eq!(for_model(text), read, "{text:?}");
    }
    for text in [
        "naïve — ok\n\t\u{1b}",
        "\u{1f468}\u{200d}\u{1f469}",
        "می\u{200c}خواهم\u{200e}",
        "\u{2764}\u{fe0f}\u{200b}",
    ] {
        assert!(matches!(for_model(text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn escapes_in_json_hide_nothing_either() {
    for (json, read) in [
        (r#"{"a":"x\udb40\udc41y"}"#, r#"{"a":"xy"}"#),
        ("{\"a\":\"x\u{e0041}\\u202Ey\"}", r#"{"a":"xy"}"#),
        ("\"\u{e0041}\\n\"", r#""\n""#),
        // Removing the character between two halves of a pair must not create the pair.
        (r#""a\udb40\u202e\udc41b""#, r#""ab""#),
        ("\"\\udb40\\udb40\u{202e}\\udc41\\u202e\\udc42\"", r#""""#),
    ] {
        assert_eq!(json_for_model(json), read, "{json}");
    }
    for json in [
        r#"{"a":"\\udb40\\udc41 \u00e9 \ud83d\ude00 \ud83d"}"#,
        r#""\\\\u202e""#,
        r#""\udb40""#,
        r#""\udb40\u0041""#,
        r"\",
        r"\u20",
        r"\u20é",
        r"\é\u202",
    ] {
        assert!(
            matches!(json_for_model(json), Cow::Borrowed(same) if same == json),
            "{json}"
        );
    }
}
