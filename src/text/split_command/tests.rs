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
