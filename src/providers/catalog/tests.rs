use super::custom_providers::FOLDER;
use super::*;
use crate::sys::cancel::Cancel;
use crate::{Completion, CompletionRequest, DeltaSink, model_facts};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A folder for one test, and a catalog that reads its files and these variables.
struct TestFolder {
    root: PathBuf,
}

impl TestFolder {
    fn new() -> Self {
        let name = format!("gosling-catalog-{}", crate::sys::random_hex(8).unwrap());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir_all(root.join(FOLDER)).unwrap();
        TestFolder { root }
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.root.join(name), text).unwrap();
    }

    fn catalog(&self, variables: &[(&str, &str)]) -> ProviderCatalog {
        self.made(variables, false)
    }

    fn made(&self, variables: &[(&str, &str)], offline: bool) -> ProviderCatalog {
        let env = |path: &Path| {
            let variables: HashMap<String, String> = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let get = move |name: &str| variables.get(name).cloned();
            (path.to_owned(), Box::new(get))
        };
        let (config, get) = env(&self.root.join("config.yaml"));
        let config = Config::with_env(config, get);
        let (secrets, get) = env(&self.root.join("secrets.yaml"));
        ProviderCatalog::new(config, Arc::new(Secrets::with_env(secrets, get)), offline)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Whether the build has the protocol of this provider.
fn is_built(name: &str) -> bool {
    let is_built = builtin_providers().any(|spec| spec.name == name);
    // The feature `databricks` is a way to sign in; the provider takes a token without it.
    let expected = name == "databricks" || !crate::features::is_left_out(name);
    assert_eq!(is_built, expected, "{name}");
    is_built
}

fn resolved(catalog: &ProviderCatalog, name: &str) -> Result<Settings, Error> {
    match catalog.find(name)? {
        Found::Builtin(spec) => provider_settings::resolve(spec, catalog.reader()),
        Found::Custom(custom) => custom.resolve(catalog.reader()),
        Found::InProcess(_) => unreachable!("has no settings"),
    }
}

fn header(settings: &Settings, name: &str) -> Option<String> {
    let mut found = settings
        .endpoint
        .headers
        .iter()
        .filter(|(other, _)| other == name);
    found.next().map(|(_, value)| value.clone())
}

#[test]
fn every_provider_is_where_its_vendor_says_and_carries_its_key() {
    let place = TestFolder::new();
    for (name, key, url, carrier) in [
        (
            "openai",
            "OPENAI_API_KEY",
            "https://api.openai.com/v1/chat/completions",
            "Authorization",
        ),
        (
            "anthropic",
            "ANTHROPIC_API_KEY",
            "https://api.anthropic.com",
            "x-api-key",
        ),
        (
            "google",
            "GOOGLE_API_KEY",
            "https://generativelanguage.googleapis.com",
            "x-goog-api-key",
        ),
        (
            "openrouter",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/api/v1/chat/completions",
            "Authorization",
        ),
        (
            "groq",
            "GROQ_API_KEY",
            "https://api.groq.com/openai/v1/chat/completions",
            "Authorization",
        ),
        (
            "mistral",
            "MISTRAL_API_KEY",
            "https://api.mistral.ai/v1/chat/completions",
            "Authorization",
        ),
        (
            "deepseek",
            "DEEPSEEK_API_KEY",
            "https://api.deepseek.com/v1/chat/completions",
            "Authorization",
        ),
        (
            "xai",
            "XAI_API_KEY",
            "https://api.x.ai/v1/chat/completions",
            "Authorization",
        ),
        (
            "together",
            "TOGETHER_API_KEY",
            "https://api.together.xyz/v1/chat/completions",
            "Authorization",
        ),
        (
            "fireworks",
            "FIREWORKS_API_KEY",
            "https://api.fireworks.ai/inference/v1/chat/completions",
            "Authorization",
        ),
        (
            "cerebras",
            "CEREBRAS_API_KEY",
            "https://api.cerebras.ai/v1/chat/completions",
            "Authorization",
        ),
    ]
    .into_iter()
    .filter(|(name, ..)| is_built(name))
    {
        let without = resolved(&place.catalog(&[]), name).err().unwrap();
        assert_eq!(without.class, ErrorClass::Config);
        assert!(without.message.contains(key), "{without}");
        assert!(!place.catalog(&[]).is_configured(name), "{name}");
        let catalog = place.catalog(&[(key, "sk-1")]);
        let settings = resolved(&catalog, name).unwrap();
        assert_eq!(settings.endpoint.url, url);
        let value = header(&settings, carrier).unwrap();
        assert!(value == "sk-1" || value == "Bearer sk-1", "{name}");
        assert!(catalog.is_configured(name));
    }
}

#[test]
fn a_server_of_ones_own_needs_no_key_and_gets_none() {
    let place = TestFolder::new();
    for (name, host) in [
        ("openai", "OPENAI_HOST"),
        ("anthropic", "ANTHROPIC_HOST"),
        ("google", "GOOGLE_HOST"),
        ("groq", "GROQ_HOST"),
    ]
    .into_iter()
    .filter(|(name, _)| is_built(name))
    {
        let own = place.catalog(&[(host, "http://127.0.0.1:9")]);
        let settings = resolved(&own, name).unwrap();
        assert!(
            settings.endpoint.url.starts_with("http://127.0.0.1:9"),
            "{}",
            settings.endpoint.url
        );
        assert!(settings.endpoint.headers.is_empty(), "{name}");
    }
    // The vendor's host without a scheme is still the vendor's.
    let vendor = place.catalog(&[("OPENAI_HOST", "api.openai.com/")]);
    assert!(resolved(&vendor, "openai").is_err());
}

#[test]
fn what_runs_on_this_machine_is_configured_when_somebody_speaks_of_it() {
    let place = TestFolder::new();
    for (name, host) in [("ollama", "OLLAMA_HOST"), ("vllm", "VLLM_HOST")] {
        if !is_built(name) {
            continue;
        }
        assert!(resolved(&place.catalog(&[]), name).is_ok());
        assert!(!place.catalog(&[]).is_configured(name));
        assert!(place.catalog(&[(host, "box")]).is_configured(name));
    }
    assert!(
        place
            .catalog(&[("GOOSE_PROVIDER", "vllm")])
            .is_configured("vllm")
    );
    assert!(
        !place
            .catalog(&[("GOOSE_PROVIDER", "vllm")])
            .is_configured("lmstudio")
    );
}

#[test]
fn settings_of_every_kind_are_heeded() {
    let place = TestFolder::new();
    let catalog = place.catalog(&[
        ("OPENAI_API_KEY", "123456789012345678901234567890"),
        ("OPENAI_HOST", "https://gate.example/v1"),
        ("OPENAI_ORGANIZATION", "org"),
        ("OPENAI_CUSTOM_HEADERS", "X-A=b, X-C=d"),
        ("OPENAI_TIMEOUT", "7"),
    ]);
    let settings = resolved(&catalog, "openai").unwrap();
    assert_eq!(
        settings.endpoint.url,
        "https://gate.example/v1/chat/completions"
    );
    assert_eq!(
        settings.endpoint.models_url,
        "https://gate.example/v1/models"
    );
    assert_eq!(settings.timeout.as_secs(), 7);
    for (name, value) in [
        ("OpenAI-Organization", "org"),
        ("X-A", "b"),
        ("X-C", "d"),
        ("Authorization", "Bearer 123456789012345678901234567890"),
    ] {
        assert_eq!(header(&settings, name).as_deref(), Some(value));
    }
    let object = place.catalog(&[("OPENAI_CUSTOM_HEADERS", r#"{"Authorization": "Basic x"}"#)]);
    let settings = resolved(&object, "openai").unwrap();
    assert_eq!(
        settings.endpoint.headers,
        [("Authorization".to_owned(), "Basic x".to_owned())]
    );

    if !is_built("anthropic") {
        return;
    }
    let token = place.catalog(&[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", "k")]);
    let settings = resolved(&token, "anthropic").unwrap();
    assert_eq!(
        settings.endpoint.headers,
        [("Authorization".to_owned(), "Bearer t".to_owned())]
    );
}

#[test]
fn azure_and_databricks_need_to_be_told_where_they_are() {
    let place = TestFolder::new();
    let error = resolved(&place.catalog(&[]), "azure_openai").err().unwrap();
    assert!(error.message.contains("AZURE_OPENAI_ENDPOINT"), "{error}");
    let error = resolved(
        &place.catalog(&[("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/")]),
        "azure_openai",
    );
    let error = error.err().unwrap();
    assert!(
        error.message.contains("AZURE_OPENAI_DEPLOYMENT_NAME"),
        "{error}"
    );
    let mut variables = vec![
        ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/"),
        ("AZURE_OPENAI_DEPLOYMENT_NAME", "mine"),
    ];
    // Without a key it takes Entra ID, if the build has that.
    match resolved(&place.catalog(&variables), "azure_openai") {
        Ok(settings) => assert!(settings.credentials.is_some()),
        Err(error) => {
            assert!(crate::features::is_left_out("azure"), "{error}");
            assert!(error.message.contains("AZURE_OPENAI_API_KEY"), "{error}");
        }
    }
    variables.push(("AZURE_OPENAI_API_KEY", "k"));
    let settings = resolved(&place.catalog(&variables), "azure_openai").unwrap();
    assert_eq!(
        settings.endpoint.url,
        "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    );
    assert_eq!(
        settings.endpoint.headers,
        [("api-key".to_owned(), "k".to_owned())]
    );

    let databricks = place.catalog(&[
        ("DATABRICKS_HOST", "w.cloud.databricks.com"),
        ("DATABRICKS_TOKEN", "t"),
    ]);
    let settings = resolved(&databricks, "databricks").unwrap();
    assert_eq!(
        settings.endpoint.url,
        "https://w.cloud.databricks.com/serving-endpoints/chat/completions"
    );
}

#[test]
fn a_provider_is_kept_as_long_as_its_settings_stay() {
    let place = TestFolder::new();
    place.file("config.yaml", "OPENAI_HOST: http://127.0.0.1:1\n");
    let catalog = place.catalog(&[]);
    let first = catalog.provider("openai").unwrap();
    assert_eq!(first.name(), "openai");
    assert!(Arc::ptr_eq(&first, &catalog.provider("openai").unwrap()));
    place.file("secrets.yaml", "OPENAI_API_KEY: k\n");
    let second = catalog.provider("openai").unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&second, &catalog.provider("openai").unwrap()));
}

#[test]
fn what_is_not_known_says_what_is() {
    let place = TestFolder::new();
    let error = place.catalog(&[]).provider("nope").err().unwrap();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(
        error
            .message
            .starts_with("Failed to create nope provider: "),
        "{error}"
    );
    let known: Vec<&str> = builtin_providers().map(|spec| spec.name).collect();
    assert!(known.starts_with(&["openai"]), "{known:?}");
    assert!(error.message.contains(&known.join(", ")), "{error}");
}

#[test]
fn offline_only_this_machine_is_asked() {
    let place = TestFolder::new();
    let far = place.made(&[("OPENAI_HOST", "https://far.example")], true);
    let error = far.provider("openai").err().unwrap();
    assert!(error.message.contains("offline"), "{error}");
    let near = place.made(&[("OPENAI_HOST", "http://localhost:1")], true);
    assert!(near.provider("openai").is_ok());
}

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

/// A provider that always fails.
struct Mute;

impl Provider for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn complete(
        &self,
        _: &CompletionRequest<'_>,
        _: &Cancel,
        _: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        Err(Error::new(ErrorClass::Refused, "mute"))
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

#[test]
fn a_provider_that_is_part_of_the_program_stands_beside_the_others() {
    let place = TestFolder::new();
    let catalog = place
        .catalog(&[("GOOSE_PROVIDER", "mute")])
        .with([InProcessProvider {
            name: "mute".into(),
            display_name: "Mute".into(),
            description: "".into(),
            model: "silence".into(),
            make: Box::new(|_| Ok(Arc::new(Mute))),
        }]);
    assert_eq!(catalog.provider("mute").unwrap().name(), "mute");
    assert!(catalog.is_configured("mute"));
    assert_eq!(catalog.known_models("mute"), ["silence"]);
    let entries = catalog.entries();
    assert!(
        entries
            .iter()
            .any(|entry| entry.name == "mute" && entry.is_configured)
    );
    let error = catalog.provider("nope").err().unwrap();
    assert!(error.message.contains(", mute"), "{error}");
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

#[test]
fn the_core_knows_the_names_of_all_keys() {
    use gosling_core::provider::key_names::KEY_NAMES;
    let own = builtin_settings().filter(|setting| setting.is_own_secret());
    let names: std::collections::BTreeSet<&str> = own.map(|setting| setting.name).collect();
    assert!(names.iter().eq(KEY_NAMES), "{names:?}");
}
