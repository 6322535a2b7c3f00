//! How long requests may take.

use crate::sys::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// After so many requests without an answer, none is waited for.
const MAX_SILENCES: usize = 30;

/// How long a request may take. Servers that do not answer get less time after a while, so that a run ends.
pub(crate) struct RunTimeouts {
    request: Duration,
    silences: Mutex<Silences>,
    /// When the run is over.
    end: Instant,
}

/// The waits that were in vain. Those at the same time count once.
#[derive(Default)]
struct Silences {
    count: usize,
    last: Option<Instant>,
}

impl RunTimeouts {
    pub(crate) fn new(request: Duration, end: Instant) -> Self {
        RunTimeouts {
            request,
            end,
            silences: Mutex::default(),
        }
    }

    pub(crate) fn current(&self) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        let request = match lock(&self.silences).count {
            0..3 => self.request,
            3..8 => self.request.min(Duration::from_secs(2)),
            8..MAX_SILENCES => self.request.min(Duration::from_millis(500)),
            _ => Duration::ZERO,
        };
        request.min(left)
    }

    /// Notes that a wait which began at `begin` was in vain.
    pub(crate) fn note_silence(&self, begin: Instant) {
        let mut silences = lock(&self.silences);
        if silences.last.is_none_or(|last| last <= begin) {
            silences.count += 1;
            silences.last = Some(Instant::now());
        }
    }
}
