//! The builtin table of providers.

use super::known_models::{
    CEREBRAS, DATABRICKS, DEEPSEEK, FIREWORKS, GROQ, MISTRAL, OPENAI, OPENROUTER, TOGETHER, XAI,
};
use super::vendor_settings;
use crate::features;
use crate::provider::provider_spec::{
    InProcessProvider, ProviderSpec, Setting, SettingRole, host, hosted, key, optional_key, path,
    setting, timeout,
};
use crate::provider::wire_protocol::WireProtocol;
use crate::provider::{Error, ErrorClass, openai};

/// The vendors of the wire protocols of this build, in the order in which clients show them.
static VENDORS: &[&ProviderSpec] = &[
    &openai::VENDOR,
    #[cfg(feature = "anthropic")]
    &crate::provider::anthropic::VENDOR,
    #[cfg(feature = "ollama")]
    &crate::provider::ollama::VENDOR,
    #[cfg(feature = "google")]
    &crate::provider::google::VENDOR,
    #[cfg(feature = "bedrock")]
    &crate::provider::bedrock::VENDOR,
    #[cfg(feature = "vertex")]
    &crate::provider::vertex::VENDOR,
];

/// The providers of this build that are part of the program.
pub fn in_process_providers() -> impl Iterator<Item = InProcessProvider> {
    let makers: &[fn() -> InProcessProvider] = &[
        #[cfg(feature = "scripted")]
        crate::provider::scripted::scripted,
    ];
    makers.iter().map(|make| make())
}

/// The wire protocol of this name.
///
/// # Errors
/// [`ErrorClass::Config`] when the build leaves it out.
pub(super) fn protocol_named(name: &str) -> Result<&'static WireProtocol, Error> {
    // A file has no credentials but a key.
    let keyed = VENDORS.iter().filter(|vendor| vendor.credentials.is_none());
    let keyed = keyed.map(|vendor| vendor.protocol);
    let mut protocols = keyed.chain([&openai::RESPONSES_PROTOCOL]);
    let found = protocols.find(|protocol| protocol.name == name);
    found.ok_or_else(|| {
        let hint = features::hint(name);
        let reason = format!("the protocol `{name}` is not available{hint}");
        Error::new(ErrorClass::Config, reason)
    })
}

/// The providers whose protocol this build contains, in the order in which clients show them.
pub(super) fn builtin_providers() -> impl Iterator<Item = &'static ProviderSpec> {
    VENDORS.iter().copied().chain(COMPATIBLE)
}

/// The settings of all providers. Those that the build leaves out count, because a configuration may hold their
/// keys.
pub(super) fn builtin_settings() -> impl Iterator<Item = &'static Setting> {
    let vendors = std::iter::once(openai::VENDOR.settings).chain(vendor_settings::ALL);
    vendors
        .chain(COMPATIBLE.iter().map(|spec| spec.settings))
        .flatten()
}

/// The other providers that speak OpenAI's protocol.
static COMPATIBLE: &[ProviderSpec] = &[
    ProviderSpec {
        name: "openrouter",
        title: "OpenRouter",
        description: "Models of many vendors with one key",
        preferred: true,
        default_model: "anthropic/claude-sonnet-4.5",
        models: OPENROUTER,
        doc: "https://openrouter.ai/models",
        settings: &[
            key("OPENROUTER_API_KEY"),
            host("OPENROUTER_HOST", "https://openrouter.ai"),
            path("OPENROUTER_BASE_PATH", "api/v1/chat/completions"),
            timeout("OPENROUTER_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "groq",
        title: "Groq",
        description: "Open models, answered fast",
        default_model: "openai/gpt-oss-120b",
        models: GROQ,
        doc: "https://console.groq.com/docs/models",
        settings: &[
            key("GROQ_API_KEY"),
            host("GROQ_HOST", "https://api.groq.com"),
            path("GROQ_BASE_PATH", "openai/v1/chat/completions"),
            timeout("GROQ_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "mistral",
        title: "Mistral AI",
        description: "Mistral, Codestral and Devstral models",
        // It always counts, and refuses the option.
        counts_on_request: false,
        default_model: "mistral-medium-latest",
        models: MISTRAL,
        doc: "https://docs.mistral.ai/getting-started/models",
        settings: &[
            key("MISTRAL_API_KEY"),
            host("MISTRAL_HOST", "https://api.mistral.ai"),
            timeout("MISTRAL_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "deepseek",
        title: "DeepSeek",
        description: "DeepSeek's chat and reasoning models",
        wants_reasoning: true,
        default_model: "deepseek-chat",
        models: DEEPSEEK,
        doc: "https://api-docs.deepseek.com/quick_start/pricing",
        settings: &[
            key("DEEPSEEK_API_KEY"),
            host("DEEPSEEK_HOST", "https://api.deepseek.com"),
            timeout("DEEPSEEK_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "xai",
        title: "xAI",
        description: "Grok models",
        default_model: "grok-code-fast-1",
        models: XAI,
        doc: "https://docs.x.ai/docs/models",
        settings: &[
            key("XAI_API_KEY"),
            host("XAI_HOST", "https://api.x.ai"),
            timeout("XAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "azure_openai",
        title: "Azure OpenAI",
        description: "OpenAI's models as deployed in one's own Azure resource",
        lists_models: false,
        default_model: "gpt-4o",
        models: OPENAI,
        doc: "https://learn.microsoft.com/azure/ai-services/openai/concepts/models",
        settings: &[
            setting("AZURE_OPENAI_ENDPOINT", SettingRole::Host)
                .required()
                .primary(),
            setting("AZURE_OPENAI_DEPLOYMENT_NAME", SettingRole::Deployment)
                .required()
                .primary(),
            setting("AZURE_OPENAI_API_VERSION", SettingRole::ApiVersion)
                .required()
                .or("2024-10-21"),
            setting("AZURE_OPENAI_API_KEY", SettingRole::KeyHeader("api-key"))
                .required()
                .primary(),
            timeout("AZURE_OPENAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "together",
        title: "Together AI",
        description: "Open models, hosted",
        default_model: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
        models: TOGETHER,
        doc: "https://docs.together.ai/docs/serverless-models",
        settings: &[
            key("TOGETHER_API_KEY"),
            host("TOGETHER_HOST", "https://api.together.xyz"),
            timeout("TOGETHER_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "fireworks",
        title: "Fireworks AI",
        description: "Open models, hosted",
        default_model: "accounts/fireworks/models/kimi-k2-instruct",
        models: FIREWORKS,
        doc: "https://fireworks.ai/models",
        settings: &[
            key("FIREWORKS_API_KEY"),
            host("FIREWORKS_HOST", "https://api.fireworks.ai"),
            path("FIREWORKS_BASE_PATH", "inference/v1/chat/completions"),
            timeout("FIREWORKS_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "cerebras",
        title: "Cerebras",
        description: "Open models, answered fast",
        default_model: "gpt-oss-120b",
        models: CEREBRAS,
        doc: "https://inference-docs.cerebras.ai/models/overview",
        settings: &[
            key("CEREBRAS_API_KEY"),
            host("CEREBRAS_HOST", "https://api.cerebras.ai"),
            timeout("CEREBRAS_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "lmstudio",
        title: "LM Studio",
        description: "Open models on this machine, run by LM Studio",
        local: true,
        doc: "https://lmstudio.ai/models",
        settings: &[
            host("LMSTUDIO_HOST", "http://localhost:1234").primary(),
            setting("LMSTUDIO_API_KEY", SettingRole::Key),
            timeout("LMSTUDIO_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "llama_cpp",
        title: "llama.cpp",
        description: "A model on this machine, run by llama-server",
        local: true,
        doc: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
        settings: &[
            host("LLAMA_CPP_HOST", "http://localhost:8080").primary(),
            setting("LLAMA_CPP_API_KEY", SettingRole::Key),
            timeout("LLAMA_CPP_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "vllm",
        title: "vLLM",
        description: "A model on one's own machines, run by vLLM",
        local: true,
        doc: "https://docs.vllm.ai/en/latest/models/supported_models.html",
        settings: &[
            host("VLLM_HOST", "http://localhost:8000").primary(),
            setting("VLLM_API_KEY", SettingRole::Key),
            timeout("VLLM_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "litellm",
        title: "LiteLLM",
        description: "Models of many vendors behind one's own LiteLLM proxy",
        local: true,
        default_model: "gpt-4o-mini",
        doc: "https://docs.litellm.ai/docs",
        settings: &[
            optional_key("LITELLM_API_KEY"),
            host("LITELLM_HOST", "http://localhost:4000"),
            path("LITELLM_BASE_PATH", "v1/chat/completions"),
            setting("LITELLM_CUSTOM_HEADERS", SettingRole::Headers),
            timeout("LITELLM_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "databricks",
        title: "Databricks",
        description: "Models served in one's own Databricks workspace",
        preferred: true,
        lists_models: false,
        default_model: "databricks-claude-sonnet-4-5",
        models: DATABRICKS,
        doc: "https://docs.databricks.com/en/generative-ai/external-models/index.html",
        settings: &[
            setting("DATABRICKS_HOST", SettingRole::Host)
                .required()
                .primary(),
            key("DATABRICKS_TOKEN"),
            path("DATABRICKS_BASE_PATH", "serving-endpoints/chat/completions"),
            timeout("DATABRICKS_TIMEOUT"),
        ],
        ..HOSTED
    },
];

const HOSTED: ProviderSpec = hosted(&openai::PROTOCOL);
