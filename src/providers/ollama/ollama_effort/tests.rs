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
