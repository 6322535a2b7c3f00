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
mod tests {
    use super::*;
    use crate::thinking_effort::tests::sent;
    use gosling_core::provider::thinking_effort::EFFORT;

    #[test]
    fn a_model_thinks_or_not() {
        for (name, effort, think) in [
            ("gpt-oss:20b", "max", json!("high")),
            ("qwen3", "low", json!(true)),
            ("qwen3", "off", json!(false)),
        ] {
            let (_, sent) = sent(name, json!({EFFORT: effort}), "", ollama_effort);
            assert_eq!(sent, json!({"think": think}), "{name} {effort}");
        }
    }
}
