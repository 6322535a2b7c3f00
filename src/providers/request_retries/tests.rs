use super::*;

const RATE: ErrorClass = ErrorClass::RateLimit { after: None };

#[test]
fn only_what_passes_is_tried_again_and_three_times() {
    for class in [RATE, ErrorClass::Server, ErrorClass::Transport] {
        assert!(backoff(class, None, 3, 0).is_some());
        assert!(backoff(class, None, 4, 0).is_none());
    }
    for class in [
        ErrorClass::Config,
        ErrorClass::Authentication,
        ErrorClass::ContextExceeded,
        ErrorClass::Credits,
        ErrorClass::Refused,
        ErrorClass::Image,
        ErrorClass::Timeout,
        ErrorClass::Protocol,
        ErrorClass::Cancelled,
    ] {
        assert_eq!(
            backoff(class, Some(Duration::ZERO), 1, 0),
            None,
            "{class:?}"
        );
    }
}

#[test]
fn waits_double_and_spread_by_a_fifth() {
    let millis = |attempt, jitter| backoff(RATE, None, attempt, jitter).unwrap().as_millis();
    assert_eq!([1, 2, 3].map(|n| millis(n, 0)), [800, 1600, 3200]);
    assert_eq!([1, 2, 3].map(|n| millis(n, 255)), [1200, 2400, 4800]);
}

#[test]
fn what_the_provider_says_counts_unless_it_is_too_long() {
    let after = |seconds| backoff(RATE, Some(Duration::from_secs(seconds)), 1, 9);
    assert_eq!(after(0), Some(Duration::ZERO));
    assert_eq!(after(60), Some(Duration::from_secs(60)));
    assert_eq!(after(61), None);
}
