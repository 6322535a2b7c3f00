//! How much Claude thinks. No I/O.

use crate::model_traits::{ModelTraits, claude_version};
use crate::thinking_effort::Effort;
use serde_json::{Value, json};

/// The parameters for this effort: <https://platform.claude.com/docs/en/build-with-claude/effort>, and a budget for
/// the models before it.
pub(crate) fn claude_effort(_: &str, model: &str, effort: Effort) -> Value {
    let name = model.rsplit('/').next().unwrap_or_default();
    let Some(at) = name.find("claude-") else {
        let kind = if effort == Effort::Off {
            "disabled"
        } else {
            "enabled"
        };
        return json!({"thinking": {"type": kind}});
    };
    let version = claude_version(&name[at..]);
    // A name without a number means the newest.
    if version >= (4, 6) || version == (0, 0) {
        let always_thinks = name.contains("fable") || name.contains("mythos");
        return match effort {
            Effort::Off if always_thinks => json!({"output_config": {"effort": "low"}}),
            Effort::Off => json!({"thinking": {"type": "disabled"}}),
            effort => {
                let mut thinking = json!({"type": "adaptive"});
                if ModelTraits::of(model).can_drop_thinking {
                    thinking["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
                }
                json!({"thinking": thinking, "output_config": {"effort": effort.word("", "max")}})
            }
        };
    }
    let budget = match effort {
        Effort::Off => 0,
        Effort::Low => 4_096,
        Effort::Medium => 16_384,
        Effort::High => 32_768,
        Effort::Max => 49_152,
    };
    match budget {
        1.. if version >= (3, 7) => {
            json!({"thinking": {"type": "enabled", "budget_tokens": budget}})
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
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
}
