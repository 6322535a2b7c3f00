use super::*;

#[test]
fn only_a_second_press_soon_after_counts() {
    let mut presses = Presses::default();
    let begin = Instant::now();
    for (ms, second) in [(0, false), (2_001, false), (3_000, true)] {
        let now = begin + Duration::from_millis(ms);
        assert_eq!(presses.is_second(now), second, "{ms}");
    }
}
