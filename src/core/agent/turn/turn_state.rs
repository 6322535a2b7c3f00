//! What an agent keeps from turn to turn.

use crate::agent::prompt::context_changes::ToldContext;
use crate::agent::turn::token_estimate::Estimate;
use crate::store::Journal;
use std::collections::HashSet;

/// What an agent keeps from turn to turn. A running turn owns it.
pub(in crate::agent) struct TurnState {
    pub(in crate::agent) journal: Journal,
    pub(in crate::agent) estimate: Estimate,
    /// What the user was told of requests, by a hash, so that it is told once.
    pub(in crate::agent) notices: HashSet<u64>,
    /// What the system prompt of the last request said.
    pub(in crate::agent) told: Option<ToldContext>,
    /// Which of the two models answered last: `lead` or `worker`.
    pub(in crate::agent) last_role: Option<&'static str>,
}

impl TurnState {
    pub(in crate::agent) fn new(journal: Journal) -> Self {
        TurnState {
            journal,
            estimate: Estimate::default(),
            notices: HashSet::new(),
            told: None,
            last_role: None,
        }
    }
}
