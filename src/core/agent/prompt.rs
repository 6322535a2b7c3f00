//! What a model is told besides the conversation: the system prompt, hints of files, templates of the user.

pub mod checklist;
pub(in crate::agent) mod context_changes;
pub(super) mod conversation_digest;
pub mod hints;
pub mod prompt_kind;
pub mod prompt_templates;
pub(super) mod short_answer;
pub mod system_prompt;
