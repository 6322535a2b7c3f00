//! Thought signatures of Gemini models, over Google's own protocol and over OpenAI's.

/// The signature for a call that another model made. Models from the third generation on refuse a call
/// without one: <https://ai.google.dev/gemini-api/docs/thought-signatures>
pub(super) const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Whether the model refuses calls without a signature.
pub(super) fn needs_signatures(model: &str) -> bool {
    model.contains("gemini-3")
}
