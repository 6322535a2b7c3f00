//! When a cron line is due: its local times as moments, also where the clocks change.
//!
//! A line whose hour field does not allow every hour is meant for times of the day. Each time that it matches is
//! one moment: a time that the clocks skip becomes the moment just after the change, and of a time that occurs
//! twice the first one counts. Several skipped times become one moment.
//!
//! A line that allows every hour follows the hours as they pass: every moment whose local time matches counts,
//! also twice the same time. Times that are skipped are left out with their hour; only if the clocks skip less
//! than an hour, as on Lord Howe Island, they become the moment just after the change, since otherwise an hour
//! would have no run.

use super::cron::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;

/// How far ahead a time is searched, in seconds: 50 years, longer than between two 29 February on a Sunday.
const HORIZON: i64 = 50 * 366 * 86_400;

const HOUR: i64 = 3_600;

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

/// A time without a change of the clocks, from `start` to `end`.
struct Span {
    start: i64,
    end: i64,
    /// Local time minus UTC, in seconds.
    offset: i64,
    /// The offset before `start`.
    offset_before: i64,
}

impl Zone {
    /// The zone of this system: that of the variable `TZ`, else that of the system's settings. UTC if neither
    /// can be read.
    pub fn system() -> Self {
        Zone(TimeZone::system())
    }

    /// The zone with this name in the system's zone files, or with these rules, as in `CET-1CEST,M3.5.0,M10.5.0/3`.
    /// `None` if it is unknown.
    pub fn named(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).or_else(|_| TimeZone::posix(name));
        zone.ok().map(Zone)
    }

    /// A moment, in seconds since 1970-01-01T00:00:00Z, as RFC 3339 in local time with its offset.
    pub fn format(&self, moment: i64) -> String {
        // Not with the formatter of jiff, which would be a hundredth of the program.
        let offset = self.offset(moment);
        let local = crate::sys::clock::Utc::from_unix(moment + offset).to_string();
        let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
        let local = local.trim_end_matches('Z');
        format!("{local}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }

    fn offset(&self, moment: i64) -> i64 {
        self.0.to_offset(timestamp(moment)).seconds().into()
    }

    /// The span that contains the moment.
    fn span(&self, moment: i64) -> Span {
        let before = self.0.preceding(timestamp(moment + 1)).next();
        let after = self.0.following(timestamp(moment)).next();
        let start = before.map_or(i64::MIN, |change| change.timestamp().as_second());
        let end = after.map_or(i64::MAX, |change| change.timestamp().as_second());
        let offset = self.offset(moment);
        Span {
            start,
            end,
            offset,
            offset_before: if start == i64::MIN {
                offset
            } else {
                self.offset(start - 1)
            },
        }
    }
}

/// The first moment after `after` at which the line is due; `None` if there is none in the next 50 years.
pub fn next_run(cron: &Cron, zone: &Zone, after: i64) -> Option<i64> {
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let mut from = after.clamp(min, max - HORIZON) + 1;
    let horizon = from + HORIZON;
    while from < horizon {
        let span = zone.span(from);
        if let Some(moment) = first_in(cron, &span, from, horizon) {
            return Some(moment);
        }
        from = span.end;
    }
    None
}

/// The first moment in the span, from `from` on.
fn first_in(cron: &Cron, span: &Span, from: i64, horizon: i64) -> Option<i64> {
    let skipped = span.offset - span.offset_before;
    if from == span.start
        && skipped > 0
        && (!cron.is_hourly() || skipped < HOUR)
        && let Some(_) = cron.first_match(from + span.offset_before, from + span.offset)
    {
        return Some(from);
    }
    // Local times before the change that begins the span, which occur again in it.
    let repeated = if skipped < 0 && !cron.is_hourly() {
        span.start - skipped
    } else {
        from
    };
    let until = span.end.min(horizon);
    let found = cron.first_match(from.max(repeated) + span.offset, until + span.offset)?;
    Some(found - span.offset)
}

/// The moment, moved into the range that jiff knows: years -9999 to 9999.
fn timestamp(moment: i64) -> Timestamp {
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(moment.clamp(min, max)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The zone's name, if it is known.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.iana_name().unwrap_or("local time"))
    }
}

#[cfg(test)]
mod tests;
