//! The checklist that a session keeps: written by the builtin server `todo`, shown to the model in each request.

use crate::builtin;
use crate::conversation::Session;
use serde_json::Value;

/// The name of the server that writes it.
pub const SERVER: &str = "todo";
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
