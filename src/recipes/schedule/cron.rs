//! Cron lines: parsing, and the local times that they match. Pure, without a clock and without zones.
//!
//! The syntax and its meaning are those of the library of Goose (`croner`, as `tokio-cron-scheduler` calls it),
//! with one difference from other crons: if both the day of the month and the day of the week are restricted,
//! a day must match both.

use crate::sys::clock::civil_date;
use std::fmt;

pub(super) const SECONDS_PER_DAY: i64 = 86_400;

/// The longest cron line, in bytes.
const MAX_LENGTH: usize = 1_000;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A parsed cron line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// Each set has bit `n` if the field allows the value `n`.
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    weekdays: Weekdays,
}

/// The field for the day of the month.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Days {
    all: u64,
    /// `L`: the last day of the month.
    last: bool,
    /// `15W`: the weekday of the month, Monday to Friday, that is nearest to the day.
    nearest_weekday: u64,
}

/// The field for the day of the week; 0 is Sunday.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Weekdays {
    all: u64,
    /// `5L`: the last one of the month.
    last: u64,
    /// `1#2`: the second one of the month, and so on.
    nth: [u64; 5],
}

/// What is wrong with a cron line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The line has another number of fields.
    Fields {
        /// How many.
        count: usize,
    },
    /// The line is too long.
    Length,
    /// A field is invalid.
    Field {
        /// Its name, such as `day of the month`.
        name: &'static str,
        /// The field as it was given.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// No day matches, as with 30 February.
    Never,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Fields { count } => write!(
                f,
                "the cron line has {count} fields; it needs 5 (minute, hour, day of the month, month, day of the \
                 week), or 6 with the second before them"
            ),
            Error::Length => write!(f, "the cron line is longer than {MAX_LENGTH} bytes"),
            Error::Field { name, text, reason } => {
                let text = crate::text::printable(text, 100);
                write!(f, "the field `{name}` of the cron line, {text:?}: {reason}")
            }
            Error::Never => f.write_str(
                "no day matches the cron line: the fields for day of the month, month and day of the week exclude \
                 each other",
            ),
        }
    }
}

impl std::error::Error for Error {}

/// A field: its name and the values that it may have.
struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    /// Names of values, from the smallest on.
    names: &'static [&'static str],
}

const SECOND: Field = Field::new("second", 0, 59, &[]);
const MINUTE: Field = Field::new("minute", 0, 59, &[]);
const HOUR: Field = Field::new("hour", 0, 23, &[]);
const DAY: Field = Field::new("day of the month", 1, 31, &[]);
const MONTH: Field = Field::new("month", 1, 12, &MONTHS);
const WEEKDAY: Field = Field::new("day of the week", 0, 7, &WEEKDAYS);

impl Cron {
    /// Parses a cron line of 5 fields, or of 6 with the seconds first.
    ///
    /// # Errors
    /// The first field that is invalid, and why.
    pub fn parse(line: &str) -> Result<Self, Error> {
        if line.len() > MAX_LENGTH {
            return Err(Error::Length);
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (seconds, [minutes, hours, days, months, weekdays]) = match fields[..] {
            [a, b, c, d, e] => ("0", [a, b, c, d, e]),
            [seconds, a, b, c, d, e] => (seconds, [a, b, c, d, e]),
            _ => {
                let count = fields.len();
                return Err(Error::Fields { count });
            }
        };
        let cron = Cron {
            seconds: SECOND.plain(seconds)?,
            minutes: MINUTE.plain(minutes)?,
            hours: HOUR.plain(hours)?,
            days: parse_days(days)?,
            months: MONTH.plain(months)?,
            weekdays: parse_weekdays(weekdays)?,
        };
        Ok(cron)
    }

    /// As [`parse`](Cron::parse), for a line that is about to be stored: it must match some day.
    ///
    /// # Errors
    /// As [`parse`](Cron::parse), and [`Error::Never`].
    pub fn parse_new(line: &str) -> Result<Self, Error> {
        // The calendar repeats after 400 years, and it begins a new round in 2000.
        const ROUND: std::ops::Range<i64> = 10_957..10_957 + 146_097;
        let cron = Cron::parse(line)?;
        if ROUND.into_iter().any(|day| cron.matches_day(day)) {
            Ok(cron)
        } else {
            Err(Error::Never)
        }
    }

    /// Whether the line allows every hour of a day: it then follows the hours as they pass.
    pub(super) fn is_hourly(&self) -> bool {
        self.hours == (1 << 24) - 1
    }

    /// The first match in `from..until`. Both are local times, in seconds since 1970-01-01T00:00:00 on the same
    /// calendar.
    pub(super) fn first_match(&self, from: i64, until: i64) -> Option<i64> {
        let mut day = from.div_euclid(SECONDS_PER_DAY);
        let mut of_day = from.rem_euclid(SECONDS_PER_DAY) as u32;
        while day * SECONDS_PER_DAY < until {
            if self.matches_day(day)
                && let Some(time) = self.time_from(of_day)
            {
                let found = day * SECONDS_PER_DAY + i64::from(time);
                return (found < until).then_some(found);
            }
            (day, of_day) = (day + 1, 0);
        }
        None
    }

    /// The first time of day that matches, from this one on, in seconds.
    fn time_from(&self, of_day: u32) -> Option<u32> {
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        let first = (lowest(self.minutes, 0)?, lowest(self.seconds, 0)?);
        let same_minute = has(self.hours, hour) && has(self.minutes, minute);
        if same_minute && let Some(second) = lowest(self.seconds, second) {
            return Some(hour * 3_600 + minute * 60 + second);
        }
        if has(self.hours, hour)
            && let Some(minute) = lowest(self.minutes, minute + 1)
        {
            return Some(hour * 3_600 + minute * 60 + first.1);
        }
        let hour = lowest(self.hours, hour + 1)?;
        Some(hour * 3_600 + first.0 * 60 + first.1)
    }

    /// Whether the day, counted from 1970-01-01, matches.
    fn matches_day(&self, day_number: i64) -> bool {
        let (year, month, day) = civil_date(day_number);
        if !has(self.months, month.into()) {
            return false;
        }
        let length = month_length(year, month);
        // 1970-01-01 was a Thursday.
        let weekday = (day_number + 4).rem_euclid(7) as u32;
        self.days.matches(day.into(), length, weekday)
            && self.weekdays.matches(weekday, day.into(), length)
    }
}

impl Days {
    fn matches(&self, day: u32, length: u32, weekday: u32) -> bool {
        has(self.all, day)
            || (self.last && day == length)
            || (self.nearest_weekday != 0 && self.is_nearest_weekday(day, length, weekday))
    }

    /// Whether this day stands for a day of the field: for itself, for a Saturday or Sunday beside it, or, at
    /// an end of the month, for one that is two days away.
    fn is_nearest_weekday(&self, day: u32, length: u32, weekday: u32) -> bool {
        let wanted = |day: u32| day <= length && has(self.nearest_weekday, day);
        match weekday {
            0 | 6 => false,
            1 => wanted(day) || wanted(day - 1) || (day == 3 && wanted(1)),
            5 => wanted(day) || wanted(day + 1) || (day + 2 == length && wanted(length)),
            _ => wanted(day),
        }
    }
}

impl Weekdays {
    fn matches(&self, weekday: u32, day: u32, length: u32) -> bool {
        has(self.all, weekday)
            || (has(self.last, weekday) && day + 7 > length)
            || has(self.nth[(day as usize - 1) / 7], weekday)
    }
}

impl Field {
    const fn new(name: &'static str, min: u32, max: u32, names: &'static [&'static str]) -> Self {
        Field {
            name,
            min,
            max,
            names,
        }
    }

    /// A field of numbers, ranges and steps alone.
    fn plain(&self, text: &str) -> Result<u64, Error> {
        self.list(text, |part| self.part(part))
    }

    /// The union of what `parse` makes of the parts between commas.
    fn list(
        &self,
        text: &str,
        mut parse: impl FnMut(&str) -> Result<u64, String>,
    ) -> Result<u64, Error> {
        let mut all = 0;
        for part in text.split(',') {
            all |= parse(part).map_err(|reason| Error::Field {
                name: self.name,
                text: text.to_owned(),
                reason,
            })?;
        }
        Ok(all)
    }

    /// A part: `*`, `?`, a value or a range, each with an optional step.
    fn part(&self, text: &str) -> Result<u64, String> {
        let (range, step) = match text.split_once('/') {
            None => (text, None),
            Some((range, step)) => (range, Some(self.step(step)?)),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (self.min, self.max),
            Some((from, to)) => (self.value(from, false)?, self.value(to, true)?),
            None => {
                let value = self.value(range, false)?;
                (value, if step.is_some() { self.max } else { value })
            }
        };
        if from > to {
            return Err(format!("the range {range:?} ends before it begins"));
        }
        let values = (from..=to).step_by(step.unwrap_or(1));
        Ok(values.fold(0, |set, value| set | 1 << value))
    }

    fn step(&self, text: &str) -> Result<usize, String> {
        match number(text) {
            Some(0) => Err("a step of 0 matches nothing".to_owned()),
            Some(step) => Ok(step as usize),
            None => Err(format!("the step {text:?} is not a number")),
        }
    }

    /// A value, as a number or a name. As the end of a range, `SUN` is 7.
    fn value(&self, text: &str, is_end: bool) -> Result<u32, String> {
        if let Some(value) = number(text) {
            return if (self.min..=self.max).contains(&value) {
                Ok(value)
            } else {
                Err(format!(
                    "{value} is not between {} and {}",
                    self.min, self.max
                ))
            };
        }
        let names = self.names.iter();
        let found = { names }.position(|name| name.eq_ignore_ascii_case(text));
        match found {
            Some(0) if is_end && self.max == WEEKDAY.max => Ok(7),
            Some(place) => Ok(self.min + place as u32),
            None if text.is_empty() => Err("a value is missing".to_owned()),
            None => Err(match self.names {
                [first, .., last] => format!(
                    "{text:?} is neither a number nor a name from {} to {}",
                    first.to_uppercase(),
                    last.to_uppercase()
                ),
                _ => format!("{text:?} is not a number"),
            }),
        }
    }
}

fn parse_days(text: &str) -> Result<Days, Error> {
    let mut days = Days::default();
    days.all = DAY.list(text, |part| {
        if part.eq_ignore_ascii_case("L") {
            days.last = true;
            return Ok(0);
        }
        match part.strip_suffix(['W', 'w']) {
            Some(day) => {
                let day = DAY.value(day, false);
                days.nearest_weekday |=
                    1 << day.map_err(|reason| format!("before `W`, {reason}"))?;
                Ok(0)
            }
            None => DAY.part(part),
        }
    })?;
    Ok(days)
}

fn parse_weekdays(text: &str) -> Result<Weekdays, Error> {
    let mut weekdays = Weekdays::default();
    // 7 is Sunday, too.
    let value = |text: &str| WEEKDAY.value(text, false).map(|value| value % 7);
    let all = WEEKDAY.list(text, |part| {
        if let Some((day, nth)) = part.split_once('#') {
            let nth = match number(nth) {
                Some(nth @ 1..=5) => nth as usize,
                _ => return Err(format!("{nth:?} after `#` is not a number from 1 to 5")),
            };
            weekdays.nth[nth - 1] |= 1 << value(day)?;
            return Ok(0);
        }
        match part.strip_suffix(['L', 'l']) {
            Some(day) => {
                weekdays.last |= 1 << value(day)?;
                Ok(0)
            }
            None => WEEKDAY.part(part),
        }
    })?;
    weekdays.all = (all | all >> 7) & 0x7f;
    Ok(weekdays)
}

/// A number of digits alone; std would also take a sign.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn has(set: u64, value: u32) -> bool {
    set >> value & 1 == 1
}

/// The lowest value of the set from `from` on.
fn lowest(set: u64, from: u32) -> Option<u32> {
    let rest = set & u64::MAX.checked_shl(from)?;
    (rest != 0).then(|| rest.trailing_zeros())
}

fn month_length(year: i64, month: u8) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests;
