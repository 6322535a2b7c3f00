use super::*;

fn display(name: &str, arguments: Value) -> Display {
    let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
    Display::new(name, &arguments, Path::new("/work"))
}

#[test]
fn builtin_tools_have_titles_kinds_and_places() {
    let edit = json!({"command": "insert", "path": "src/../a.rs", "insert_line": 3});
    let edit = display(TEXT_EDITOR, edit);
    assert_eq!(
        (edit.title.as_str(), edit.kind),
        ("Edit src/../a.rs", "edit")
    );
    assert_eq!(edit.location, Some((PathBuf::from("/work/a.rs"), Some(4))));
    let read = json!({"command": "view", "path": "/etc/hosts", "view_range": [10, 20]});
    let read = display(TEXT_EDITOR, read);
    assert_eq!(read.kind, "read");
    assert_eq!(read.location, Some((PathBuf::from("/etc/hosts"), Some(10))));
    let shell = display(SHELL, json!({"command": "cd x\nmake"}));
    assert_eq!((shell.title.as_str(), shell.kind), ("cd x …", "execute"));
    assert_eq!(shell.location, None);
}

#[test]
fn other_tools_are_named_after_their_extension() {
    let tool = display("files__delete_file", json!({"path": "a"}));
    assert_eq!(
        (tool.title.as_str(), tool.kind),
        ("files: delete file", "delete")
    );
    assert_eq!(tool.location, None);
    assert_eq!(display("x", json!([])).title, "x");
}

#[test]
fn odd_arguments_are_not_shown() {
    for odd in [json!(null), json!({"command": 5}), json!("x")] {
        let shown = display(SHELL, odd);
        assert_eq!(shown.title, "Run a command");
    }
    let negative = json!({"command": "insert", "path": "a", "insert_line": i64::MIN});
    assert_eq!(display(TEXT_EDITOR, negative).location.unwrap().1, None);
}
