use super::*;

#[test]
fn ranges_are_within_the_file() {
    assert_eq!(parse_range(&[2, 3], 10), Ok((2, 3)));
    assert_eq!(parse_range(&[2, -1], 10), Ok((2, 10)));
    assert_eq!(parse_range(&[9, 99], 10), Ok((9, 10)));
    for bad in [
        &[0, 3][..],
        &[4, 3],
        &[-1, 3],
        &[11, 12],
        &[1, -2],
        &[1],
        &[1, 2, 3],
        &[],
    ] {
        assert!(parse_range(bad, 10).is_err(), "{bad:?}");
    }
}

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
