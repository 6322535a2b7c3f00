//! What extensions and their tools do, counted as it is recorded.

use crate::activity::{Caller, Entry, Recorder};
use crate::extension::Class;
use crate::metric_counters::Counter;
use std::sync::LazyLock;
use std::time::Duration;

/// The upper bounds of durations, in seconds.
pub(crate) const BOUNDS: [f64; 11] = [
    0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// How many durations there were between one bound and the next.
#[derive(Default)]
pub(crate) struct Durations {
    /// By bound; the last counts those above all bounds.
    pub(crate) counts: [Counter; BOUNDS.len() + 1],
    /// Their sum, in microseconds.
    pub(crate) micros: Counter,
}

impl Durations {
    /// Adds a duration.
    pub(crate) fn record(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.counts[at.unwrap_or(BOUNDS.len())].add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.add(micros);
    }
}

/// The classes of failed starts of extensions.
pub(crate) const CLASSES: [Class; 6] = [
    Class::Config,
    Class::Setup,
    Class::Initialize,
    Class::Execution,
    Class::Timeout,
    Class::Security,
];

/// The numbers of extensions and their tools.
#[derive(Default)]
pub(crate) struct ActivityCounts {
    /// Extensions that became active.
    pub(crate) loads: Counter,
    /// The failed starts of extensions, in the order of [`CLASSES`].
    pub(crate) failed_loads: [Counter; CLASSES.len()],
    /// How long the starts of extensions took that succeeded.
    pub(crate) load_durations: Durations,
    /// Servers that were restarted after a lost connection.
    pub(crate) restarts: Counter,
    /// Tool calls that failed, or whose result is an error.
    pub(crate) failed_calls: Counter,
    /// How long tool calls took.
    pub(crate) call_durations: Durations,
}

/// The numbers of this process.
pub(crate) static COUNTS: LazyLock<ActivityCounts> = LazyLock::new(ActivityCounts::default);

/// Counts in [`COUNTS`], whatever number of servers the process has.
#[derive(Debug)]
pub(crate) struct Counting;

impl Recorder for Counting {
    fn record(&self, _: &Caller, entry: &Entry<'_>) -> Result<Option<u64>, String> {
        COUNTS.count(entry);
        Ok(None)
    }
}

impl ActivityCounts {
    /// Counts what has ended. A start that was cancelled has no class and is no failure. Tools of a client, of a
    /// recipe and of gosling itself belong to no extension.
    fn count(&self, entry: &Entry<'_>) {
        let Some(took) = entry.took else {
            let is_restart = (entry.kind, entry.outcome) == ("extension", "restarted");
            return self.restarts.add(is_restart.into());
        };
        match (entry.kind, entry.outcome) {
            ("extension", "started") => {
                self.loads.add(1);
                self.load_durations.record(took);
            }
            ("extension", class) => {
                let at = CLASSES.iter().position(|it| it.name() == class);
                if let Some(at) = at {
                    self.failed_loads[at].add(1);
                }
            }
            ("tool_call", outcome) if !entry.extension.is_empty() => {
                self.call_durations.record(took);
                self.failed_calls.add(u64::from(outcome != "ok"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
