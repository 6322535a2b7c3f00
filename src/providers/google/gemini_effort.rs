//! How much Gemini thinks. No I/O.

use crate::thinking_effort::Effort;
use serde_json::{Value, json};

/// The parameters for this effort: <https://ai.google.dev/gemini-api/docs/thinking>
pub(crate) fn gemini_effort(_: &str, model: &str, effort: Effort) -> Value {
    let thinking = if model.contains("gemini-2.5") {
        let least = if model.contains("pro") { 128 } else { 0 };
        let budget = match effort {
            Effort::Off => least,
            Effort::Low => 1_024,
            Effort::Medium => 8_192,
            Effort::High | Effort::Max => 24_576,
        };
        json!({"thinkingBudget": budget})
    } else if model.contains("gemini-1") || model.contains("gemini-2") || model.contains("gemma") {
        return Value::Null;
    } else {
        json!({"thinkingLevel": effort.word("low", "high")})
    };
    json!({"generationConfig": {"thinkingConfig": thinking}})
}

#[cfg(test)]
mod tests;
