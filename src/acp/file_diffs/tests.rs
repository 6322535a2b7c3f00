use super::*;

fn shown(arguments: Value, text: Option<&str>) -> Option<(Value, Value)> {
    let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
    let read = |path: &Path| {
        assert_eq!(path, Path::new("/work/a"));
        text.map_or(FileText::Missing, |text| FileText::Text(text.to_owned()))
    };
    let (diff, _) = proposed(&arguments, Path::new("/work"), &read);
    diff.map(|diff| (diff["oldText"].clone(), diff["newText"].clone()))
}

#[test]
fn an_edit_is_shown_in_the_whole_file() {
    let text = Some("one\ntwo\n");
    let replace = json!({"command": "str_replace", "path": "a", "old_str": "two", "new_str": "2"});
    let both = (json!("one\ntwo\n"), json!("one\n2\n"));
    assert_eq!(shown(replace, text), Some(both));
    let insert =
        |line: i64| json!({"command": "insert", "path": "a", "insert_line": line, "new_str": "x"});
    for (line, after) in [
        (0, "x\none\ntwo\n"),
        (1, "one\nx\ntwo\n"),
        (-1, "one\ntwo\nx\n"),
    ] {
        let (_, new) = shown(insert(line), text).unwrap();
        assert_eq!(new, json!(after), "{line}");
    }
    let write = json!({"command": "write", "path": "a", "file_text": "new"});
    assert_eq!(
        shown(write.clone(), text),
        Some((json!("one\ntwo\n"), json!("new")))
    );
    assert_eq!(shown(write, None), Some((json!(null), json!("new"))));
}

#[test]
fn an_edit_that_does_not_fit_is_shown_as_it_was_asked_for() {
    let twice = json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"});
    assert_eq!(shown(twice, Some("x x")), Some((json!("x"), json!("y"))));
    for line in [i64::MIN, i64::MAX, 9] {
        let far = json!({"command": "insert", "path": "a", "insert_line": line, "new_str": "y"});
        assert_eq!(shown(far, Some("x")), Some((json!(""), json!("y"))));
    }
    let view = json!({"command": "view", "path": "a"});
    assert_eq!(shown(view, Some("x")), None);
}
