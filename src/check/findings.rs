//! What the checks have found so far.

use super::checks::Check;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What was sent and what came back, shortened, escaped and without secrets. Empty texts stand for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The request.
    pub sent: String,
    /// The response, or what came instead.
    pub received: String,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The server passes.
    Passed {
        /// What was seen, in a few words; may be empty.
        detail: String,
    },
    /// The server fails.
    Failed {
        /// What was wrong, first.
        detail: String,
        /// Where it was seen.
        exchange: Exchange,
        /// How many times something was wrong.
        times: usize,
    },
    /// The check is not about this server.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// The check could not be made.
    NotChecked {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// The outcome with its detail or reason as `shown` writes it.
    pub(super) fn with_texts(mut self, shown: impl Fn(&str) -> String) -> Self {
        let text = match &mut self {
            Outcome::Passed { detail } | Outcome::Failed { detail, .. } => detail,
            Outcome::NotApplicable { reason } | Outcome::NotChecked { reason } => reason,
        };
        *text = shown(text);
        self
    }
}

/// The outcomes by check.
#[derive(Default)]
pub(super) struct Findings {
    outcomes: BTreeMap<Check, Outcome>,
    /// When the run is over: what seems wrong later may only have had no time.
    end: Option<Instant>,
}

impl Findings {
    /// No findings, of a run until `end`.
    pub(super) fn until(end: Instant) -> Self {
        Findings {
            outcomes: BTreeMap::new(),
            end: Some(end),
        }
    }

    /// Records something wrong. It outweighs everything else.
    pub(super) fn fail(&mut self, check: Check, detail: impl Into<String>, exchange: Exchange) {
        if self.end.is_some_and(|end| end <= Instant::now()) {
            return self.not_checked(check, "the run took too long");
        }
        if let Some(Outcome::Failed { times, .. }) = self.outcomes.get_mut(&check) {
            *times += 1;
            return;
        }
        let failed = Outcome::Failed {
            detail: detail.into(),
            exchange,
            times: 1,
        };
        self.outcomes.insert(check, failed);
    }

    /// Records that something was right.
    pub(super) fn pass(&mut self, check: Check, detail: impl Into<String>) {
        if !matches!(self.outcomes.get(&check), Some(Outcome::Failed { .. })) {
            let detail = detail.into();
            self.outcomes.insert(check, Outcome::Passed { detail });
        }
    }

    /// Passes with `detail`, or fails with the first fault.
    pub(super) fn pass_unless(
        &mut self,
        check: Check,
        faults: Vec<(String, Exchange)>,
        detail: impl Into<String>,
    ) {
        if faults.is_empty() {
            return self.pass(check, detail);
        }
        for (fault, exchange) in faults {
            self.fail(check, fault, exchange);
        }
    }

    /// Records that a check is not about this server, if nothing else is known.
    pub(super) fn not_applicable(&mut self, check: Check, reason: impl Into<String>) {
        let reason = reason.into();
        self.outcomes
            .entry(check)
            .or_insert(Outcome::NotApplicable { reason });
    }

    /// Records that a check could not be made, if nothing else is known.
    pub(super) fn not_checked(&mut self, check: Check, reason: impl Into<String>) {
        let reason = reason.into();
        self.outcomes
            .entry(check)
            .or_insert(Outcome::NotChecked { reason });
    }

    /// As [`not_checked`](Self::not_checked), for several.
    pub(super) fn none_checked(&mut self, checks: &[Check], reason: &str) {
        for check in checks {
            self.not_checked(*check, reason);
        }
    }

    /// As [`not_applicable`](Self::not_applicable), for several.
    pub(super) fn none_applicable(&mut self, checks: &[Check], reason: &str) {
        for check in checks {
            self.not_applicable(*check, reason);
        }
    }

    /// Whether a check has failed.
    pub(super) fn has_failed(&self, check: Check) -> bool {
        matches!(self.outcomes.get(&check), Some(Outcome::Failed { .. }))
    }

    /// Whether a check has passed.
    pub(super) fn has_passed(&self, check: Check) -> bool {
        matches!(self.outcomes.get(&check), Some(Outcome::Passed { .. }))
    }

    /// Takes the outcome of a check.
    pub(super) fn take(&mut self, check: Check) -> Option<Outcome> {
        self.outcomes.remove(&check)
    }
}
