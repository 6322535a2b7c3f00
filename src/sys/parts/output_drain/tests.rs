use super::*;

#[test]
fn what_comes_between_a_poll_and_the_exit_is_not_missed() {
    const MOST: usize = 4;
    const INTERVAL: Duration = Duration::from_millis(100);
    let poll = |something| Ready {
        stdout: something,
        stderr: false,
        exited: false,
    };
    let mut ending = OutputDrain::default();
    assert!(!ending.is_over(poll(true), false, MOST));
    assert!(!ending.is_over(poll(false), false, MOST));
    assert_eq!(ending.pause(INTERVAL), INTERVAL);
    // The child wrote its last output and exited after the poll.
    assert!(!ending.is_over(poll(false), true, MOST));
    assert_eq!(ending.pause(INTERVAL), Duration::ZERO);
    assert!(!ending.is_over(poll(true), true, MOST));
    assert!(ending.is_over(poll(false), true, MOST));
    // A descendant writes without end.
    let mut ending = OutputDrain::default();
    let polls = (0..100).find(|_| ending.is_over(poll(true), true, MOST));
    assert_eq!(polls, Some(MOST));
}
