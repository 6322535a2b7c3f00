use super::*;
use std::time::Instant;

#[test]
fn the_longest_can_be_added_to_the_clock_more_than_once() {
    let longest = [
        TimeLimit::new(Duration::MAX),
        TimeLimit::from_secs(u64::MAX),
        TimeLimit::from_secs(i64::MAX.unsigned_abs()),
        TimeLimit::from_millis(u64::MAX),
        TimeLimit::from_secs_f64(f64::MAX).unwrap(),
        serde_json::from_str("18446744073709551615").unwrap(),
    ];
    let now = Instant::now();
    for limit in longest {
        assert_eq!(limit.get(), TimeLimit::LONGEST);
        assert!(now + limit.get() + limit.get() > now);
    }
}

#[test]
fn what_is_shorter_is_as_it_was_given() {
    assert_eq!(TimeLimit::from_secs(7).get(), Duration::from_secs(7));
    assert_eq!(TimeLimit::from_millis(7).get(), Duration::from_millis(7));
    let half = TimeLimit::from_secs_f64(0.5).map(TimeLimit::get);
    assert_eq!(half, Some(Duration::from_millis(500)));
    let read: TimeLimit = serde_json::from_str("0").unwrap();
    assert!(read.is_zero());
    assert_eq!(
        serde_json::to_string(&TimeLimit::from_secs(300)).unwrap(),
        "300"
    );
}

#[test]
fn what_is_no_duration_is_none() {
    for seconds in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
        assert_eq!(TimeLimit::from_secs_f64(seconds), None, "{seconds}");
    }
    for text in ["-1", "1.5", "\"1\"", "null"] {
        assert!(serde_json::from_str::<TimeLimit>(text).is_err(), "{text}");
    }
}
