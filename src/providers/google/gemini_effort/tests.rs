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
