use super::*;
use std::time::Instant;

#[test]
fn the_longest_can_be_added_to_the_clock_more_than_once() {
    let longest = [
        TimeLimit::new(Duration::MAX),
        TimeLimit::from_secs(u64::MAX),
        TimeLimit::from_secs(i64::MAX.unsigned_abs()),
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
    let read: TimeLimit = serde_json::from_str("0").unwrap();
    assert!(read.is_zero());
    assert_eq!(
        serde_json::to_string(&TimeLimit::from_secs(300)).unwrap(),
        "300"
    );
}

#[test]
fn what_is_no_duration_is_none() {
    for text in ["-1", "1.5", "\"1\"", "null"] {
        assert!(serde_json::from_str::<TimeLimit>(text).is_err(), "{text}");
    }
}
