use super::*;

#[test]
fn people_see_the_last_lines() {
    let text: String = (1..=150).map(|n| format!("{n}\n")).collect();
    let (last, all) = last_lines(&text, 100).unwrap();
    assert!(last.starts_with("51\n") && last.ends_with("150\n"));
    assert_eq!((last.lines().count(), all), (100, 150));
    assert!(last_lines(&text, 150).is_none());
    assert_eq!(last_lines("a\nb", 1), Some(("b", 2)));
    assert_eq!(last_lines("", 1), None);
}

#[test]
fn how_it_ended_is_on_a_line_of_its_own() {
    assert_eq!(append_status("", "[exit code 3]\n"), "[exit code 3]\n");
    assert_eq!(
        append_status("no end", "[exit code 3]\n"),
        "no end\n[exit code 3]\n"
    );
    assert_eq!(append_status("no end", ""), "no end");
}

#[test]
fn a_number_of_seconds_is_a_duration_or_none() {
    assert_eq!(duration(f64::MAX), Some(TimeLimit::LONGEST));
    assert_eq!(duration(0.5), Some(Duration::from_millis(500)));
    for seconds in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
        assert_eq!(duration(seconds), None, "{seconds}");
    }
}
