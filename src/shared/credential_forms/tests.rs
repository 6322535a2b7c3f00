use super::*;

#[test]
fn credentials_go_and_the_rest_stays() {
    for (text, shown) in [
        ("key sk-ant-api03-0123456789.", "key [secret]"),
        ("\"sk-0123456789abcdefghij\",", "\"[secret]\","),
        (
            "Authorization: Bearer abc.def-123",
            "Authorization: Bearer [secret]",
        ),
        ("{\"bearer\": \"abcdefgh\"}", "{\"bearer\": \"[secret]\"}"),
        ("the bearer of a", "the bearer of a"),
        ("bearer, abcdefgh", "bearer, abcdefgh"),
        (
            "http://user:p%40ss@host:1/a@b",
            "http://[secret]@host:1/a@b",
        ),
        ("http://host/a@b http://host", "http://host/a@b http://host"),
        (
            "see sk-short and task-0123456789abcdefghijklmnop",
            "see sk-short and task-0123456789abcdefghijklmnop",
        ),
        ("é ghp_0123456789abcdefghij é", "é [secret] é"),
        ("", ""),
    ] {
        assert_eq!(redact_credentials(text), shown);
    }
}

#[test]
fn a_text_without_credentials_is_not_copied() {
    assert!(matches!(redact_credentials("a b\nc"), Cow::Borrowed(_)));
}
