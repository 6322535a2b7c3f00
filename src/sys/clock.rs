//! The wall clock as civil dates in UTC.

use std::fmt;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// A moment in UTC, to the second: the seconds since 1970-01-01T00:00:00Z. It is written in the proleptic Gregorian
/// calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(i64);

impl Utc {
    /// The moment `seconds` after 1970-01-01T00:00:00Z (before it, when negative).
    pub fn from_unix(seconds: i64) -> Self {
        Utc(seconds)
    }

    /// Parses RFC 3339 with any offset, or a date alone, which means 00:00:00 UTC. Ignores fractions of a
    /// second.
    pub fn parse(text: &str) -> Option<Self> {
        let [year, month, day] = numbers(text.get(..10)?, "0000-00-00")?;
        let days = days_from_civil(year, month, day);
        if civil_date(days) != (year, month as u8, day as u8) {
            return None;
        }
        let midnight = days * SECONDS_PER_DAY;
        let time = &text[10..];
        if time.is_empty() {
            return Some(Self::from_unix(midnight));
        }
        let [hour, minute, second] = numbers(time.get(..9)?, "T00:00:00")?;
        let mut zone = &time[9..];
        if let Some(fraction) = zone.strip_prefix('.') {
            zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if zone.len() == fraction.len() {
                return None;
            }
        }
        let [hours, minutes] = match zone {
            "Z" | "z" => [0, 0],
            _ => numbers(zone, "+00:00")?,
        };
        if hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59 {
            return None;
        }
        let ahead = (hours * 60 + minutes) * if zone.starts_with('-') { -60 } else { 60 };
        Some(Self::from_unix(
            midnight + hour * 3600 + minute * 60 + second - ahead,
        ))
    }

    /// The seconds since 1970-01-01T00:00:00Z.
    pub fn unix_seconds(self) -> i64 {
        self.0
    }

    fn date(self) -> (i64, u8, u8) {
        civil_date(self.0.div_euclid(SECONDS_PER_DAY))
    }

    /// The date alone as `YYYYMMDD`, as session ids carry it.
    pub fn compact_date(self) -> String {
        let (year, month, day) = self.date();
        format!("{year:04}{month:02}{day:02}")
    }
}

/// RFC 3339 with seconds and `Z`: `2026-11-21T22:16:27Z`.
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let of_day = self.0.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

static CLOCK: OnceLock<fn() -> SystemTime> = OnceLock::new();

/// Takes dates, and whether something has expired, from this clock. Only the first call has an effect.
pub fn set(clock: fn() -> SystemTime) {
    let _ = CLOCK.set(clock);
}

/// Seconds since 1970-01-01T00:00:00Z; negative if the clock is set before that.
pub fn unix_seconds() -> i64 {
    let seconds =
        |elapsed: std::time::Duration| i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
    let now = CLOCK.get().map_or_else(SystemTime::now, |now| now());
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => -seconds(before.duration()),
    }
}

/// The current time as RFC 3339: `2026-11-21T22:16:27Z`.
pub fn now_rfc3339() -> String {
    Utc::from_unix(unix_seconds()).to_string()
}

/// Today's date in UTC as `YYYYMMDD`.
pub fn today() -> String {
    Utc::from_unix(unix_seconds()).compact_date()
}

/// The numbers in `text`, if it matches `pattern`: `0` is a digit, `T` a separator of date and time, `+` a
/// sign. A space also counts as a sign, because an unescaped plus in a query arrives as a space.
fn numbers<const N: usize>(text: &str, pattern: &str) -> Option<[i64; N]> {
    let (mut numbers, mut next, mut in_number) = ([0; N], 0, false);
    if text.len() != pattern.len() {
        return None;
    }
    for (byte, wanted) in text.bytes().zip(pattern.bytes()) {
        let fits = match wanted {
            b'0' => byte.is_ascii_digit(),
            b'T' => b"Tt ".contains(&byte),
            b'+' => b"+- ".contains(&byte),
            wanted => byte == wanted,
        };
        if !fits {
            return None;
        }
        if wanted == b'0' {
            let number = numbers.get_mut(next)?;
            *number = *number * 10 + i64::from(byte - b'0');
        } else if in_number {
            next += 1;
        }
        in_number = wanted == b'0';
    }
    Some(numbers)
}

/// The days from 1970-01-01 to a date. Month and day may be out of range: the result is then that of another
/// date.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    const FROM_YEAR_ZERO_MARCH: i64 = 719_468;

    let from_march = (month + 9).rem_euclid(12);
    let year = year - i64::from(month <= 2);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + of_year - FROM_YEAR_ZERO_MARCH
}

/// Converts days since 1970-01-01 to year, month and day.
///
/// Years start in March, so that the leap day is the last of its year and months follow a fixed pattern of 153
/// days in five; 400 years always have 146,097 days.
pub fn civil_date(days: i64) -> (i64, u8, u8) {
    const DAYS_PER_ERA: i64 = 146_097;
    const FROM_YEAR_ZERO_MARCH: i64 = 719_468;

    let days = days + FROM_YEAR_ZERO_MARCH;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

#[cfg(test)]
mod tests;
