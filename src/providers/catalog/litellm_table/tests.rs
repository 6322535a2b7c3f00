use super::*;

#[test]
fn rows_of_litellm_become_a_table() {
    let json = r#"{
        "sample_spec": {"mode": "one of: chat", "litellm_provider": "one of"},
        "gpt-7": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 922000,
            "max_output_tokens": 128000, "supports_function_calling": true, "supports_reasoning": true,
            "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
            "deprecation_date": "2027-01-01", "successor_model": "gpt-8"},
        "gemini/gemini-9": {"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 10,
            "supports_function_calling": true, "supports_vision": true},
        "other/x": {"litellm_provider": "other", "mode": "chat", "max_input_tokens": 10,
            "supports_function_calling": true},
        "gpt-image": {"litellm_provider": "openai", "mode": "image_generation"},
        "broken": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": "many"}
    }"#;
    let table = parse_any(json, "2026-11-26", |name| name != "other").unwrap();
    let names: Vec<&str> = table.providers.keys().map(String::as_str).collect();
    assert_eq!(names, ["google", "openai"]);
    let gpt = &table.providers["openai"][0];
    assert_eq!((gpt.window, gpt.output), (1_050_000, Some(128_000)));
    assert_eq!(gpt.endpoint, ModelEndpoint::Responses);
    assert_eq!(gpt.price, [Some(2.5), Some(10.0)]);
    assert_eq!(gpt.successor.as_deref(), Some("gpt-8"));
    assert_eq!(table.providers["google"][0].name, "gemini-9");
    let error = parse_any(r#"{"a": {"litellm_provider": 1}"#, "2026-11-26", |_| true);
    assert!(error.unwrap_err().contains("line 1 column"));
    let nothing = parse_any(json, "2026-11-26", |_| false).unwrap_err();
    assert_eq!(nothing, "it has no models");
}
