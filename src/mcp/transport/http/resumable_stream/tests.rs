use super::*;

#[test]
fn the_server_says_how_long_to_wait_and_failures_make_it_longer() {
    let millis = Duration::from_millis;
    for (retry, failed, expected) in [
        (None, 0, millis(1000)),
        (None, 1, millis(2000)),
        (None, 4, millis(16_000)),
        (None, u32::MAX, millis(32_000)),
        (Some(millis(0)), 0, millis(100)),
        (Some(millis(500)), 0, millis(500)),
        (Some(millis(500)), 2, millis(2000)),
        (Some(millis(50_000)), 1, MAX_DELAY),
        (Some(millis(90_000)), 3, millis(90_000)),
        (
            Some(Duration::from_millis(u64::MAX)),
            9,
            MAX_REQUESTED_DELAY,
        ),
    ] {
        assert_eq!(
            reconnect_delay(retry, failed, None),
            expected,
            "{retry:?} {failed}"
        );
    }
    assert_eq!(reconnect_delay(None, 1, Some(millis(1))), millis(2000));
    assert_eq!(reconnect_delay(None, 1, Some(millis(9000))), millis(9000));
    assert_eq!(
        reconnect_delay(None, 1, Some(Duration::MAX)),
        MAX_REQUESTED_DELAY
    );
}
