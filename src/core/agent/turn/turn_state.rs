//! What an agent keeps from turn to turn.

use crate::agent::prompt::told_context::ToldContext;
use crate::agent::turn::token_estimate::Estimate;
use crate::store::Journal;

/// What an agent keeps from turn to turn. A running turn owns it.
pub(in crate::agent) struct TurnState {
    pub(in crate::agent) journal: Journal,
    pub(in crate::agent) estimate: Estimate,
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
            told: None,
            last_role: None,
        }
    }
}
