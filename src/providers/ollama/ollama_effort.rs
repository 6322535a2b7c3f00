//! How much a model of Ollama thinks. No I/O.

use crate::thinking_effort::Effort;
use serde_json::{Value, json};

/// The parameters for this effort: <https://docs.ollama.com/capabilities/thinking>
pub(super) fn ollama_effort(_: &str, model: &str, effort: Effort) -> Value {
    if model.contains("gpt-oss") {
        json!({"think": effort.word("low", "high")})
    } else {
        json!({"think": effort != Effort::Off})
    }
}

#[cfg(test)]
mod tests;
