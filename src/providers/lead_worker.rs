//! Which of two models handles a turn: the lead model begins a session, the worker model continues, and the
//! lead takes over for a while after failures.
//!
//! The rules are those of Goose: <https://block.github.io/goose/docs/tutorials/lead-worker>.

use crate::json;
use crate::store::settings::{self, Setting};
use crate::store::{Config, Result};
use gosling_core::provider::LeadModel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The lead model that the user wants, before a turn of a session that has had so many turns and has stored this of
/// them.
///
/// # Errors
/// See [`Config::get`].
pub(super) fn read(
    config: &Config,
    stored: Option<&Value>,
    turns: usize,
) -> Result<Option<Box<dyn LeadModel>>> {
    let policy = LeadWorker::from_config(config)?;
    Ok(policy.map(|policy| {
        let stored = stored.and_then(|stored| json::from_value(stored).ok());
        let progress = stored.unwrap_or_else(|| Progress::of_turns(turns));
        Box::new(Lead { policy, progress }) as Box<dyn LeadModel>
    }))
}

/// The lead model before a turn.
struct Lead {
    policy: LeadWorker,
    progress: Progress,
}

impl LeadModel for Lead {
    fn names(&self) -> (Option<&str>, &str) {
        let provider = self.policy.lead_provider.as_deref();
        (provider, &self.policy.lead_model)
    }

    fn is_next(&self) -> bool {
        matches!(self.policy.choose(&self.progress), Choice::Lead { .. })
    }

    fn after(&self, failed: Option<bool>) -> Value {
        let after = failed.map(|failed| self.policy.after(self.progress, failed));
        json::to_value(&after.unwrap_or(self.progress)).unwrap_or_default()
    }
}

/// The lead model, and when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeadWorker {
    /// `GOOSE_LEAD_MODEL`.
    lead_model: String,
    /// `GOOSE_LEAD_PROVIDER`; the worker's provider if absent.
    lead_provider: Option<String>,
    /// `GOOSE_LEAD_TURNS`: how many turns at the beginning of a session use the lead (3).
    lead_turns: u32,
    /// `GOOSE_LEAD_FAILURE_THRESHOLD`: after how many failed turns in a row the lead takes over (2).
    failure_threshold: u32,
    /// `GOOSE_LEAD_FALLBACK_TURNS`: after how many successful turns the worker continues (2).
    fallback_turns: u32,
}

/// The model for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The lead model.
    Lead {
        /// The lead took over because the worker failed.
        fallback: bool,
    },
    /// The session's own model.
    Worker,
}

/// The turns and failures of a session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    /// Finished turns, successful or not.
    turns: u32,
    /// Failed turns in a row.
    failures: u32,
    /// For how many more turns the lead replaces the worker.
    fallback_left: u32,
}

impl Progress {
    /// The progress of a session with so many turns whose failures are unknown.
    fn of_turns(turns: usize) -> Self {
        Progress {
            turns: turns.try_into().unwrap_or(u32::MAX),
            ..Progress::default()
        }
    }
}

impl LeadWorker {
    /// Reads the configuration; `None` if it names no lead model.
    ///
    /// # Errors
    /// See [`Config::get`].
    fn from_config(config: &Config) -> Result<Option<Self>> {
        let Some(lead_model) = settings::LEAD_MODEL.text(config)? else {
            return Ok(None);
        };
        let count = |setting: &Setting| u32::try_from(setting.count(config)).unwrap_or(u32::MAX);
        Ok(Some(LeadWorker {
            lead_model,
            lead_provider: settings::LEAD_PROVIDER.text(config)?,
            lead_turns: count(&settings::LEAD_TURNS),
            failure_threshold: count(&settings::LEAD_FAILURE_THRESHOLD),
            fallback_turns: count(&settings::LEAD_FALLBACK_TURNS),
        }))
    }

    /// The model for the next turn.
    fn choose(&self, progress: &Progress) -> Choice {
        if progress.turns < self.lead_turns {
            Choice::Lead { fallback: false }
        } else if progress.fallback_left > 0 {
            Choice::Lead { fallback: true }
        } else {
            Choice::Worker
        }
    }

    /// The progress after a turn that counts, see [`LeadModel::after`].
    fn after(&self, progress: Progress, failed: bool) -> Progress {
        let mut next = progress;
        next.turns = progress.turns.saturating_add(1);
        if !failed {
            next.failures = 0;
            next.fallback_left = progress.fallback_left.saturating_sub(1);
            return next;
        }
        next.failures = progress.failures.saturating_add(1);
        let is_worker = self.choose(&progress) == Choice::Worker;
        if is_worker && next.failures >= self.failure_threshold {
            next.failures = 0;
            next.fallback_left = self.fallback_turns;
        }
        next
    }
}

#[cfg(test)]
mod tests;
