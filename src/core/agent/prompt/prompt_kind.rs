//! The prompts that gosling uses; their texts stand where they are used.

use crate::agent::prompt::system_prompt;
use crate::agent::session::session_naming::SESSION_NAME;
use crate::agent::turn::compaction::COMPACTION;
use crate::part;

/// The value of `messages` in the template for summaries, which Goose's templates use.
pub const MESSAGES: &str = "(The conversation is in the next message.)";

/// All prompts, in the order of lists: those of the core, then those of the parts of the program.
pub fn all() -> impl Iterator<Item = &'static PromptKind> {
    let own = [&SYSTEM, &COMPACTION, &SESSION_NAME];
    own.into_iter()
        .chain(part::all().iter().flat_map(|part| part.prompts))
}

/// A prompt that gosling uses.
#[derive(Debug)]
pub struct PromptKind {
    /// The name of its file, which clients use too.
    pub file: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// Makes the text that gosling uses unless the user has changed it.
    pub default_text: fn() -> String,
    /// The variables of its template, separated by white space. Those of Goose without a meaning here are empty.
    pub variables: &'static str,
}

/// The system prompt of sessions.
pub static SYSTEM: PromptKind = PromptKind {
    file: "system.md",
    description: "System prompt of sessions: who the assistant is and how it works",
    default_text: system_prompt::default_template,
    variables: system_prompt::VARIABLES,
};
