//! The names of the files in the folder of a session.

/// The session.
pub const SESSION: &str = "session.json";
/// Its messages.
pub const MESSAGES: &str = "messages.jsonl";
/// The folder of the stored outputs of tools.
pub const TOOL_OUTPUTS: &str = "answers";
