use super::*;

#[test]
fn a_timeout_is_kept_while_it_neither_passes_the_deadline_nor_wakes_often() {
    let is_close_enough = |timeout, remaining| {
        super::is_close_enough(
            Duration::from_millis(timeout),
            Duration::from_millis(remaining),
        )
    };
    assert!(
        is_close_enough(60_000, 60_000)
            && is_close_enough(60_000, 59_950)
            && is_close_enough(60_000, 119_999)
    );
    assert!(
        !is_close_enough(60_000, 59_000)
            && !is_close_enough(120_000, 60_000)
            && !is_close_enough(10_000, 60_000)
    );
}

#[test]
fn a_deadline_that_passed_is_no_wait_at_all() {
    let now = Instant::now();
    assert_eq!(remaining(now).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(remaining(now + Duration::from_secs(9)).unwrap() > Duration::from_secs(1));
}
