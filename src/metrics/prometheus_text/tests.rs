use super::*;

#[test]
fn every_number_has_its_type_and_meaning() {
    let text = render(&crate::metric_counters::METRICS, 1, 1, &Usage::default());
    for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
        assert!(line.split(' ').all(|word| !word.is_empty()), "{line}");
    }
}

#[test]
fn durations_count_up_to_each_bound() {
    let durations = Durations::default();
    for millis in [0, 1, 2, 1_000, 1_001, 500_000] {
        durations.record(Duration::from_millis(millis));
    }
    let mut text = Text(String::new());
    text.durations("gosling_tool_call_duration_seconds", &durations);
    for line in [
        "# TYPE gosling_tool_call_duration_seconds histogram",
        "gosling_tool_call_duration_seconds_bucket{le=\"0.001\"} 2",
        "gosling_tool_call_duration_seconds_bucket{le=\"0.005\"} 3",
        "gosling_tool_call_duration_seconds_bucket{le=\"1\"} 4",
        "gosling_tool_call_duration_seconds_bucket{le=\"2.5\"} 5",
        "gosling_tool_call_duration_seconds_bucket{le=\"120\"} 5",
        "gosling_tool_call_duration_seconds_bucket{le=\"+Inf\"} 6",
        "gosling_tool_call_duration_seconds_sum 502.004",
        "gosling_tool_call_duration_seconds_count 6",
    ] {
        assert!(text.0.lines().any(|it| it == line), "{line}: {}", text.0);
    }
}
