//! The limits of models in a server's list of models; each server has names of its own for them. No I/O.

use serde::Deserialize;
use serde_json::Value;

/// The most models of one list whose limits are kept.
pub(super) const MAX_LISTED: usize = 2_000;
/// The longest name of such a model, in bytes.
const MAX_NAME: usize = 256;
/// The largest limit that makes sense, in tokens.
const MAX_TOKENS: u64 = 1 << 32;
/// The members with the window in a model of a list, the one of the running server first. Anthropic, OpenRouter and
/// Together, Groq, Mistral and LM Studio, vLLM, Gemini, llama.cpp.
const WINDOWS: [&str; 10] = [
    "/meta/n_ctx",
    "/loaded_context_length",
    "/top_provider/context_length",
    "/max_model_len",
    "/max_input_tokens",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/inputTokenLimit",
    "/limits/max_context_window_tokens",
];
/// The members with the limit on output.
const OUTPUTS: [&str; 4] = [
    "/top_provider/max_completion_tokens",
    "/max_completion_tokens",
    "/outputTokenLimit",
    // Of Anthropic.
    "/max_tokens",
];

/// The limits of a model, as far as its server tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedLimits {
    pub(super) window: u64,
    pub(super) output: Option<u64>,
}

/// The models in the body of a list that have limits there.
pub(super) fn listed_limits(body: &[u8]) -> Vec<(String, ListedLimits)> {
    #[derive(Deserialize)]
    struct List {
        #[serde(alias = "models")]
        data: Vec<Value>,
    }
    let models = crate::json::from_slice::<List>(body).map(|list| list.data);
    let models = models.or_else(|_| crate::json::from_slice::<Vec<Value>>(body));
    let models = models.unwrap_or_default();
    models.iter().filter_map(limits).take(MAX_LISTED).collect()
}

fn limits(model: &Value) -> Option<(String, ListedLimits)> {
    let name = model["id"].as_str().or_else(|| model["name"].as_str())?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    if name.is_empty() || name.len() > MAX_NAME {
        return None;
    }
    let first = |places: &[&str]| {
        let found = places.iter().filter_map(|at| model.pointer(at)?.as_u64());
        found
            .into_iter()
            .find(|tokens| (1..=MAX_TOKENS).contains(tokens))
    };
    let window = first(&WINDOWS)?;
    let output = first(&OUTPUTS).filter(|output| *output <= window);
    Some((name.to_owned(), ListedLimits { window, output }))
}

#[cfg(test)]
mod tests;
