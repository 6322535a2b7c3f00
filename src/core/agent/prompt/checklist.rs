//! The checklist that a session keeps: written by the builtin server `todo`, told to the model when it does not see it
//! in the conversation.

use crate::builtin;
use crate::conversation::{Session, ToolRequest};
use serde::Deserialize;
use serde_json::Value;

/// The name of the server that writes it.
pub const SERVER: &str = "todo";
/// The tool that writes it, as the model calls it.
const WRITE: &str = "todo__todo_write";
/// The key under which Goose stores the list in a session.
pub const KEY: &str = "todo.v0";

/// The list in the value stored under [`KEY`]; `None` if it is blank.
pub fn list(kept: Option<&Value>) -> Option<&str> {
    let list = kept?.get("content")?.as_str()?;
    (!list.trim().is_empty()).then_some(list)
}

/// The list of the session; `None` if it is blank, or this program cannot write one.
pub fn of_session(session: &Session) -> Option<&str> {
    let kept = session.extension_data.0.get(KEY);
    list(kept).filter(|_| builtin::has(SERVER))
}

/// The list that the call writes; `None` if it writes none.
pub(in crate::agent) fn written(request: &ToolRequest) -> Option<String> {
    #[derive(Deserialize)]
    struct Write {
        content: String,
    }
    let call = request
        .tool_call
        .value()
        .filter(|call| call.name == WRITE)?;
    let write: Write = crate::json::from_str(call.arguments.get()).ok()?;
    Some(write.content)
}
