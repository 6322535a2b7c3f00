//! What the checks have found so far.

use super::declaration::Check;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What was sent and what came back, shortened, escaped and without secrets. Empty texts stand for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownExchange {
    /// The request.
    pub sent: String,
    /// The response, or what came instead.
    pub received: String,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CheckOutcome {
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
        exchange: ShownExchange,
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

/// Something wrong, and where it was seen.
pub(super) type Fault = (String, ShownExchange);

/// What a check has seen: something right, in a few words that may be missing, or something wrong.
pub(super) type Observed = Result<String, Fault>;

impl CheckOutcome {
    /// The outcome with its detail or reason as `shown` writes it.
    pub(super) fn with_texts(mut self, shown: impl Fn(&str) -> String) -> Self {
        let text = match &mut self {
            CheckOutcome::Passed { detail } | CheckOutcome::Failed { detail, .. } => detail,
            CheckOutcome::NotApplicable { reason } | CheckOutcome::NotChecked { reason } => reason,
        };
        *text = shown(text);
        self
    }
}

/// The outcomes by check.
pub(super) struct CheckFindings {
    outcomes: BTreeMap<&'static Check, CheckOutcome>,
    /// When the run is over: what seems wrong later may only have had no time.
    end: Instant,
}

impl CheckFindings {
    /// No findings, of a run until `end`.
    pub(super) fn until(end: Instant) -> Self {
        CheckFindings {
            outcomes: BTreeMap::new(),
            end,
        }
    }

    /// Records what a check has seen.
    pub(super) fn note(&mut self, check: &'static Check, observed: Observed) {
        match observed {
            Ok(detail) => self.pass(check, detail),
            Err(fault) => self.fail(check, fault),
        }
    }

    /// Records something wrong. It outweighs everything else.
    pub(super) fn fail(
        &mut self,
        check: &'static Check,
        (detail, exchange): (impl Into<String>, ShownExchange),
    ) {
        if self.end <= Instant::now() {
            self.not_checked(check, "the run took too long");
        } else if let Some(CheckOutcome::Failed { times, .. }) = self.outcomes.get_mut(&check) {
            *times += 1;
        } else {
            let failed = CheckOutcome::Failed {
                detail: detail.into(),
                exchange,
                times: 1,
            };
            self.outcomes.insert(check, failed);
        }
    }

    /// Records that something was right.
    pub(super) fn pass(&mut self, check: &'static Check, detail: impl Into<String>) {
        if !self.has_failed(check) {
            let detail = detail.into();
            self.outcomes.insert(check, CheckOutcome::Passed { detail });
        }
    }

    /// Records that a check is not about this server, if nothing else is known.
    pub(super) fn not_applicable(&mut self, check: &'static Check, reason: impl Into<String>) {
        let reason = reason.into();
        self.outcomes
            .entry(check)
            .or_insert(CheckOutcome::NotApplicable { reason });
    }

    /// Records that a check could not be made, if nothing else is known.
    pub(super) fn not_checked(&mut self, check: &'static Check, reason: impl Into<String>) {
        let reason = reason.into();
        self.outcomes
            .entry(check)
            .or_insert(CheckOutcome::NotChecked { reason });
    }

    /// As [`not_checked`](Self::not_checked), for several.
    pub(super) fn none_checked(&mut self, checks: &[&'static Check], reason: &str) {
        for check in checks {
            self.not_checked(check, reason);
        }
    }

    /// As [`not_applicable`](Self::not_applicable), for several.
    pub(super) fn none_applicable(&mut self, checks: &[&'static Check], reason: &str) {
        for check in checks {
            self.not_applicable(check, reason);
        }
    }

    /// Whether a check has failed.
    pub(super) fn has_failed(&self, check: &'static Check) -> bool {
        matches!(self.outcomes.get(&check), Some(CheckOutcome::Failed { .. }))
    }

    /// Whether a check has passed.
    pub(super) fn has_passed(&self, check: &'static Check) -> bool {
        matches!(self.outcomes.get(&check), Some(CheckOutcome::Passed { .. }))
    }

    /// Takes the outcome of a check.
    pub(super) fn take(&mut self, check: &'static Check) -> Option<CheckOutcome> {
        self.outcomes.remove(&check)
    }
}
