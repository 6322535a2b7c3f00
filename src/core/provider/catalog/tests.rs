use super::*;
use crate::provider::{Completion, CompletionRequest, DeltaSink};
use crate::sys::cancel::Cancel;
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

    fn catalog(&self, variables: &[(&str, &str)]) -> Catalog {
        self.made(variables, false)
    }

    fn made(&self, variables: &[(&str, &str)], offline: bool) -> Catalog {
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
        Catalog::new(config, Arc::new(Secrets::with_env(secrets, get)), offline)
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
    assert_ne!(is_built, features::is_left_out(name), "{name}");
    is_built
}

fn resolved(catalog: &Catalog, name: &str) -> Result<Settings, Error> {
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
    let error = resolved(&place.catalog(&variables), "azure_openai")
        .err()
        .unwrap();
    assert!(error.message.contains("AZURE_OPENAI_API_KEY"), "{error}");
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
        ("ollama", "qwen3:8b", 32_768, None),
        ("ollama", "unheard-of", 32_768, None),
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
            name: "mute",
            display_name: "Mute",
            description: "",
            model: "silence",
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
fn every_default_model_is_known_and_every_name_is_once() {
    let mut names = std::collections::HashSet::new();
    for spec in builtin_providers() {
        assert!(names.insert(spec.name), "{} is there twice", spec.name);
        let known = spec
            .models
            .iter()
            .any(|model| model.name == spec.default_model);
        assert!(known || spec.models.is_empty(), "{}", spec.name);
        let paths = spec.doc.starts_with("https://") && !spec.settings.is_empty();
        assert!(paths && !spec.title.is_empty(), "{}", spec.name);
    }
}

#[test]
fn models_that_cannot_be_asked_are_not_offered() {
    let names = TestFolder::new().catalog(&[]).known_models("openai");
    assert!(names.iter().any(|name| name == "gpt-5"), "{names:?}");
    assert!(
        names.iter().all(|name| !name.contains("codex")),
        "{names:?}"
    );
}
