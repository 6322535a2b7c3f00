//! Thought signatures of Gemini models, over Google's own protocol and over OpenAI's.

/// The signature for a call that another model made. Models from the third generation on refuse a call
/// without one: <https://ai.google.dev/gemini-api/docs/thought-signatures>
pub(super) const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Whether the model refuses calls without a signature. A name like `gemini-flash-latest`, without a generation, is
/// one of the newest.
pub(super) fn needs_signatures(model: &str) -> bool {
    let Some((_, name)) = model.split_once("gemini-") else {
        return false;
    };
    let digits = name.find(|c: char| !c.is_ascii_digit());
    match name[..digits.unwrap_or(name.len())].parse::<u32>() {
        Ok(generation) => generation >= 3,
        Err(_) => name.ends_with("-latest"),
    }
}
