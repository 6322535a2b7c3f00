//! When to retry a failed request or restart a server. Pure: no I/O and no clock.

use crate::mcp;
use crate::mcp::transport::TransportError;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The most restarts of a server within [`WINDOW`].
pub(super) const RESTARTS: usize = 3;
/// See [`RESTARTS`].
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// The first and the longest wait before a retry.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Kinds of failed requests, by what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// Do not retry: the connection is open, or the caller has cancelled.
    Final,
    /// The address refuses connections; retry with backoff.
    Refused,
    /// The server did not run the request; retry after this time.
    Busy(Duration),
    /// The connection is open but the answer was lost: the server may have run the request.
    AnswerLost,
    /// The server did not run the request and will not on this connection: reconnect and send it again.
    Unsent,
    /// The connection was lost; the server may have run the request.
    ConnectionLost,
}

/// Classifies the failure of a request. `open`: its connection is still open.
pub(super) fn classify_failure(error: &mcp::Error, open: bool) -> FailureKind {
    use mcp::Error::{Protocol, Transport, Unsent};
    match error {
        Unsent(_) | Transport(TransportError::SessionExpired { .. }) => FailureKind::Unsent,
        Transport(TransportError::Refused(_)) => FailureKind::Refused,
        Transport(TransportError::TooManyRequests {
            after: Some(after), ..
        }) => FailureKind::Busy(*after),
        Transport(TransportError::ResponseLost(_)) if open => FailureKind::AnswerLost,
        // Sent by a proxy in front of a server that cannot be reached.
        Transport(TransportError::Status {
            code: 502..=504, ..
        }) if open => FailureKind::AnswerLost,
        Transport(_) | Protocol { .. } if !open => FailureKind::ConnectionLost,
        _ => FailureKind::Final,
    }
}

/// How long to wait before the next attempt: 100 ms, then twice as long each time, up to 2 s.
pub(super) fn backoff(attempt: u32) -> Duration {
    let (first, longest) = BACKOFF;
    first.saturating_mul(1 << attempt.min(10)).min(longest)
}

/// The times of recent restarts.
#[derive(Default)]
pub(super) struct Restarts(VecDeque<Instant>);

impl Restarts {
    /// Counts a restart; false if there were too many within [`WINDOW`].
    pub(super) fn allow(&mut self, now: Instant) -> bool {
        self.0
            .retain(|then| now.saturating_duration_since(*then) < WINDOW);
        let allowed = self.0.len() < RESTARTS;
        if allowed {
            self.0.push_back(now);
        }
        allowed
    }

    /// Removes the last restart, because the server was not started.
    pub(super) fn forget_last(&mut self) {
        self.0.pop_back();
    }
}

#[cfg(test)]
mod tests {
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
}
