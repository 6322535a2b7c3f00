use super::*;
use std::fs;

#[test]
fn a_time_in_whole_seconds_settles_later() {
    let mut stamp = Stamp::of(&fs::metadata(".").unwrap()).unwrap();
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    // Some systems count times in steps of 100 nanoseconds.
    for (nanos, millis, settled) in [
        (100, 40, false),
        (100, 60, true),
        (0, 60, false),
        (0, 3_100, true),
    ] {
        stamp.modified = second + Duration::from_nanos(nanos);
        let read_at = stamp.modified + Duration::from_millis(millis);
        assert_eq!(stamp.is_settled(read_at), settled, "{nanos} {millis}");
    }
}
