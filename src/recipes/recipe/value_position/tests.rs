use super::*;

fn path(text: &str) -> Vec<Step> {
    text.split('/')
        .filter(|step| !step.is_empty())
        .map(|step| match step.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(step.to_owned()),
        })
        .collect()
}

const YAML: &str = "title: Ä ü\nlist:\n  - key: a\n    \"b c\": {d: [1, é, x]}\n  - &x [p, q]\n  - *x\ntext: |\n  one\n  two\nnone:\n";

#[test]
fn values_of_yaml_are_found_where_they_begin() {
    for (wanted, line, column) in [
        ("", 1, 1),
        ("title", 1, 8),
        ("list", 3, 3),
        ("list/0", 3, 5),
        ("list/0/key", 3, 10),
        ("list/0/b c/d/2", 4, 23),
        ("list/1/1", 5, 12),
        ("text", 7, 7),
    ] {
        let expected = Position { line, column };
        assert_eq!(in_yaml(YAML, &path(wanted)), Some(expected), "{wanted}");
    }
    // What is absent is looked for in what is around it.
    for (absent, around) in [
        ("list/0/z", "list/0"),
        ("list/9", "list"),
        ("title/3", "title"),
        ("z/z", ""),
    ] {
        let around = in_yaml(YAML, &path(around));
        assert_eq!(in_yaml(YAML, &path(absent)), around, "{absent}");
    }
    assert_eq!(in_yaml(YAML, &path("none")).unwrap().line, 10);
}

#[test]
fn values_of_json_are_found_where_they_begin() {
    let text =
        "\n{\"title\": \"Ä\", \"l\\u0069st\":\n\t[ {\"d\": \"\\ud83d\\ude00\"}, [1,\n 22] ]}";
    for (wanted, line, column) in [
        ("", 2, 1),
        ("title", 2, 11),
        ("list", 3, 2),
        ("list/0/d", 3, 10),
        ("list/1/1", 4, 2),
        ("list/1/7", 3, 27),
    ] {
        let expected = Position { line, column };
        assert_eq!(in_json(text, &path(wanted)), Some(expected), "{wanted}");
    }
}

#[test]
fn positions_and_offsets_match() {
    for (offset, _) in YAML.char_indices() {
        let position = of_offset(YAML, offset).unwrap();
        assert_eq!(offset_of(YAML, position), Some(offset), "{position:?}");
    }
    let beyond = Position {
        line: 99,
        column: 1,
    };
    assert_eq!(offset_of(YAML, beyond), None);
}
