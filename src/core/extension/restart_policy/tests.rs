use super::*;

#[test]
fn three_in_a_minute_and_then_one_for_each_that_is_older() {
    let mut restarts = Restarts::default();
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    for (seconds, expected) in [
        (0, true),
        (10, true),
        (20, true),
        (59, false),
        (60, true),
        (61, false),
        (70, true),
    ] {
        assert_eq!(restarts.allow(at(seconds)), expected, "after {seconds} s");
    }
}

#[test]
fn the_wait_doubles_up_to_two_seconds() {
    let waits: Vec<_> = (0..7).map(|n| backoff(n).as_millis()).collect();
    assert_eq!(waits, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
    assert_eq!(backoff(u32::MAX), Duration::from_secs(2));
}

#[test]
fn only_a_lost_connection_is_made_again() {
    let exited = || TransportError::Exited {
        status: String::new(),
        stderr: String::new(),
    };
    let method = "tools/call";
    let broken = || mcp::Error::Protocol {
        method,
        reason: String::new(),
    };
    let second = Duration::from_secs(1);
    let detail = String::new;
    let status = |code| {
        mcp::Error::Transport(TransportError::Status {
            code,
            detail: detail(),
        })
    };
    let busy = |after| {
        mcp::Error::Transport(TransportError::TooManyRequests {
            after,
            detail: detail(),
        })
    };
    let forgotten = TransportError::SessionExpired {
        code: 404,
        detail: String::new(),
    };
    for (error, open, expected) in [
        (mcp::Error::Unsent(exited()), false, FailureKind::Unsent),
        (
            mcp::Error::Transport(exited()),
            false,
            FailureKind::ConnectionLost,
        ),
        (mcp::Error::Transport(forgotten), true, FailureKind::Unsent),
        (
            mcp::Error::Transport(TransportError::Refused(String::new())),
            true,
            FailureKind::Refused,
        ),
        (
            mcp::Error::Transport(TransportError::Io(String::new())),
            true,
            FailureKind::Final,
        ),
        (
            mcp::Error::Transport(TransportError::ResponseLost(String::new())),
            true,
            FailureKind::AnswerLost,
        ),
        (
            mcp::Error::Transport(TransportError::ResponseLost(String::new())),
            false,
            FailureKind::ConnectionLost,
        ),
        (status(503), true, FailureKind::AnswerLost),
        (status(500), true, FailureKind::Final),
        (busy(None), true, FailureKind::Final),
        (busy(Some(second)), true, FailureKind::Busy(second)),
        (broken(), true, FailureKind::Final),
        (broken(), false, FailureKind::ConnectionLost),
        (mcp::Error::Cancelled { method }, false, FailureKind::Final),
    ] {
        assert_eq!(classify_failure(&error, open), expected, "{error:?} {open}");
    }
}
