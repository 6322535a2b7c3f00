//! Providers that are described by a file of the user.

use super::*;

#[test]
fn providers_of_the_user_are_used_and_broken_files_are_passed_over() {
    let place = TestFolder::new();
    let file = |name: &str, text: &str| place.file(&format!("{FOLDER}/{name}"), text);
    file(
        "a.json",
        r#"{"name": "mine", "engine": "openai", "display_name": "Mine", "api_key_env": "MINE_KEY",
        "base_url": "https://mine.example/v1", "models": [{"name": "m1", "context_limit": 77, "max_tokens": 7}],
        "headers": {"X-A": "b"}, "timeout_seconds": 3}"#,
    );
    file(
        "b.json",
        r#"{"name": "local", "engine": "ollama", "display_name": "Local", "api_key_env": "",
        "base_url": "http://localhost", "models": []}"#,
    );
    file("c.json", "{");
    file(
        "d.json",
        r#"{"name": "openai", "engine": "openai", "display_name": "Thief", "base_url": "https://thief.example"}"#,
    );
    file("e.txt", "no provider");
    let catalog = place.catalog(&[]);
    let customs: Vec<ProviderDetails> = catalog
        .entries()
        .into_iter()
        .filter(|entry| entry.provider_type == ProviderType::Custom)
        .collect();
    let names: Vec<&str> = customs.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["mine", "local"]);
    assert_eq!(customs[0].metadata.config_keys[0].name, "MINE_KEY");
    assert!(!customs[0].is_configured);
    assert_eq!(customs[1].is_configured, is_built("ollama"));
    assert!(
        catalog
            .provider("mine")
            .err()
            .unwrap()
            .message
            .contains("MINE_KEY")
    );
    match resolved(&catalog, "local") {
        Ok(local) => assert_eq!(local.endpoint.url, "http://localhost:11434"),
        Err(error) => assert!(!is_built("ollama"), "{error}"),
    }
    assert_eq!(catalog.model_config("mine", "m1").context_limit, Some(77));
    assert_eq!(catalog.model_config("mine", "m1").max_tokens, Some(7));
    assert_eq!(catalog.model_config("mine", "gpt-4o-mini").max_tokens, None);
    assert_eq!(catalog.model_info("mine", "gpt-4o-mini"), None);

    let settings = resolved(&place.catalog(&[("MINE_KEY", "k")]), "mine").unwrap();
    assert_eq!(
        settings.endpoint.url,
        "https://mine.example/v1/chat/completions"
    );
    assert_eq!(settings.timeout.as_secs(), 3);
    assert_eq!(
        header(&settings, "Authorization").as_deref(),
        Some("Bearer k")
    );
    assert_eq!(header(&settings, "X-A").as_deref(), Some("b"));
}

#[test]
fn a_file_without_end_and_files_without_number_do_no_harm() {
    let place = TestFolder::new();
    let file = |name: &str, text: &str| place.file(&format!("{FOLDER}/{name}"), text);
    let provider = |name: &str, rest: &str| {
        format!(
            r#"{{"name": "{name}", "engine": "openai", "display_name": "X", "base_url": "http://h"{rest}}}"#
        )
    };
    file("endless.json", &provider("endless", &" ".repeat(2 << 20)));
    for n in 0..200 {
        file(&format!("{n}.json"), &provider(&format!("p{n}"), ""));
    }
    let entries = place.catalog(&[]).entries();
    assert!(
        entries.len() <= builtin_providers().count() + 128,
        "{}",
        entries.len()
    );
    assert!(entries.iter().all(|entry| entry.name != "endless"));
}

#[test]
fn a_file_of_the_user_takes_the_place_of_a_host_of_its_name_and_aliases_yield() {
    let place = TestFolder::new();
    let file = |name: &str| {
        place.file(
            &format!("{FOLDER}/{name}.json"),
            &format!(
                r#"{{"name": "{name}", "engine": "openai", "display_name": "Own", "base_url": "http://own.example"}}"#
            ),
        );
    };
    let catalog = place.catalog(&[("DEEPSEEK_API_KEY", "k"), ("ZHIPU_API_KEY", "z")]);
    let url = |name: &str| resolved(&catalog, name).unwrap().endpoint.url;
    assert_eq!(
        url("custom_deepseek"),
        "https://api.deepseek.com/v1/chat/completions"
    );
    assert_eq!(
        url("zhipu"),
        "https://open.bigmodel.cn/api/paas/v4/chat/completions"
    );
    file("custom_deepseek");
    file("zhipu");
    for name in ["custom_deepseek", "zhipu"] {
        assert_eq!(url(name), "http://own.example/v1/chat/completions");
        let entries = catalog.entries().into_iter();
        assert_eq!(entries.filter(|entry| entry.name == name).count(), 1);
    }
}

#[test]
fn files_have_the_fields_of_todays_goose() {
    let place = TestFolder::new();
    place.file(
        &format!("{FOLDER}/a.json"),
        r#"{"name": "a", "engine": "openai", "display_name": "A", "api_key_env": "", "models": [{"name": "m"}],
        "base_url": "${A_HOST}/x", "base_path": "y/chat/completions", "dynamic_models": false,
        "env_vars": [{"name": "A_HOST", "required": true, "secret": false, "default": "http://h"}],
        "catalog_provider_id": "anthropic", "skip_canonical_filtering": true, "preserves_thinking": false,
        "model_doc_link": null, "setup_steps": [], "fast_model": null, "toolshim": false, "setup": null}"#,
    );
    let default = resolved(&place.catalog(&[]), "a").unwrap();
    assert_eq!(default.endpoint.url, "http://h/x/y/chat/completions");
    assert!(!default.endpoint.reasoning_if_any);
    let catalog = place.catalog(&[("A_HOST", "https://set.example/")]);
    let set = resolved(&catalog, "a").unwrap();
    assert_eq!(set.endpoint.url, "https://set.example/x/y/chat/completions");
    assert!(!catalog.lists_models("a").unwrap());
    let info = catalog.model_info("a", "claude-sonnet-5-5").unwrap();
    assert_eq!(info.max_output_tokens, Some(128_000));
    let file = |name: &str, rest: &str| {
        let text =
            format!(r#"{{"name": "{name}", "engine": "openai", "display_name": "B", {rest}}}"#);
        place.file(&format!("{FOLDER}/{name}.json"), &text);
        resolved(&catalog, name)
    };
    assert!(
        file("b", r#""base_url": "http://b""#)
            .unwrap()
            .endpoint
            .reasoning_if_any
    );
    let unset = r#""base_url": "${B_HOST}", "env_vars": [{"name": "B_HOST"}]"#;
    let error = file("c", unset).err().unwrap();
    assert!(
        error.message.contains("B_HOST, which is not set"),
        "{error}"
    );
    let strange =
        r#""base_url": "${A_HOST}", "env_vars": [{"name": "A_HOST", "default": "file:///"}]"#;
    assert!(file("d", strange).is_ok());
    let unknown = file("e", r#""base_url": "${UNDECLARED}""#).err().unwrap();
    assert!(unknown.message.contains("http://"), "{unknown}");
}
