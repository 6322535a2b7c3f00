//! What the user is told of an import.

use crate::agent::turn::turn_output::random_id;
use crate::conversation::{ImportReport, Message, Metadata, Role};

/// A message to the user with what an import left out.
pub(in crate::agent) fn notice(imported: &ImportReport) -> Message {
    Message::text(Role::Assistant, imported.notice())
        .with_id(random_id("msg_"))
        .seen_by(Metadata::USER_ONLY)
}
