//! How much a model of Ollama thinks. No I/O.

use crate::thinking_effort::Effort;
use serde_json::{Value, json};

/// The parameters for this effort: <https://docs.ollama.com/capabilities/thinking>
pub(super) fn ollama_effort(_: &str, model: &str, effort: Effort) -> Value {
    match model.contains("gpt-oss") {
        true => json!({"think": effort.word("low", "high")}),
        false => json!({"think": effort != Effort::Off}),
    }
}

#[cfg(test)]
mod tests;
