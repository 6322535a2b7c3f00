//! The questions of a session's running turn, for the front that has the answers.

use crate::activity::Entry;
use crate::agent::{Agent, Confirmation};
use crate::conversation::Outcome;
use crate::mcp::types::CallToolResult;
use serde_json::Value;
use std::sync::Arc;

/// The questions of a session's running turn; none if its agent does not run. A function returns false if the question
/// is not pending.
pub struct Questions(pub(in crate::agent) Option<Arc<Agent>>);

impl Questions {
    /// Answers the question whether a tool may be called.
    pub fn confirm(&self, request: &str, answer: Confirmation) -> bool {
        let Some(agent) = &self.0 else {
            return false;
        };
        if agent.channel.confirmations.is_open(request) {
            agent.extensions.activity().note(Entry {
                request,
                decision: if answer.is_allowed() {
                    "allowed"
                } else {
                    "denied"
                },
                by: "user",
                outcome: match answer.permission_level() {
                    Some(_) => "always",
                    None => "once",
                },
                ..Entry::new("approval", &agent.session_id)
            });
        }
        agent.channel.confirmations.answer(request, answer)
    }

    /// Answers an elicitation with the user's data, or declines it with `None`.
    pub fn answer(&self, request: &str, data: Option<Value>) -> bool {
        (self.0.as_ref()).is_some_and(|it| it.channel.elicitations.answer(request, data))
    }

    /// Passes on the result of a tool that the client ran.
    pub fn tool_result(&self, request: &str, result: Outcome<CallToolResult>) -> bool {
        (self.0.as_ref()).is_some_and(|it| it.channel.frontend_results.answer(request, result))
    }
}
