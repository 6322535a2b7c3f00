use super::*;

fn model(name: &str, params: Value) -> ModelConfig {
    ModelConfig {
        model_name: name.to_owned(),
        request_params: crate::json::from_value(&params).unwrap(),
        ..ModelConfig::default()
    }
}

/// The name of the model and the parameters of a request.
pub(crate) fn sent(
    name: &str,
    params: Value,
    url: &str,
    protocol: EffortParams,
) -> (String, Value) {
    let model = model(name, params);
    let sent = applied(&model, url, protocol).unwrap_or(model);
    (sent.model_name, json!(sent.request_params))
}

#[test]
fn openai_has_an_effort() {
    let url = "https://api.openai.com/v1/chat/completions";
    for (name, effort, word) in [
        ("gpt-5", "off", "minimal"),
        ("gpt-5", "max", "high"),
        ("gpt-5.1", "off", "none"),
        ("gpt-6-astra", "max", "xhigh"),
        ("o3", "off", "low"),
        ("o3", "HIGH", "high"),
    ] {
        let (_, params) = sent(name, json!({EFFORT: effort}), url, openai);
        assert_eq!(params, json!({"reasoning_effort": word}), "{name} {effort}");
    }
    let none = sent("gpt-4o", json!({EFFORT: "high"}), url, openai);
    assert_eq!(none.1, Value::Null);
    let router = "https://openrouter.ai/api/v1/chat/completions";
    let routed = sent(
        "anthropic/claude-opus-5",
        json!({EFFORT: "low"}),
        router,
        openai,
    );
    assert_eq!(routed.1, json!({"reasoning": {"effort": "low"}}));
}

#[test]
fn a_name_may_end_with_the_effort() {
    let url = "https://h/v1/chat/completions";
    for (name, sent_name, effort) in [
        ("o3-mini-high", "o3-mini", Some("high")),
        ("gpt-5.1-low", "gpt-5.1", Some("low")),
        ("gpt-4o-high", "gpt-4o-high", None),
        ("qwen-low", "qwen-low", None),
        ("o3-mini", "o3-mini", None),
        ("gpt-5-max", "gpt-5-max", None),
    ] {
        let expected = effort.map(|effort| json!({"reasoning_effort": effort}));
        let (name, params) = sent(name, Value::Null, url, openai);
        assert_eq!((&*name, params), (sent_name, json!(expected)));
    }
    let both = sent("o3-mini-high", json!({EFFORT: "low"}), url, openai);
    assert_eq!(both.1, json!({"reasoning_effort": "low"}));
}

#[test]
fn the_users_own_parameters_come_first() {
    let params = json!({EFFORT: "high", "reasoning_effort": "low", "seed": 1});
    let (_, params) = sent("gpt-5", params, "https://h/", openai);
    assert_eq!(params, json!({"reasoning_effort": "low", "seed": 1}));
    // A word that is none is not sent.
    let (_, params) = sent("gpt-5", json!({EFFORT: "lots"}), "https://h/", openai);
    assert_eq!(params, Value::Null);
}
