use super::*;
use crate::thinking_effort::tests::sent;
use gosling_core::provider::thinking_effort::EFFORT;

#[test]
fn claude_has_an_effort_or_a_budget() {
    for (name, effort, params) in [
        ("claude-3-5-haiku", "high", Value::Null),
        (
            "claude-sonnet-4-5",
            "low",
            json!({"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        ),
        ("claude-sonnet-4-5", "off", Value::Null),
        (
            "claude-opus-4-7",
            "max",
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
        ),
        (
            "claude-opus-5",
            "off",
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            "claude-fable-5",
            "off",
            json!({"output_config": {"effort": "low"}}),
        ),
        (
            "claude-fable-5-1",
            "high",
            json!({"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
                "output_config": {"effort": "high"}}),
        ),
        (
            "deepseek-v4",
            "high",
            json!({"thinking": {"type": "enabled"}}),
        ),
    ] {
        let (_, sent) = sent(name, json!({EFFORT: effort}), "", claude_effort);
        assert_eq!(sent, params, "{name} {effort}");
    }
}
