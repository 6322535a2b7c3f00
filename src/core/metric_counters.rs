//! What this process has done, in numbers, as far as no [`Recorder`](crate::activity::Recorder) counts it.
//!
//! The numbers are of the process, whatever number of servers it has. Counting is one addition to an atomic
//! number, without a lock.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why the HTTP server refuses a request before it reaches a handler.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no free connection or thread.
    Busy,
    /// The key is missing or wrong.
    Key,
    /// It has a name or an origin of another site.
    Origin,
    /// There is no such path or method.
    Route,
    /// It is too large.
    Size,
    /// It took too long to arrive.
    Timeout,
    /// It is not valid HTTP.
    Malformed,
}

impl Refusal {
    /// The names, in the order of the kinds.
    pub const NAMES: &str = "busy key origin route size timeout malformed";

    /// The refusal that an error status stands for.
    pub fn of_status(status: u16) -> Self {
        match status {
            401 => Refusal::Key,
            403 => Refusal::Origin,
            404 | 405 => Refusal::Route,
            408 => Refusal::Timeout,
            413 | 414 | 431 => Refusal::Size,
            503 => Refusal::Busy,
            _ => Refusal::Malformed,
        }
    }
}

/// All numbers.
#[derive(Default)]
pub struct Metrics {
    /// Connections that were accepted.
    pub connections: Counter,
    /// Those of them that have ended.
    pub connections_ended: Counter,
    /// Requests that reached a handler.
    pub requests: Counter,
    /// The refused requests, in the order of [`Refusal::NAMES`].
    pub refused: [Counter; Refusal::Malformed as usize + 1],
    /// Bytes that clients sent.
    pub received: Counter,
    /// Bytes that clients got.
    pub sent: Counter,
    /// Turns that began.
    pub turns: Counter,
    /// Turns that ended with an error.
    pub failed_turns: Counter,
    /// Tokens that models read.
    pub input_tokens: Counter,
    /// Tokens that models wrote.
    pub output_tokens: Counter,
}

/// The numbers of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::default);

impl Metrics {
    /// Counts a refused request.
    pub fn refuse(&self, refusal: Refusal) {
        self.refused[refusal as usize].add(1);
    }
}

#[cfg(test)]
mod tests;
