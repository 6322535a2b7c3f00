use super::*;
use crate::developer::undo_history::Edit;

#[test]
fn an_error_is_told_with_what_cannot_be_taken_back() {
    // No file can be created below a path that is not a folder.
    let real = std::env::current_exe().unwrap().join("a.txt");
    let change = Change {
        path: PathBuf::from("a.txt"),
        real: real.clone(),
        before: Some("old".to_owned()),
        after: Some("new".to_owned()),
        mode: None,
        is_executable: false,
        lines: (1, 1),
    };
    let mut history = History::default();
    history.begin(&real, Edit::new(change.before.clone(), Some("new")));
    let message = change.take_back(
        &Files::on_disk(),
        &mut history,
        "the first error".to_owned(),
    );
    let first = "the first error; a.txt could not be restored: ";
    assert!(
        message.starts_with(first) && message.contains("cannot be written"),
        "{message}"
    );
    assert!(history.last(&real).is_some());
    history.forget(&real);
    let message = change.take_back(
        &Files::on_disk(),
        &mut history,
        "the first error".to_owned(),
    );
    assert_eq!(message, "the first error");
}
