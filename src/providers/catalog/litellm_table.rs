//! A table of models from LiteLLM's `model_prices_and_context_window.json`. No I/O.

use super::model_table::{Model, ModelEndpoint, ModelTable};
use crate::model_traits::ModelTraits;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// LiteLLM's names of providers that have another one here.
const NAMES: [(&str, &str); 5] = [
    ("gemini", "google"),
    ("together_ai", "together"),
    ("fireworks_ai", "fireworks"),
    ("dashscope", "alibaba"),
    ("friendliai", "friendli"),
];
/// Fields of which a row of LiteLLM has at least one.
const MARKS: [&str; 2] = ["litellm_provider", "mode"];
/// What OpenAI's rows have as the input of models whose window is that and the output.
const INPUT_ALONE: [u64; 2] = [272_000, 922_000];

/// Whether this is LiteLLM's format.
fn is_litellm(rows: &Map<String, Value>) -> bool {
    let has_marks = |row: &Value| MARKS.iter().all(|mark| row[*mark].is_string());
    !rows.contains_key("format") && rows.values().any(has_marks)
}

/// A table in its own format, or in LiteLLM's, of which the models of the providers that `is_wanted` names are
/// kept. `date` is that of a table that has none.
///
/// # Errors
/// Why it is neither.
pub fn parse_any(
    json: &str,
    date: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<ModelTable, String> {
    if !json.contains("\"litellm_provider\"") {
        return ModelTable::parse(json);
    }
    let rows: Map<String, Value> =
        crate::json::from_str(json).map_err(|error| error.to_string())?;
    if !is_litellm(&rows) {
        return ModelTable::parse(json);
    }
    let mut providers: BTreeMap<String, Vec<Model>> = BTreeMap::new();
    for (key, row) in &rows {
        let theirs = row["litellm_provider"].as_str().unwrap_or_default();
        let renamed = NAMES.iter().find(|(name, _)| *name == theirs);
        let provider = renamed.map_or(theirs, |(_, name)| name);
        if !is_wanted(provider) {
            continue;
        }
        let prefix = format!("{theirs}/");
        if let Some(model) = model(provider, key, row, &prefix) {
            let models = providers.entry(provider.to_owned()).or_default();
            if models.iter().all(|known| known.name != model.name) {
                models.push(model);
            }
        }
    }
    // What is retired comes last.
    for models in providers.values_mut() {
        crate::sorting::sort_by(models, |a, b| a.retired.is_some().cmp(&b.retired.is_some()));
    }
    let table = ModelTable::new(date, "LiteLLM", providers);
    table.check()?;
    Ok(table)
}

/// The model of a row, if it is one for conversations with tools whose limits are known.
fn model(provider: &str, key: &str, row: &Value, prefix: &str) -> Option<Model> {
    let name = key.strip_prefix(prefix).unwrap_or(key);
    let is_responses = match row["mode"].as_str()? {
        "chat" => false,
        "responses" => true,
        _ => return None,
    };
    let has = |field: &str| row[field].as_bool().unwrap_or(false);
    let input = row["max_input_tokens"].as_u64()?;
    let output = row["max_output_tokens"].as_u64();
    if !has("supports_function_calling") || name.starts_with("ft:") {
        return None;
    }
    let window = match output {
        Some(output) if INPUT_ALONE.contains(&input) => input + output,
        _ => input,
    };
    let needs_responses =
        is_responses || (provider == "openai" && ModelTraits::of(name).needs_responses);
    let mut price: Vec<Option<f64>> = [
        "input_cost_per_token",
        "output_cost_per_token",
        "cache_read_input_token_cost",
        "cache_creation_input_token_cost",
    ]
    .iter()
    .map(|field| row[*field].as_f64().map(for_a_million))
    .collect();
    while price.last() == Some(&None) {
        price.pop();
    }
    let text = |field: &str| row[field].as_str().map(str::to_owned);
    let successor = text("successor_model");
    let model = Model {
        name: name.to_owned(),
        window,
        output: output.filter(|output| *output < window),
        endpoint: if needs_responses {
            ModelEndpoint::Responses
        } else {
            ModelEndpoint::Chat
        },
        tools: true,
        images: has("supports_vision"),
        thinking: has("supports_reasoning"),
        price,
        retired: text("deprecation_date"),
        successor: successor.map(|it| it.strip_prefix(prefix).unwrap_or(&it).to_owned()),
    };
    model.check().ok().map(|()| model)
}

/// The price for a million tokens, without what floating point adds.
fn for_a_million(price: f64) -> f64 {
    (price * 1e12).round() / 1e6
}

#[cfg(test)]
mod tests;
