use super::*;

#[test]
fn a_record_is_one_line_and_raises_no_alarm() {
    assert_eq!(
        one_line("reason=thread panicked at x\n2026 INFO forged\x1b[0m, \"é\""),
        "reason=thread panicked-at x\\u{a}2026 INFO forged\\u{1b}[0m, \"é\""
    );
}

#[test]
fn levels_are_read_as_users_write_them() {
    for (text, level) in [
        ("debug", LevelFilter::Debug),
        ("WARN", LevelFilter::Warn),
        ("off", LevelFilter::Off),
        ("warn,gosling=trace", LevelFilter::Trace),
        ("gosling=error,hyper=debug", LevelFilter::Error),
        ("hyper=debug", LevelFilter::Info),
        ("nonsense", LevelFilter::Info),
    ] {
        assert_eq!(level_of(text).0, level, "{text}");
    }
}
