//! How much a model thinks before it answers: what the user wants, in the words of each protocol and family of
//! models. No I/O.
//!
//! The user's own parameters of a request come before these.

use super::ModelConfig;
use super::model_traits::{ModelTraits, claude_version};
use crate::store::{Config, settings};
use gosling_core::provider::thinking_effort::{EFFORT, EFFORTS};
use serde_json::{Map, Value, json};

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effort {
    Off,
    Low,
    Medium,
    High,
    Max,
}

impl Effort {
    fn named(name: &str) -> Option<Self> {
        let all = [
            Effort::Off,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Max,
        ];
        let at = EFFORTS
            .iter()
            .position(|known| name.eq_ignore_ascii_case(known))?;
        Some(all[at])
    }

    /// The middle efforts by name; the others as `off` and `max`.
    pub(super) fn word(self, off: &'static str, max: &'static str) -> &'static str {
        match self {
            Effort::Off => off,
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => max,
        }
    }
}

/// The parameters with which Goose's settings for Claude ask it to think.
pub(super) fn claude_params(config: &Config, provider: &str, model: &str) -> Map<String, Value> {
    let mut params = Map::new();
    let version = claude_version(model);
    let asks = provider == "anthropic" && settings::CLAUDE_THINKING_ENABLED.is_on(config);
    if asks && version >= (3, 7) {
        let budget = settings::CLAUDE_THINKING_BUDGET.count(config);
        let thinking = if version >= (4, 6) {
            json!({"type": "adaptive"})
        } else {
            json!({"type": "enabled", "budget_tokens": budget})
        };
        params.insert("thinking".to_owned(), thinking);
    }
    params
}

/// The parameters of a protocol for this effort; none if the model has no such thing.
pub(super) type EffortParams = fn(url: &str, model: &str, effort: Effort) -> Value;

/// The model as requests name it, with the parameters for its effort: from the parameter [`EFFORT`], or from the
/// name, as `high` in `o3-mini-high`. `None` if it stays as it is.
pub(super) fn applied(model: &ModelConfig, url: &str, params: EffortParams) -> Option<ModelConfig> {
    let given = model.request_params.as_ref();
    let wanted = given.and_then(|given| given.get(EFFORT));
    let in_name = in_name(&model.model_name);
    if wanted.is_none() && in_name.is_none() {
        return None;
    }
    let mut changed = model.clone();
    let mut effort = wanted.and_then(Value::as_str).and_then(Effort::named);
    if let Some((name, of_name)) = in_name {
        changed.model_name = name.to_owned();
        effort = effort.or(Some(of_name));
    }
    let mut all = match effort.map(|effort| params(url, &changed.model_name, effort)) {
        Some(Value::Object(all)) => all,
        _ => Map::new(),
    };
    all.extend(model.request_params.clone().unwrap_or_default());
    all.remove(EFFORT);
    changed.request_params = Some(all).filter(|all| !all.is_empty());
    Some(changed)
}

/// The effort at the end of the name of a reasoning model of OpenAI, and the name without it.
fn in_name(model: &str) -> Option<(&str, Effort)> {
    let (name, word) = model.rsplit_once('-')?;
    let effort = Effort::named(word)
        .filter(|it| matches!(word, "low" | "medium" | "high") && *it != Effort::Off)?;
    ModelTraits::of(name).reasons.then_some((name, effort))
}

/// OpenAI's protocols: <https://platform.openai.com/docs/guides/reasoning>,
/// <https://openrouter.ai/docs/use-cases/reasoning-tokens>
pub(super) fn openai(url: &str, model: &str, effort: Effort) -> Value {
    if url.contains("openrouter.ai/") {
        return match effort {
            Effort::Off => json!({"reasoning": {"enabled": false}}),
            effort => json!({"reasoning": {"effort": effort.word("", "xhigh")}}),
        };
    }
    let traits = ModelTraits::of(model);
    if url.contains("api.openai.com/") && !traits.reasons {
        return Value::Null;
    }
    let word = match traits.gpt {
        Some((5, 0)) => effort.word("minimal", "high"),
        Some((5, 1)) => effort.word("none", "high"),
        Some(_) => effort.word("none", "xhigh"),
        // The first reasoning models always think; servers of other models differ.
        None if traits.reasons => effort.word("low", "high"),
        None => effort.word("none", "high"),
    };
    json!({"reasoning_effort": word})
}

#[cfg(test)]
pub(super) mod tests;
