use super::{CommandPattern, Patterns, fits};

#[test]
fn a_star_stands_for_any_characters_and_nothing_else_does() {
    for (pattern, text) in [
        ("git", "git"),
        ("git *", "git "),
        ("*", ""),
        ("*", "any\nthing"),
        ("a*a", "aa"),
        ("a*b*c", "a-b-b-c"),
        ("*ab*ab", "abab"),
        ("**", "x"),
        ("*.example.com", "a.example.com"),
    ] {
        assert!(fits(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [
        ("git", "git "),
        ("git *", "git"),
        ("a*a", "a"),
        ("*ab*ab", "ab"),
        ("a*b*c", "a-c-b"),
        ("a?c", "abc"),
        ("A", "a"),
        ("*.example.com", "example.com"),
        ("", "x"),
    ] {
        assert!(!fits(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn long_texts_are_compared_in_time() {
    let (pattern, text) = ("a*".repeat(500) + "b", "a".repeat(1 << 20));
    assert!(!fits(&pattern, &text));
}

#[test]
fn patterns_are_texts_or_lists_of_texts() {
    let read = |yaml: &str| yaml_serde::from_str::<Patterns>(yaml);
    assert!(read("[a, b]").unwrap().fit("b"));
    for wrong in [
        "5",
        "true",
        "[]",
        "''",
        "[[a]]",
        "{a: b}",
        "\"a\\u200b\"",
        "[5]",
        "",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_command_line_is_compared_word_by_word() {
    let pattern: CommandPattern = yaml_serde::from_str("[npx, -y, 'pkg@1.*']").unwrap();
    assert!(pattern.fits(["npx", "-y", "pkg@1.2"].into_iter()));
    assert!(!pattern.fits(["npx", "-y", "pkg@1.2", "more"].into_iter()));
    assert!(!pattern.fits(["npx", "-y pkg@1.2"].into_iter()));
    assert!(!pattern.fits(["npx", "-y"].into_iter()));
    let open: CommandPattern = yaml_serde::from_str("[server, ...]").unwrap();
    assert!(open.fits(["server"].into_iter()));
    assert!(open.fits(["server", "a", "b"].into_iter()));
    assert!(!open.fits([].into_iter()));
    assert!(yaml_serde::from_str::<CommandPattern>("[...]").is_err());
}
