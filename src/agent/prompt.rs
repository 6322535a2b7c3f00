//! The system prompt: what the model is told of itself, of where it works and of its tools.

use super::Mode;

/// Extension instructions beyond this are cut, for each extension, in bytes.
pub const MAX_EXTENSION: usize = 16 << 10;

/// All extension instructions together, likewise.
pub const MAX_EXTENSIONS: usize = 64 << 10;

/// What goes into the prompt.
#[derive(Clone, Debug, Default)]
pub struct Parts<'a> {
    /// Today, as `YYYY-MM-DD`. No time of day, so that the prompt stays the same for a day and
    /// providers can cache it.
    pub date: &'a str,
    /// Where the session works.
    pub working_dir: &'a str,
    /// The operating system.
    pub os: &'a str,
    /// Active extensions and the instructions of each, which may be empty.
    pub extensions: &'a [(&'a str, &'a str)],
    /// What [`super::hints::Hints::text`] gives.
    pub hints: &'a str,
    /// What the session's recipe says.
    pub recipe_instructions: Option<&'a str>,
    /// How tools are treated.
    pub mode: Mode,
    /// A person's own text in place of the first part.
    pub own: Option<&'a str>,
}

/// The system prompt.
pub fn system(parts: &Parts<'_>) -> String {
    let _ = parts;
    String::new()
}
