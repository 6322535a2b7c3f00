//! The names of the files in the folder of a session.

pub(super) const SESSION: &str = "session.json";
pub(super) const MESSAGES: &str = "messages.jsonl";
