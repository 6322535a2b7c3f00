//! Durations from outside: from settings, files, headers, messages and arguments.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// A timeout that a user or a peer set. It is at most [`LONGEST`](Self::LONGEST), so that it can be added to
/// any clock and to others of its kind: an `Instant` panics when a sum overflows.
///
/// As JSON it is a number of whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeLimit(Duration);

impl TimeLimit {
    /// A year, longer than any wait here.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

    /// The duration, at most [`LONGEST`](Self::LONGEST).
    pub fn new(duration: Duration) -> Self {
        TimeLimit(duration.min(Self::LONGEST))
    }

    /// This many seconds, at most [`LONGEST`](Self::LONGEST).
    pub fn from_secs(seconds: u64) -> Self {
        Self::new(Duration::from_secs(seconds))
    }

    /// This many milliseconds, at most [`LONGEST`](Self::LONGEST).
    pub fn from_millis(millis: u64) -> Self {
        Self::new(Duration::from_millis(millis))
    }

    /// This many seconds, at most [`LONGEST`](Self::LONGEST); `None` if negative or not finite.
    pub fn from_secs_f64(seconds: f64) -> Option<Self> {
        let counts = seconds.is_finite() && seconds >= 0.0;
        let longest = Self::LONGEST.as_secs_f64();
        counts.then(|| TimeLimit(Duration::from_secs_f64(seconds.min(longest))))
    }

    /// The duration, which can be added to an `Instant`.
    pub fn get(self) -> Duration {
        self.0
    }

    /// Whether the duration is zero.
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl<'de> Deserialize<'de> for TimeLimit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        u64::deserialize(d).map(Self::from_secs)
    }
}

impl Serialize for TimeLimit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.0.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_longest_can_be_added_to_the_clock_more_than_once() {
        let longest = [
            TimeLimit::new(Duration::MAX),
            TimeLimit::from_secs(u64::MAX),
            TimeLimit::from_secs(i64::MAX.unsigned_abs()),
            TimeLimit::from_millis(u64::MAX),
            TimeLimit::from_secs_f64(f64::MAX).unwrap(),
            serde_json::from_str("18446744073709551615").unwrap(),
        ];
        let now = Instant::now();
        for limit in longest {
            assert_eq!(limit.get(), TimeLimit::LONGEST);
            assert!(now + limit.get() + limit.get() > now);
        }
    }

    #[test]
    fn what_is_shorter_is_as_it_was_given() {
        assert_eq!(TimeLimit::from_secs(7).get(), Duration::from_secs(7));
        assert_eq!(TimeLimit::from_millis(7).get(), Duration::from_millis(7));
        let half = TimeLimit::from_secs_f64(0.5).map(TimeLimit::get);
        assert_eq!(half, Some(Duration::from_millis(500)));
        let read: TimeLimit = serde_json::from_str("0").unwrap();
        assert!(read.is_zero());
        assert_eq!(
            serde_json::to_string(&TimeLimit::from_secs(300)).unwrap(),
            "300"
        );
    }

    #[test]
    fn what_is_no_duration_is_none() {
        for seconds in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
            assert_eq!(TimeLimit::from_secs_f64(seconds), None, "{seconds}");
        }
        for text in ["-1", "1.5", "\"1\"", "null"] {
            assert!(serde_json::from_str::<TimeLimit>(text).is_err(), "{text}");
        }
    }
}
