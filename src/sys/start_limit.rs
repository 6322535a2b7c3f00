//! The limits on the start of a child: a timeout and a cancellation token.

use super::cancel::Cancel;
use std::io;
use std::time::{Duration, Instant};

/// The interval at which a thread that waits for a start checks its timeout and token.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A timeout and a token for a start.
pub(crate) struct StartLimit<'a> {
    begin: Instant,
    limit: Option<Duration>,
    cancel: &'a Cancel,
}

impl<'a> StartLimit<'a> {
    /// A timeout that starts now.
    pub(crate) fn new(limit: Option<Duration>, cancel: &'a Cancel) -> Self {
        StartLimit {
            begin: Instant::now(),
            limit,
            cancel,
        }
    }

    /// The time until the next [`check`](Self::check).
    pub(crate) fn poll_interval(&self) -> Duration {
        let left = self
            .limit
            .map(|limit| limit.saturating_sub(self.begin.elapsed()));
        left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL))
    }

    /// # Errors
    /// When the start was cancelled, or the timeout has passed.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.cancel.check() {
            let text = "cancelled before the program ran";
            return Err(io::Error::new(io::ErrorKind::Interrupted, text));
        }
        let Some(limit) = self.limit.filter(|limit| self.begin.elapsed() >= *limit) else {
            return Ok(());
        };
        let within = limit.as_secs_f64();
        let text = format!(
            "it did not start within {within} s: the file system that has it, or the working \
             directory, may not answer"
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}
