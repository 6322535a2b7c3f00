use super::*;

#[test]
fn only_what_has_ended_counts() {
    let counts = ActivityCounts::default();
    let count = |kind, extension, outcome, took: Option<u64>| {
        counts.count(&Entry {
            kind,
            extension,
            outcome,
            took: took.map(Duration::from_millis),
            ..Entry::default()
        });
    };
    count("extension", "one", "", None);
    count("extension", "one", "started", Some(3));
    count("extension", "one", "stopped", None);
    for class in CLASSES {
        count("extension", "two", class.name(), Some(1));
    }
    count("extension", "two", "cancelled", Some(1));
    assert_eq!(counts.loads.get(), 1);
    assert_eq!(counts.load_durations.micros.get(), 3_000);
    assert!(counts.failed_loads.iter().all(|it| it.get() == 1));

    count("tool_call", "one", "", None);
    count("tool_call", "one", "ok", Some(2));
    for failed in ["is_error", "jsonrpc", "cancelled"] {
        count("tool_call", "one", failed, Some(0));
    }
    count("tool_call", "", "ok", Some(2));
    count("tool_call", "", "denied", None);
    count("turn", "", "ok", Some(2));
    assert_eq!(counts.failed_calls.get(), 3);
    assert_eq!(counts.call_durations.micros.get(), 2_000);
    assert_eq!(counts.call_durations.counts[1].get(), 1);
}
