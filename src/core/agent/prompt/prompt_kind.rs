//! A prompt that gosling uses.

/// The value of `messages` in the template for summaries, which Goose's templates use.
pub const MESSAGES: &str = "(The conversation is in the next message.)";

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
