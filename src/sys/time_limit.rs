//! Durations from outside: from settings, files, headers, messages and arguments.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::{Duration, Instant};

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

    /// The duration, which can be added to an `Instant`.
    pub fn get(self) -> Duration {
        self.0
    }

    /// When a wait that begins now has lasted so long.
    pub fn end(self) -> Instant {
        Instant::now() + self.0
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
mod tests;
