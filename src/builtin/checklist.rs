//! The checklist of a session, as the server `todo` and Goose's extension of this name store it.

use serde_json::Value;

/// The name of the server.
pub const NAME: &str = "todo";
/// The key under which Goose stores the list in a session.
pub const KEY: &str = "todo.v0";

/// The list in the value stored under [`KEY`]; `None` if it is blank.
pub fn list(kept: Option<&Value>) -> Option<&str> {
    let list = kept?.get("content")?.as_str()?;
    (!list.trim().is_empty()).then_some(list)
}
