use super::*;

#[test]
fn a_summary_is_finished_and_shorter_than_what_it_replaces() {
    let cases = [
        ("They talked.", StopReason::Complete, 100, None),
        ("", StopReason::Complete, 100, Some("empty")),
        ("They tal", StopReason::Length, 100, Some("cut off")),
        ("They", StopReason::Filtered, 100, Some("held back")),
        (
            "They talked.",
            StopReason::Complete,
            12,
            Some("not shorter"),
        ),
    ];
    for (text, stop, replaced, expected) in cases {
        let reason = unusable(text, stop, replaced);
        let fits = match (reason, expected) {
            (Some(reason), Some(part)) => reason.contains(part),
            (reason, expected) => reason == expected,
        };
        assert!(fits, "{text:?} {stop:?}: {reason:?}");
    }
}
