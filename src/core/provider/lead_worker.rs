//! Which of two models handles a turn: the lead model begins a session, the worker model continues, and the
//! lead takes over for a while after failures.
//!
//! The rules are those of Goose: <https://block.github.io/goose/docs/tutorials/lead-worker>.

use crate::store::settings::{self, Setting};
use crate::store::{Config, Result};
use serde::{Deserialize, Serialize};

/// The lead model, and when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadWorker {
    /// `GOOSE_LEAD_MODEL`.
    pub lead_model: String,
    /// `GOOSE_LEAD_PROVIDER`; the worker's provider if absent.
    pub lead_provider: Option<String>,
    /// `GOOSE_LEAD_TURNS`: how many turns at the beginning of a session use the lead (3).
    pub lead_turns: u32,
    /// `GOOSE_LEAD_FAILURE_THRESHOLD`: after how many failed turns in a row the lead takes over (2).
    pub failure_threshold: u32,
    /// `GOOSE_LEAD_FALLBACK_TURNS`: after how many successful turns the worker continues (2).
    pub fallback_turns: u32,
}

/// The model for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
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
pub struct Progress {
    /// Finished turns, successful or not.
    turns: u32,
    /// Failed turns in a row.
    failures: u32,
    /// For how many more turns the lead replaces the worker.
    fallback_left: u32,
}

impl Progress {
    /// The progress of a session with so many turns whose failures are unknown.
    pub fn of_turns(turns: usize) -> Self {
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
    pub fn from_config(config: &Config) -> Result<Option<Self>> {
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
    pub fn choose(&self, progress: &Progress) -> Choice {
        if progress.turns < self.lead_turns {
            Choice::Lead { fallback: false }
        } else if progress.fallback_left > 0 {
            Choice::Lead { fallback: true }
        } else {
            Choice::Worker
        }
    }

    /// The progress after a turn. A turn failed if the arguments of a tool call were invalid, or if all of
    /// its tool calls failed. The caller does not count a turn in which the provider was unreachable, which
    /// says nothing about the model; the lead answers such a turn of the worker.
    pub fn after(&self, progress: Progress, failed: bool) -> Progress {
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
