//! What a session has cost so far, in tokens.

use super::Session;
use serde::{Deserialize, Serialize};

/// The counts that go out with every event, in the JSON shape of Goose's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenState {
    /// Of the last exchange with the model.
    pub input_tokens: i64,
    /// Of the last exchange with the model.
    pub output_tokens: i64,
    /// Of the last exchange with the model.
    pub total_tokens: i64,
    /// Of all exchanges.
    pub accumulated_input_tokens: i64,
    /// Of all exchanges.
    pub accumulated_output_tokens: i64,
    /// Of all exchanges.
    pub accumulated_total_tokens: i64,
}

impl TokenState {
    /// What is stored with the session.
    pub fn of(session: &Session) -> Self {
        let count = |tokens: Option<i64>| tokens.unwrap_or(0);
        TokenState {
            input_tokens: count(session.input_tokens),
            output_tokens: count(session.output_tokens),
            total_tokens: count(session.total_tokens),
            accumulated_input_tokens: count(session.accumulated_input_tokens),
            accumulated_output_tokens: count(session.accumulated_output_tokens),
            accumulated_total_tokens: count(session.accumulated_total_tokens),
        }
    }

    /// Stores it with the session.
    pub fn keep(&self, session: &mut Session) {
        session.input_tokens = Some(self.input_tokens);
        session.output_tokens = Some(self.output_tokens);
        session.total_tokens = Some(self.total_tokens);
        session.accumulated_input_tokens = Some(self.accumulated_input_tokens);
        session.accumulated_output_tokens = Some(self.accumulated_output_tokens);
        session.accumulated_total_tokens = Some(self.accumulated_total_tokens);
    }

    /// One more exchange with the model.
    pub fn add(&mut self, input: i64, output: i64, total: i64) {
        self.input_tokens = input;
        self.output_tokens = output;
        self.total_tokens = total;
        self.spend(input, output, total);
    }

    /// An exchange with the model beside the conversation: it costs, but fills no context.
    pub fn spend(&mut self, input: i64, output: i64, total: i64) {
        let sum = |all: &mut i64, one: i64| *all = all.saturating_add(one);
        sum(&mut self.accumulated_input_tokens, input);
        sum(&mut self.accumulated_output_tokens, output);
        sum(&mut self.accumulated_total_tokens, total);
    }
}
