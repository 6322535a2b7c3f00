use super::*;

#[test]
fn a_file_of_goose_is_understood() {
    let custom = CustomProvider::parse(
        br#"{"name": "custom_x", "engine": "openai", "display_name": "X", "description": null,
                "api_key_env": "CUSTOM_X_API_KEY", "base_url": "https://x.example/v1",
                "models": [{"name": "m", "context_limit": 5, "currency": null}, {"name": "n"}],
                "headers": {"A": "b"}, "timeout_seconds": null, "supports_streaming": false,
                "later": 1}"#,
    )
    .unwrap();
    assert_eq!(custom.models[0].context_limit, 5);
    assert_eq!(custom.models[1].context_limit, 128_000);
    assert!(custom.requires_key());
}

#[test]
fn what_makes_no_provider_is_refused_with_a_reason() {
    let file = |name: &str, engine: &str, url: &str| {
        format!(
            r#"{{"name": "{name}", "engine": "{engine}", "display_name": "X", "base_url": "{url}"}}"#
        )
    };
    assert!(CustomProvider::parse(file("a", "openai", "http://h").as_bytes()).is_ok());
    for bad in [
        file("", "openai", "http://h"),
        file("../a", "openai", "http://h"),
        file(&"a".repeat(129), "openai", "http://h"),
        file("a", "generic_http", "http://h"),
        file("a", "openai", "file:///etc"),
        file("a", "openai", &format!("http://{}", "h".repeat(5000))),
        "[]".to_owned(),
        "{".to_owned(),
    ] {
        assert!(CustomProvider::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}
