//! The wall clock as civil dates in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// A moment in UTC, to the second, in the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc {
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
}

impl Utc {
    /// The moment `seconds` after 1970-01-01T00:00:00Z (before it, when negative).
    pub fn from_unix(seconds: i64) -> Self {
        let (year, month, day) = civil_date(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        Self {
            year,
            month,
            day,
            hour: (of_day / 3600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
        }
    }

    /// The date alone as `YYYYMMDD`, as session ids carry it.
    pub fn compact_date(self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }
}

/// RFC 3339 with seconds and `Z`: `2026-11-21T22:16:27Z`.
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = *self;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// Seconds since 1970-01-01T00:00:00Z; negative if the clock is set before that.
pub fn unix_seconds() -> i64 {
    let seconds =
        |elapsed: std::time::Duration| i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => -seconds(before.duration()),
    }
}

/// The present moment as RFC 3339: `2026-11-21T22:16:27Z`.
pub fn now_rfc3339() -> String {
    Utc::from_unix(unix_seconds()).to_string()
}

/// Today's date in UTC as `YYYYMMDD`.
pub fn today() -> String {
    Utc::from_unix(unix_seconds()).compact_date()
}

/// Turns days since 1970-01-01 into year, month and day.
///
/// Years are counted from March, so that the leap day is the last of its year and months follow
/// a fixed pattern of 153 days in five; 400 years always have 146,097 days.
fn civil_date(days: i64) -> (i64, u8, u8) {
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
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_299_387, "2026-11-21T22:16:27Z"),
            (2_147_483_647, "2038-01-19T03:14:07Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(Utc::from_unix(seconds).to_string(), expected);
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 {
            assert_eq!(civil_date(days), (year, month, day));
            let last = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn now_has_the_recorded_shape() {
        let (now, today) = (now_rfc3339(), today());
        assert_eq!(now.len(), "2026-11-21T22:16:27Z".len());
        assert_eq!(today.len(), 8);
        assert!(unix_seconds() > 1_700_000_000);
    }
}
