//! When to retry a failed request or restart a server. Without I/O.

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

/// What follows a failed request.
pub(super) enum Next {
    /// Its error.
    Fail,
    /// Its error, or that the server no longer has the tool.
    Refused,
    /// This error.
    BrokeOff(String),
    /// The same request, after this time.
    Again(Duration),
    /// The same request, on a new connection.
    Reconnect,
}

/// The failures of a request so far.
pub(super) struct Retries {
    /// The deadline of those that wait for the server.
    end: Instant,
    /// An answer or a connection was lost.
    lost_before: bool,
    /// How often the server refused or was busy.
    refused: u32,
}

impl Retries {
    pub(super) fn until(end: Instant) -> Self {
        Retries {
            end,
            lost_before: false,
            refused: 0,
        }
    }

    /// What follows this failure, on a connection that is still open or not.
    pub(super) fn next(&mut self, error: &mcp::Error, is_open: bool, repeatable: bool) -> Next {
        match classify_failure(error, is_open) {
            FailureKind::Final => Next::Refused,
            FailureKind::Refused => self.again(Duration::ZERO),
            FailureKind::Busy(delay) => self.again(delay),
            FailureKind::Unsent => Next::Reconnect,
            FailureKind::AnswerLost if !repeatable => Next::BrokeOff(format!(
                "the call broke off: {error}; it may have had an effect, so it was not sent again"
            )),
            FailureKind::AnswerLost if self.lost_before => Next::Fail,
            FailureKind::AnswerLost => {
                self.lost_before = true;
                Next::Again(backoff(0))
            }
            FailureKind::ConnectionLost if !repeatable || self.lost_before => {
                Next::BrokeOff(format!(
                    "the connection was lost during the call: {error}; the call may have had an \
                     effect; the next call starts the server again"
                ))
            }
            FailureKind::ConnectionLost => {
                self.lost_before = true;
                Next::Reconnect
            }
        }
    }

    /// Waits for a server that refuses requests, at least this long.
    fn again(&mut self, delay: Duration) -> Next {
        let wait = delay.max(backoff(self.refused));
        self.refused += 1;
        if Instant::now() + wait >= self.end {
            return Next::Fail;
        }
        Next::Again(wait)
    }
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
mod tests;
