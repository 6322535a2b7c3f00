use super::*;

fn entry(text: &str, tags: &[&str]) -> Entry {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Entry::new(text, &tags)
}

#[test]
fn a_search_wants_all_of_its_words_and_tags() {
    let category = Category::named("Rust habits").unwrap();
    let entry = entry("Use `nice cargo`\n\nwhile others build.", &["Cargo", "ci"]);
    for (query, tags, found) in [
        ("nice", &[][..], true),
        ("habits OTHERS ci", &[], true),
        ("nice python", &[], false),
        ("", &["cargo"], true),
        ("nice", &["cargo", "CI"], true),
        ("nice", &["rust"], false),
    ] {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        assert_eq!(
            fits(&category, &entry, &words, &tags),
            found,
            "{query} {tags:?}"
        );
    }
}

#[test]
fn a_report_keeps_within_its_room_and_says_what_is_missing() {
    let category = Category::named("c").unwrap();
    let mut report = Report::new(60);
    let entries = vec![
        entry("one\n\nline", &["t", "u"]),
        entry("two", &[]),
        entry(&"long ".repeat(20), &[]),
        entry("x", &[]),
    ];
    report.add(Scope::Local, &category, entries, |_, entry| {
        entry.text != "two"
    });
    assert_eq!(
        report.finish("ask"),
        "## c (local)\n- [t u] one\n\n  line\n(2 more; ask.)\n"
    );
    let mut report = Report::new(20);
    let entries = vec![entry(&"ü".repeat(50), &[]), entry("x", &[])];
    report.add(Scope::Local, &category, entries, |_, _| true);
    assert_eq!(
        report.finish("ask"),
        "## c (local)\n- üü… (the rest is too long)\n(1 more; ask.)\n"
    );
}
