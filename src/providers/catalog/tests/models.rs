//! What is known of a provider's models: from the tables, from its lists and from settings.

use super::*;
use crate::model_facts;
use serde_json::json;

#[test]
fn models_are_known_by_their_longest_prefix_and_settings_win() {
    let place = TestFolder::new();
    let catalog = place.catalog(&[]);
    let config = catalog.model_config("openai", "gpt-4o");
    assert_eq!(
        serde_json::to_value(&config).unwrap(),
        json!({"model_name": "gpt-4o", "context_limit": 128000, "temperature": null,
            "max_tokens": null, "toolshim": false, "toolshim_model": null})
    );
    for (provider, model, context, output) in [
        ("openai", "gpt-4o-mini-2024-07-18", 128_000, None),
        ("openai", "gpt-4-0613", 8_192, None),
        (
            "anthropic",
            "claude-sonnet-4-5-20250929",
            200_000,
            Some(64_000),
        ),
        ("anthropic", "claude-opus-4-20250514", 200_000, Some(32_000)),
        ("databricks", "databricks-claude-3-7-sonnet", 200_000, None),
        ("openrouter", "anthropic/claude-sonnet-4.5", 200_000, None),
        // Another provider's list has a model of this name.
        ("vllm", "llama-3.3-70b-versatile", 128_000, None),
        ("litellm", "gpt-4", 128_000, None),
        ("google", "gemini-2.5-pro", 1_048_576, None),
        ("ollama", "qwen3:8b", 40_960, None),
        ("ollama", "unheard-of", 64_000, None),
        ("vllm", "gpt-4onward", 128_000, None),
    ]
    .into_iter()
    .filter(|(provider, ..)| is_built(provider))
    {
        let config = catalog.model_config(provider, model);
        assert_eq!(
            (config.context_limit, config.max_tokens),
            (Some(context), output),
            "{model}"
        );
    }
    let set = place.catalog(&[
        ("GOOSE_CONTEXT_LIMIT", "1000"),
        ("GOOSE_MAX_TOKENS", "10"),
        ("GOOSE_TEMPERATURE", "0.5"),
    ]);
    let config = set.model_config("openai", "gpt-4o");
    assert_eq!(config.context_limit, Some(1000));
    assert_eq!(config.max_tokens, Some(10));
    assert_eq!(config.temperature, Some(0.5));
}

#[test]
fn every_family_has_a_model_and_every_name_is_once() {
    let mut names = std::collections::HashSet::new();
    let (table, _) = TestFolder::new().catalog(&[]).model_table();
    for spec in builtin_providers() {
        let aliases = spec.aliases.iter().copied();
        for name in std::iter::once(spec.name).chain(aliases) {
            assert!(names.insert(name), "{name} is there twice");
        }
        let paths = spec.doc.starts_with("https://") && !spec.settings.is_empty();
        assert!(paths && !spec.title.is_empty(), "{}", spec.name);
        if let [family, ..] = spec.families {
            let models = &table.providers[spec.table_name()];
            let (before, _) = family.split_once('*').unwrap_or((family, ""));
            let default = default_model(models, spec.families, "2026-11-26").unwrap();
            assert!(
                default.name.starts_with(before) || spec.families.len() > 1,
                "{}: {}",
                spec.name,
                default.name
            );
        }
    }
}

#[test]
fn the_newest_model_of_a_family_is_offered_first_and_retired_ones_are_not() {
    let place = TestFolder::new();
    for (provider, first) in [
        ("openai", "gpt-6.1-sol"),
        ("anthropic", "claude-sonnet-5-5"),
        ("google", "gemini-3.8-flash"),
        ("deepseek", "deepseek-v4-flash"),
        ("xai", "grok-build-latest"),
        ("openrouter", "anthropic/claude-sonnet-5.5"),
        ("groq", "openai/gpt-oss-120b"),
        ("databricks", "databricks-claude-sonnet-5-5"),
        ("zhipu", "glm-5.3"),
        ("ollama", "qwen3"),
    ]
    .into_iter()
    .filter(|(provider, _)| is_built(provider))
    {
        let names = place.catalog(&[]).known_models(provider);
        assert_eq!(names[0], first, "{names:?}");
        for gone in ["gpt-4", "o3-mini", "deepseek-chat", "grok-code-fast-1"] {
            assert!(names.iter().all(|name| name != gone), "{names:?}");
        }
    }
}

/// A table with one model of OpenAI, newer than that of the program.
fn newer_table(model: &str) -> String {
    format!(
        r#"{{"format":"gosling-models-1","date":"2126-01-01","source":"test","providers":{{"openai":[{model}]}}}}"#
    )
}

#[test]
fn a_newer_table_of_the_user_replaces_that_of_the_program() {
    let place = TestFolder::new();
    let catalog = place.catalog(&[]).with_data(&place.root);
    assert_eq!(catalog.known_models("openai")[0], "gpt-6.1-sol");
    place.file(
        "models.json",
        &newer_table(r#"{"name":"gpt-9-sol","window":9000000,"price":[1,2,null,3]}"#),
    );
    assert_eq!(catalog.known_models("openai"), ["gpt-9-sol"]);
    let info = catalog
        .model_info("openai", "gpt-9-sol-2126-01-01")
        .unwrap();
    assert_eq!(info.context_limit, 9_000_000);
    assert_eq!(
        (info.cache_read_token_cost, info.cache_write_token_cost),
        (None, Some(3.0))
    );
    assert_eq!(catalog.known_models("groq")[0], "openai/gpt-oss-120b");
    let (table, is_of_program) = catalog.model_table();
    assert_eq!((table.date.as_str(), is_of_program), ("2126-01-01", false));
    for useless in [
        "{",
        &newer_table("{}"),
        &newer_table("").replace("2126", "2000"),
    ] {
        place.file("models.json", useless);
        assert_eq!(
            catalog.known_models("openai")[0],
            "gpt-6.1-sol",
            "{useless}"
        );
    }
}

#[test]
fn a_model_that_is_retired_soon_is_told_with_its_successor() {
    let place = TestFolder::new();
    let catalog = place
        .catalog(&[("OPENAI_API_KEY", "k")])
        .with_data(&place.root);
    for (retired, successor, told) in [
        (
            "2001-02-03",
            r#","successor":"gpt-9""#,
            Some("OpenAI has retired the model m on 2001-02-03; its successor is gpt-9."),
        ),
        ("2120-02-03", "", None),
    ] {
        let model = format!(r#"{{"name":"m","window":1,"retired":"{retired}"{successor}}}"#);
        place.file("models.json", &newer_table(&model));
        assert_eq!(catalog.retirement("openai", "m").as_deref(), told);
    }
    let soon = current_table::soon();
    let model = format!(r#"{{"name":"m","window":1,"retired":"{soon}"}}"#);
    place.file("models.json", &newer_table(&model));
    assert_eq!(
        catalog.retirement("openai", "m-2").unwrap(),
        format!("OpenAI retires the model m-2 on {soon}; choose another model.")
    );
    assert_eq!(catalog.retirement("groq", "m"), None);
    assert_eq!(catalog.retirement("nope", "m"), None);
    let own = place.catalog(&[("OPENAI_HOST", "http://127.0.0.1:9")]);
    assert_eq!(own.with_data(&place.root).retirement("openai", "m"), None);
}

#[test]
fn what_a_provider_lists_beats_the_table_and_is_known_after_a_restart() {
    let place = TestFolder::new();
    let variables = [("OPENAI_HOST", "http://127.0.0.1:9")];
    let catalog = place.catalog(&variables).with_data(&place.root);
    let facts = |catalog: &ProviderCatalog, url: &str| ProviderFacts {
        all: catalog.facts.clone(),
        provider: "openai".to_owned(),
        table: "openai".to_owned(),
        url: url.to_owned(),
    };
    let list = br#"{"data":[{"id":"gpt-4o","context_window":5000,"max_completion_tokens":50},
        {"id":"new","context_length":7000}]}"#;
    catalog.provider("openai").unwrap();
    let url = catalog.url("openai").unwrap();
    model_facts::ModelFacts::learn(&facts(&catalog, &url), list);
    for catalog in [&catalog, &place.catalog(&variables).with_data(&place.root)] {
        let info = catalog.model_info("openai", "gpt-4o").unwrap();
        assert_eq!(
            (info.context_limit, info.max_output_tokens),
            (5000, Some(50))
        );
        assert_eq!(info.input_token_cost, Some(2.5));
        assert_eq!(
            catalog.model_config("openai", "new").context_limit,
            Some(7000)
        );
        assert_eq!(
            catalog.model_config("groq", "new").context_limit,
            Some(DEFAULT_CONTEXT)
        );
    }
    let elsewhere = place.catalog(&[("OPENAI_HOST", "http://127.0.0.1:8")]);
    let elsewhere = elsewhere.with_data(&place.root);
    elsewhere.provider("openai").unwrap();
    assert_eq!(
        elsewhere.model_config("openai", "new").context_limit,
        Some(DEFAULT_CONTEXT)
    );
}
