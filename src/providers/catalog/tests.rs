mod models;
mod provider_files;

use super::custom_providers::FOLDER;
use super::*;
use crate::sys::cancel::Cancel;
use crate::{Completion, CompletionRequest, DeltaSink};
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
fn the_core_knows_the_names_of_all_keys() {
    use gosling_core::provider::key_names::KEY_NAMES;
    let own = builtin_settings().filter(|setting| setting.is_own_secret());
    let names: std::collections::BTreeSet<&str> = own.map(|setting| setting.name).collect();
    assert!(names.iter().eq(KEY_NAMES), "{names:?}");
}
