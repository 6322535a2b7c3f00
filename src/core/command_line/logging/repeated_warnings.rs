//! Counts repeated warnings and errors instead of writing them. The count is written with the first record after
//! [`WINDOW`], or at the end of the process.

use log::Level;
use std::collections::HashMap;
use std::mem::take;
use std::time::{Duration, Instant};

/// How long a repeated warning is only counted.
const WINDOW: Duration = Duration::from_secs(60);
/// How many different warnings of one place in the code are written within the window.
const BURST: u32 = 100;

/// The file and line of a log statement.
pub(super) type Place = (&'static str, u32);

/// The recent warnings by place. The number of places is bounded by the code.
#[derive(Default)]
pub(super) struct RepeatedWarnings {
    places: HashMap<Place, Counted>,
    /// How many places have a count that has not been written.
    pending_reports: usize,
}

struct Counted {
    level: Level,
    /// When the first record of the window was written.
    since: Instant,
    written: u32,
    /// How many records were not written.
    repeated: u64,
    /// The text of the last written record.
    last: String,
    /// The text of the last record that was not written.
    last_repeated: String,
}

impl RepeatedWarnings {
    /// Whether to write this warning; otherwise it is counted.
    pub(super) fn admits(&mut self, place: Place, level: Level, text: &str, now: Instant) -> bool {
        let counted = self.places.entry(place).or_insert_with(|| Counted {
            level,
            since: now,
            written: 0,
            repeated: 0,
            last: String::new(),
            last_repeated: String::new(),
        });
        if counted.repeated == 0 && now.duration_since(counted.since) >= WINDOW {
            (counted.since, counted.written) = (now, 0);
        }
        let is_new = counted.written == 0 || counted.last != text;
        if is_new && counted.written < BURST {
            counted.written += 1;
            text.clone_into(&mut counted.last);
            return true;
        }
        self.pending_reports += usize::from(counted.repeated == 0);
        counted.repeated += 1;
        text.clone_into(&mut counted.last_repeated);
        false
    }

    /// The counts that are due, as one line with its level for each place; all counts if `all`.
    pub(super) fn due_reports(&mut self, now: Instant, all: bool) -> Vec<(Level, String)> {
        if self.pending_reports == 0 {
            return Vec::new();
        }
        let is_due = |counted: &&mut Counted| {
            counted.repeated > 0 && (all || now.duration_since(counted.since) >= WINDOW)
        };
        let due = self.places.values_mut().filter(is_due);
        let lines: Vec<_> = due
            .map(|counted| {
                counted.written = 0;
                let count = take(&mut counted.repeated);
                let last = take(&mut counted.last_repeated);
                let text = format!(
                    "repeated records were counted and not written count={count} last={last:?}"
                );
                (counted.level, text)
            })
            .collect();
        self.pending_reports -= lines.len();
        lines
    }
}

#[cfg(test)]
mod tests;
