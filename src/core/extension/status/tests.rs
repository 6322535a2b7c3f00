use super::*;

#[test]
fn latencies_are_of_the_last_calls() {
    let mut calls = Calls::default();
    assert_eq!(calls.latency(), None);
    calls.record(Duration::from_millis(7), true);
    let only = calls.latency().unwrap();
    assert_eq!((only.p50, only.p99), (7.0, 7.0));
    for n in 1..=RECENT as u64 {
        calls.record(Duration::from_micros(n * 1_000), false);
    }
    let all = calls.latency().unwrap();
    assert_eq!((all.p50, all.p99), (128.0, 254.0));
    assert_eq!((calls.ended, calls.failed), (RECENT as u64 + 1, 1));
    calls.record(Duration::from_secs(1 << 40), false);
    assert_eq!(calls.recent.len(), RECENT);
}
