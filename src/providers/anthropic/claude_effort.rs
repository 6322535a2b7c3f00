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
mod tests;
