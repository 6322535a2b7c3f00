use super::*;

#[test]
fn words_are_those_of_a_shell() {
    for (text, words) in [
        ("", &[][..]),
        ("  a  b\t", &["a", "b"]),
        ("a 'b c' \"d \\\" e\"", &["a", "b c", "d \" e"]),
        ("a\\ b''c \"\"", &["a bc", ""]),
        ("'\\'", &["\\"]),
        ("a'b'\"c\"d", &["abcd"]),
        ("\"it's\" '\"'", &["it's", "\""]),
        ("\\'a \\\"b\\\"", &["'a", "\"b\""]),
    ] {
        assert_eq!(split(text).unwrap(), words, "{text}");
    }
    for bad in ["'a", "a \"b", "a\\"] {
        assert!(split(bad).is_err(), "{bad}");
    }
}

#[test]
fn quotes_keep_words_together_without_escapes() {
    assert_eq!(
        split_literal(r#"greet name="Ada Lovelace" 'it''s' empty="" x"#),
        ["greet", "name=Ada Lovelace", "its", "empty=", "x"]
    );
    assert_eq!(split_literal("  "), Vec::<String>::new());
    assert_eq!(split_literal("a=\"b c"), ["a=b c"]);
    assert_eq!(split_literal(r#"C:\a "b\" \"#), [r"C:\a", r"b\", r"\"]);
}
