//! Warnings and errors that come again and again: they are counted, not written. The count is written with
//! the first record after [`WINDOW`], or at the end of the server.

use std::collections::HashMap;
use std::mem::take;
use std::time::{Duration, Instant};

use log::Level;

/// For so long a warning that comes again is only counted.
const WINDOW: Duration = Duration::from_secs(60);
/// How many different warnings of one place in the code are written in that time.
const BURST: u32 = 100;

/// Where a record is made: file and line.
pub(super) type Place = (&'static str, u32);

/// What was written lately, by where it was made. There are only so many places.
#[derive(Default)]
pub(super) struct RepeatedWarnings {
    places: HashMap<Place, Counted>,
    /// How many places have counted something that is not due_reports yet.
    pending_reports: usize,
}

struct Counted {
    level: Level,
    /// When the first one was written.
    since: Instant,
    written: u32,
    /// How many were not written.
    repeated: u64,
    /// The text of the last one that was written.
    last: String,
    /// The text of the last one that was not.
    last_repeated: String,
}

impl RepeatedWarnings {
    /// Whether to write this warning; else it is counted.
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

    /// What is to be due_reports, a line each with its level, of what was counted long enough; of everything if
    /// `all`.
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
                let text =
                    format!("records of one kind were only counted count={count} last={last:?}");
                (counted.level, text)
            })
            .collect();
        self.pending_reports -= lines.len();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place = ("here.rs", 1);
    const THERE: Place = ("here.rs", 2);

    #[test]
    fn equal_warnings_are_written_once_in_a_while_and_counted() {
        let (mut repeats, begin) = (RepeatedWarnings::default(), Instant::now());
        let written = (0..1000).filter(|_| repeats.admits(HERE, Level::Warn, "same", begin));
        assert_eq!(written.count(), 1);
        assert!(repeats.admits(HERE, Level::Warn, "another", begin));
        assert!(repeats.admits(THERE, Level::Error, "same", begin));
        assert_eq!(repeats.due_reports(begin, false), []);
        let later = begin + WINDOW;
        assert_eq!(
            repeats.due_reports(later, false),
            [(
                Level::Warn,
                "records of one kind were only counted count=999 last=\"same\"".into()
            )]
        );
        assert_eq!(repeats.due_reports(later, true), []);
        assert!(repeats.admits(HERE, Level::Warn, "another", later));
        assert!(!repeats.admits(HERE, Level::Warn, "another", later + WINDOW / 2));
        assert!(repeats.admits(THERE, Level::Error, "same", later));
        assert!(!repeats.admits(THERE, Level::Error, "same", later));
        let due_reports = repeats.due_reports(later + WINDOW, true);
        assert!(
            due_reports.iter().any(|(level, _)| *level == Level::Error),
            "{due_reports:?}"
        );
    }

    #[test]
    fn different_warnings_of_one_place_are_written_up_to_a_number() {
        let (mut repeats, begin) = (RepeatedWarnings::default(), Instant::now());
        let mut admits = |n: u32| repeats.admits(HERE, Level::Warn, &format!("tool {n}"), begin);
        let written = (0..100_000).filter(|n| admits(*n)).count();
        assert_eq!(written, BURST as usize);
        assert_eq!(
            repeats.due_reports(begin, true),
            [(
                Level::Warn,
                "records of one kind were only counted count=99900 last=\"tool 99999\"".into()
            )]
        );
        assert!(repeats.admits(THERE, Level::Error, "one", begin));
    }
}
