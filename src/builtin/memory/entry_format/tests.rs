use super::*;

fn new(text: &str, tags: &[&str]) -> Entry {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Entry::new(text, &tags)
}

fn read(content: &str) -> Vec<Entry> {
    parse(content).into_iter().map(|(entry, _)| entry).collect()
}

#[test]
fn what_goose_writes_is_read() {
    let content = "# rust style\nUse tabs.\nAlways.\n\nplain\n\n# one\nx\n\n";
    let expected = [
        new("Use tabs.\nAlways.", &["rust", "style"]),
        new("plain", &[]),
        new("x", &["one"]),
    ];
    assert_eq!(read(content), expected);
    assert_eq!(read(&content.replace('\n', "\r\n")), expected);
    assert_eq!(read("\n\n\nplain\n\n\n\n# one\nx"), expected[1..]);
    for nothing in ["", "\n", "\n\n\n", "#\n\n", "   \n\n"] {
        assert_eq!(read(nothing), [], "{nothing:?}");
    }
}

#[test]
fn what_is_written_is_what_goose_would_read() {
    let entry = new("Use tabs.\nAlways.", &["rust", "style"]);
    assert_eq!(entry.render(), "# rust style\nUse tabs.\nAlways.\n\n");
    assert_eq!(new("plain", &[]).render(), "plain\n\n");
    // Goose splits a file in this way.
    for text in [
        "a\n\nb",
        "\n\n\na\n \t\n\n\nb\n\n",
        "a\r\n\r\nb",
        "# a\n\n# b",
    ] {
        let written = new(text, &["t"]).render();
        let parts: Vec<&str> = written.split("\n\n").collect();
        assert_eq!((parts.len(), parts[1]), (2, ""), "{text:?}: {written:?}");
    }
}

#[test]
fn every_text_comes_back() {
    for text in [
        "a\n\nb",
        "a\n\n\n\nb\n",
        "# a heading\n\ntext",
        "#",
        "  indented\n\tand more",
        "ünï\u{2028}code",
        "a\u{0}\u{7}b\rc",
        "trailing  \nspaces",
        "#\n#\n\n#",
    ] {
        for tags in [&[][..], &["x"], &["two words", "#hash", " ", "z\n"]] {
            let before = new("before", &[]);
            let entry = new(text, tags);
            let content = format!("{}{}{}", before.render(), entry.render(), before.render());
            let expected = [before.clone(), entry, before];
            assert_eq!(read(&content), expected, "{text:?} {tags:?}");
        }
    }
    assert_eq!(
        new("x", &["two words", "#hash", " "]).tags,
        ["two-words", "hash"]
    );
    assert_eq!(new("a\r\n \r\nb", &[]).text, "a\n\nb");
}

#[test]
fn what_is_taken_out_leaves_the_rest_alone() {
    let content = "# t\na  \n\r\n\n\nb\n \nb\n\n  c\n\nd";
    let places: Vec<_> = parse(content).into_iter().map(|(_, place)| place).collect();
    assert_eq!(places.len(), 4);
    assert_eq!(without(content, &[]), content);
    assert_eq!(
        without(content, &places[1..2]),
        "# t\na  \n\r\n\n\n  c\n\nd"
    );
    assert_eq!(without(content, &places[..1]), "b\n \nb\n\n  c\n\nd");
    assert_eq!(
        without(content, &places[3..]),
        "# t\na  \n\r\n\n\nb\n \nb\n\n  c\n\n"
    );
    assert_eq!(without(content, &places), "");
}
