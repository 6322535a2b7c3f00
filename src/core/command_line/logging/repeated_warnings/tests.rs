use super::*;

const HERE: Place = ("here.rs", 1);
const THERE: Place = ("here.rs", 2);

#[test]
fn equal_warnings_are_written_once_in_a_while_and_counted() {
    let mut repeats = RepeatedWarnings::default();
    let begin = Instant::now();
    let written = (0..1000).filter(|_| repeats.admits(HERE, Level::Warn, "same", begin));
    assert_eq!(written.count(), 1);
    assert!(repeats.admits(HERE, Level::Warn, "another", begin));
    assert!(repeats.admits(THERE, Level::Error, "same", begin));
    assert_eq!(repeats.due_reports(begin, false), []);
    let later = begin + WINDOW;
    assert_eq!(
        repeats.due_reports(later, false),
        [(
            Level::Warn,
            "repeated records were counted and not written count=999 last=\"same\"".into()
        )]
    );
    assert_eq!(repeats.due_reports(later, true), []);
    assert!(repeats.admits(HERE, Level::Warn, "another", later));
    assert!(!repeats.admits(HERE, Level::Warn, "another", later + WINDOW / 2));
    assert!(repeats.admits(THERE, Level::Error, "same", later));
    assert!(!repeats.admits(THERE, Level::Error, "same", later));
    let due_reports = repeats.due_reports(later + WINDOW, true);
    assert!(
        due_reports.iter().any(|(level, _)| *level == Level::Error),
        "{due_reports:?}"
    );
}

#[test]
fn different_warnings_of_one_place_are_written_up_to_a_number() {
    let mut repeats = RepeatedWarnings::default();
    let begin = Instant::now();
    let mut admits = |n: u32| repeats.admits(HERE, Level::Warn, &format!("tool {n}"), begin);
    let written = (0..100_000).filter(|n| admits(*n)).count();
    assert_eq!(written, BURST as usize);
    assert_eq!(
        repeats.due_reports(begin, true),
        [(
            Level::Warn,
            "repeated records were counted and not written count=99900 last=\"tool 99999\"".into()
        )]
    );
    assert!(repeats.admits(THERE, Level::Error, "one", begin));
}
