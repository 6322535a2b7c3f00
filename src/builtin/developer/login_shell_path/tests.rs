use super::*;

#[test]
fn the_answer_is_found_in_any_noise() {
    let found = |text: &str| parse_output(&text.replace('M', MARK)).map(str::to_owned);
    assert_eq!(found("hello\nM/a:/b\noops\n").as_deref(), Some("/a:/b"));
    assert_eq!(found("x M/no\nM/a\nM/b").as_deref(), Some("/b"));
    for none in ["", "M", "/a", "M\n/a", " M/a"] {
        assert_eq!(found(none), None, "{none}");
    }
}

#[cfg(unix)]
#[test]
fn ones_own_folders_come_first_and_none_comes_twice() {
    let joined = join(&OsString::from("/a:/b:.:"), "/b:/c:rel:/a");
    assert_eq!(joined, OsString::from("/a:/b:/c"));
}
