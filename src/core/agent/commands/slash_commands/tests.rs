use super::*;

#[test]
fn quotes_keep_words_together() {
    assert_eq!(
        words(r#"greet name="Ada Lovelace" 'it''s' empty="" x"#),
        ["greet", "name=Ada Lovelace", "its", "empty=", "x"]
    );
    assert_eq!(words("  "), Vec::<String>::new());
    assert_eq!(words("a=\"b c"), ["a=b c"]);
}
