use super::*;
use serde_json::json;

#[test]
fn masks_as_recorded() {
    for (value, masked) in [
        (json!("abcdefghijklmnop"), "abcdefgh********"),
        (json!("abcdefghijklmnopqrst"), "abcdefgh************"),
        (json!("abcd"), "ab**"),
        (json!("abc"), "a**"),
        (json!("a"), "*"),
        (json!(""), ""),
        (json!("ключключ"), "ключ****"),
        (json!(1234), "12**"),
        (json!({"a": 1}), "{\"a****"),
    ] {
        assert_eq!(mask(&value), masked);
    }
}

#[test]
fn a_secret_never_shows_itself() {
    let secret = Secret::new(json!("hunter2"));
    for shown in [
        format!("{secret}"),
        format!("{secret:?}"),
        format!("{:#?}", Some(&secret)),
    ] {
        assert!(!shown.contains("hunter"), "{shown}");
    }
    assert_eq!(secret.expose_text(), "hunter2");
    assert_eq!(Secret::new(json!(5)).expose_text(), "5");
}

#[test]
fn digits_of_a_variable_are_kept() {
    for text in ["007", "1.10", "12345678901234567890123", " 5", "1e5"] {
        assert_eq!(from_env(text.to_owned()), json!(text));
    }
    assert_eq!(from_env("5".to_owned()), json!(5));
    assert_eq!(from_env("\"a\"".to_owned()), json!("a"));
}
