//! All prompts that gosling uses. Their texts stand where they are used.

use crate::agent::prompt::prompt_kind::PromptKind;
use crate::agent::prompt::system_prompt::SYSTEM;
use crate::agent::session::session_naming::SESSION_NAME;
use crate::agent::turn::compaction::COMPACTION;
use crate::part;

/// All prompts, in the order of lists: those of the core, then those of the parts of the program.
pub fn all() -> impl Iterator<Item = &'static PromptKind> {
    let own = [&SYSTEM, &COMPACTION, &SESSION_NAME];
    own.into_iter()
        .chain(part::all().iter().flat_map(|part| part.prompts))
}
