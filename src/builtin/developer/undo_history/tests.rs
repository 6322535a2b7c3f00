use super::*;

#[test]
fn the_last_ten_edits_are_kept_and_not_too_much_of_them() {
    let mut history = History::default();
    let path = Path::new("/a");
    let edit = |before: String| Edit::new(Some(before), Some(""));
    let keep = |history: &mut History, path: &Path, edit: Edit| {
        history.begin(path, edit);
        history.commit(path);
    };
    for n in 0..12 {
        keep(&mut history, path, edit(n.to_string()));
    }
    let mut back = Vec::new();
    while let Some(edit) = history.last(path) {
        back.push(edit.before.clone().unwrap());
        history.forget_last(path);
    }
    assert_eq!(back, ["11", "10", "9", "8", "7", "6", "5", "4", "3", "2"]);
    assert_eq!(history.size, 0);
    for n in 0..5 {
        let path = PathBuf::from(format!("/{n}"));
        keep(&mut history, &path, edit("x".repeat(MAX_BYTES / 3)));
        keep(&mut history, &path, Edit::new(None, Some("")));
    }
    assert!(history.size <= MAX_BYTES);
    for n in 0..5 {
        history.forget(&PathBuf::from(format!("/{n}")));
    }
    assert_eq!(history.size, 0);
}

#[test]
fn an_edit_knows_what_it_left() {
    let edit = Edit::new(None, Some("a"));
    let found = |text| FileState::of(Some(text));
    assert!(edit.is_unchanged_since(found("a")));
    assert!(!edit.is_unchanged_since(found("b")));
    assert!(
        !edit.is_unchanged_since(FileState::Missing) && !edit.is_unchanged_since(FileState::Other)
    );
    let removed = Edit::new(Some("a".to_owned()), None);
    assert!(
        removed.is_unchanged_since(FileState::Missing)
            && !removed.is_unchanged_since(FileState::Other)
    );
}

#[test]
fn an_edit_that_failed_can_be_undone_if_it_changed_the_file() {
    let mut history = History::default();
    let path = Path::new("/a");
    let found = |text| FileState::of(Some(text));
    let edit = || Edit::new(Some("old".to_owned()), Some("new"));
    history.begin(path, edit());
    history.edit_failed(path, found("old"));
    assert!(history.last(path).is_none());
    history.begin(path, edit());
    history.edit_failed(path, found("ne"));
    assert!(history.last(path).unwrap().is_unchanged_since(found("ne")));
    history.begin(path, Edit::new(None, Some("new")));
    history.edit_failed(path, FileState::Missing);
    assert!(history.last(path).unwrap().is_unchanged_since(found("ne")));
    // The state is unknown: the edit is kept, but the file does not count as its result.
    history.begin(path, Edit::new(None, Some("new")));
    history.edit_failed(path, FileState::Other);
    let last = history.last(path).unwrap();
    assert!(last.before.is_none() && !last.is_unchanged_since(FileState::Other));
}
