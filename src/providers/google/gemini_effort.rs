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
mod tests {
    use super::*;
    use crate::thinking_effort::tests::sent;
    use gosling_core::provider::thinking_effort::EFFORT;

    #[test]
    fn gemini_has_a_budget_or_a_level() {
        let config = |thinking: Value| json!({"generationConfig": {"thinkingConfig": thinking}});
        for (name, effort, params) in [
            (
                "gemini-2.5-pro",
                "off",
                config(json!({"thinkingBudget": 128})),
            ),
            (
                "gemini-2.5-flash",
                "off",
                config(json!({"thinkingBudget": 0})),
            ),
            (
                "gemini-4-argon",
                "max",
                config(json!({"thinkingLevel": "high"})),
            ),
            ("gemini-2.0-flash", "high", Value::Null),
        ] {
            let (_, sent) = sent(name, json!({EFFORT: effort}), "", gemini_effort);
            assert_eq!(sent, params, "{name} {effort}");
        }
    }
}
