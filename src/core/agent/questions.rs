//! What a turn has to ask: whether a tool may run, and what MCP servers want to know of the user or the model.

pub(super) mod pending_questions;
pub(super) mod permission_mode;
pub(super) mod question_answers;
pub(super) mod sampling_and_elicitation;
