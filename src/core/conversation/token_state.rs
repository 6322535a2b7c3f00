//! The token counts of a session.

use super::Session;
use serde::{Deserialize, Serialize};

/// The counts that every event carries, in the JSON shape of Goose's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenState {
    /// Of the last request to the model and its answer.
    pub input_tokens: i64,
    /// Of the last request to the model and its answer.
    pub output_tokens: i64,
    /// Of the last request to the model and its answer.
    pub total_tokens: i64,
    /// Of all requests and answers.
    pub accumulated_input_tokens: i64,
    /// Of all requests and answers.
    pub accumulated_output_tokens: i64,
    /// Of all requests and answers.
    pub accumulated_total_tokens: i64,
    /// What they have cost in US dollars, those whose prices are known. Not part of the events.
    #[serde(skip)]
    pub accumulated_cost: Option<f64>,
}

impl TokenState {
    /// The counts that are stored with the session.
    pub fn of(session: &Session) -> Self {
        let count = |tokens: Option<i64>| tokens.unwrap_or(0);
        TokenState {
            input_tokens: count(session.input_tokens),
            output_tokens: count(session.output_tokens),
            total_tokens: count(session.total_tokens),
            accumulated_input_tokens: count(session.accumulated_input_tokens),
            accumulated_output_tokens: count(session.accumulated_output_tokens),
            accumulated_total_tokens: count(session.accumulated_total_tokens),
            accumulated_cost: session.accumulated_cost,
        }
    }

    /// Stores the counts with the session. The sums grow by the difference to `before`, the counts when the turn
    /// began, because another process may have stored its own.
    pub fn store(&self, before: &TokenState, session: &mut Session) {
        session.input_tokens = Some(self.input_tokens);
        session.output_tokens = Some(self.output_tokens);
        session.total_tokens = Some(self.total_tokens);
        let sums = [
            &mut session.accumulated_input_tokens,
            &mut session.accumulated_output_tokens,
            &mut session.accumulated_total_tokens,
        ];
        for ((sum, before), now) in sums.into_iter().zip(before.sums()).zip(self.sums()) {
            let spent = now.saturating_sub(before);
            *sum = Some(sum.unwrap_or(0).saturating_add(spent));
        }
        if let Some(cost) = self.accumulated_cost {
            let spent = cost - before.accumulated_cost.unwrap_or(0.0);
            session.accumulated_cost = Some(session.accumulated_cost.unwrap_or(0.0) + spent);
        }
    }

    fn sums(&self) -> [i64; 3] {
        [
            self.accumulated_input_tokens,
            self.accumulated_output_tokens,
            self.accumulated_total_tokens,
        ]
    }

    /// Counts a summary that replaces the conversation. Its output is then all that the context holds.
    pub fn summarize(&mut self, input: i64, output: i64, total: i64) {
        self.spend(input, output, total);
        self.input_tokens = output;
        self.output_tokens = 0;
        self.total_tokens = output;
    }

    /// Clears the counts of the last request, because the conversation was cleared. The sums stay.
    pub fn clear(&mut self) {
        self.input_tokens = 0;
        self.output_tokens = 0;
        self.total_tokens = 0;
    }

    /// Counts a request to the model and its answer.
    pub fn add(&mut self, input: i64, output: i64, total: i64) {
        self.input_tokens = input;
        self.output_tokens = output;
        self.total_tokens = total;
        self.spend(input, output, total);
    }

    /// Adds what a request has cost, in US dollars.
    pub fn pay(&mut self, cost: f64) {
        *self.accumulated_cost.get_or_insert(0.0) += cost;
    }

    /// Counts a request that is not part of the conversation: it adds to the sums only.
    pub fn spend(&mut self, input: i64, output: i64, total: i64) {
        let sum = |all: &mut i64, one: i64| *all = all.saturating_add(one);
        sum(&mut self.accumulated_input_tokens, input);
        sum(&mut self.accumulated_output_tokens, output);
        sum(&mut self.accumulated_total_tokens, total);
    }
}

#[cfg(test)]
mod tests;
