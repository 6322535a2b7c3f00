//! What this process has done, in numbers.
//!
//! The numbers are of the process, whatever number of servers it has. Counting is one addition to an atomic
//! number, without a lock.

use crate::extension::Class;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

/// The upper bounds of durations, in seconds.
pub const BOUNDS: [f64; 11] = [
    0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// How many durations there were between one bound and the next.
#[derive(Default)]
pub struct Durations {
    /// By bound; the last counts those above all bounds.
    pub counts: [Counter; BOUNDS.len() + 1],
    /// Their sum, in microseconds.
    pub micros: Counter,
}

impl Durations {
    /// Adds a duration.
    pub fn record(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.counts[at.unwrap_or(BOUNDS.len())].add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.add(micros);
    }
}

/// Why the HTTP server refuses a request before it reaches a handler.
#[derive(Clone, Copy, Debug)]
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

/// The classes of failed starts of extensions.
pub const CLASSES: [Class; 6] = [
    Class::Config,
    Class::Setup,
    Class::Initialize,
    Class::Execution,
    Class::Timeout,
    Class::Security,
];

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
    /// Extensions that became active.
    pub loads: Counter,
    /// The failed starts of extensions, in the order of [`CLASSES`].
    pub failed_loads: [Counter; CLASSES.len()],
    /// How long the starts of extensions took that succeeded.
    pub load_durations: Durations,
    /// Servers that were restarted after a lost connection.
    pub restarts: Counter,
    /// Tool calls that failed, or whose result is an error.
    pub failed_calls: Counter,
    /// How long tool calls took.
    pub call_durations: Durations,
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

    /// Counts a failed start of an extension. One that was cancelled has no class and is no failure.
    pub fn fail_load(&self, class: Option<Class>) {
        let at = CLASSES.iter().position(|it| Some(*it) == class);
        if let Some(at) = at {
            self.failed_loads[at].add(1);
        }
    }
}

#[cfg(test)]
mod tests;
