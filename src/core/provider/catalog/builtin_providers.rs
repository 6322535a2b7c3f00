//! The builtin table of providers.

use super::known_models::{
    ANTHROPIC, CEREBRAS, DATABRICKS, DEEPSEEK, FIREWORKS, GOOGLE, GROQ, MISTRAL, ModelSpec, OLLAMA,
    OPENAI, OPENROUTER, TOGETHER, XAI,
};
use crate::features;
use crate::store::settings::{self as store, Kind, Wrong};

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    OpenAi,
    Anthropic,
    Ollama,
    Google,
}

impl Engine {
    /// The Cargo feature that contains the protocol; empty for OpenAI's, which is in every build.
    /// Its name in files of custom providers.
    pub(super) fn in_files(self) -> &'static str {
        match self {
            Engine::OpenAi => "openai",
            Engine::Anthropic => "anthropic",
            Engine::Ollama => "ollama",
            Engine::Google => "google",
        }
    }

    pub(super) fn feature(self) -> &'static str {
        match self {
            Engine::OpenAi => "",
            Engine::Anthropic => "anthropic",
            Engine::Ollama => "ollama",
            Engine::Google => "google",
        }
    }
}

/// What a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingRole {
    /// The key, in the header of the wire protocol.
    Key,
    /// The key, in this header.
    KeyHeader(&'static str),
    /// A bearer token that replaces the key.
    Bearer,
    /// The host of the provider.
    Host,
    /// The path of chat completions.
    Path,
    /// The value of this header.
    Header(&'static str),
    /// Any headers.
    Headers,
    /// The read timeout in seconds.
    Timeout,
    /// Azure's name for a deployed model.
    Deployment,
    /// Azure's version of its API.
    ApiVersion,
}

/// A setting, as clients show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) role: SettingRole,
    pub(super) required: bool,
    pub(super) default: Option<&'static str>,
    pub(super) primary: bool,
}

/// A provider.
#[derive(Debug)]
pub(super) struct ProviderSpec {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) engine: Engine,
    /// Clients show it first.
    pub(super) preferred: bool,
    /// It is a server of the user: no key is required.
    pub(super) local: bool,
    /// It can list its models.
    pub(super) lists_models: bool,
    /// It accepts the request to count tokens in a stream (`stream_options`).
    pub(super) counts_on_request: bool,
    /// It expects the model's reasoning back.
    pub(super) wants_reasoning: bool,
    pub(super) default_model: &'static str,
    pub(super) models: &'static [ModelSpec],
    pub(super) doc: &'static str,
    pub(super) settings: &'static [Setting],
}

pub(super) const fn setting(name: &'static str, role: SettingRole) -> Setting {
    Setting {
        name,
        role,
        required: false,
        default: None,
        primary: false,
    }
}

const fn key(name: &'static str) -> Setting {
    setting(name, SettingRole::Key).required().primary()
}

const fn optional_key(name: &'static str) -> Setting {
    setting(name, SettingRole::Key).primary()
}

const fn host(name: &'static str, default: &'static str) -> Setting {
    setting(name, SettingRole::Host).required().or(default)
}

const fn path(name: &'static str, default: &'static str) -> Setting {
    setting(name, SettingRole::Path).required().or(default)
}

const fn timeout(name: &'static str) -> Setting {
    setting(name, SettingRole::Timeout).or("600")
}

impl Setting {
    const fn required(self) -> Self {
        Setting {
            required: true,
            ..self
        }
    }

    const fn primary(self) -> Self {
        Setting {
            primary: true,
            ..self
        }
    }

    const fn or(self, default: &'static str) -> Self {
        Setting {
            default: Some(default),
            ..self
        }
    }

    /// Its entry in the table of settings.
    pub(super) const fn declared(&self) -> store::Setting<'static> {
        let kind = match self.role {
            SettingRole::Key | SettingRole::KeyHeader(_) | SettingRole::Bearer => Kind::Secret,
            SettingRole::Host => Kind::Url,
            SettingRole::Headers => Kind::Headers,
            SettingRole::Timeout => Kind::Count(1, u64::MAX),
            SettingRole::Path
            | SettingRole::Header(_)
            | SettingRole::Deployment
            | SettingRole::ApiVersion => Kind::Text,
        };
        store::Setting {
            name: self.name,
            kind,
            default: match self.default {
                Some(default) => default,
                None => "",
            },
            environment_only: false,
            wrong: match self.role {
                SettingRole::Headers | SettingRole::Timeout => Wrong::Default,
                _ => Wrong::Fails,
            },
        }
    }

    /// Whether it is stored with the secrets.
    pub(super) fn secret(&self) -> bool {
        matches!(
            self.role,
            SettingRole::Key
                | SettingRole::KeyHeader(_)
                | SettingRole::Bearer
                | SettingRole::Headers
        )
    }
}

/// The providers whose protocol this build contains.
pub(super) fn builtin_providers() -> impl Iterator<Item = &'static ProviderSpec> {
    let is_built = |spec: &&ProviderSpec| !features::is_left_out(spec.engine.feature());
    PROVIDERS.iter().filter(is_built)
}

/// All of them, in the order in which clients show them.
pub(super) const PROVIDERS: &[ProviderSpec] = &[
    ProviderSpec {
        name: "openai",
        title: "OpenAI",
        description: "GPT models, and any server that speaks OpenAI's chat completions",
        preferred: true,
        default_model: "gpt-4o",
        models: OPENAI,
        doc: "https://platform.openai.com/docs/models",
        settings: &[
            optional_key("OPENAI_API_KEY"),
            host("OPENAI_HOST", "https://api.openai.com"),
            path("OPENAI_BASE_PATH", "v1/chat/completions"),
            setting(
                "OPENAI_ORGANIZATION",
                SettingRole::Header("OpenAI-Organization"),
            ),
            setting("OPENAI_PROJECT", SettingRole::Header("OpenAI-Project")),
            setting("OPENAI_CUSTOM_HEADERS", SettingRole::Headers),
            timeout("OPENAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "anthropic",
        title: "Anthropic",
        description: "Claude models, over the messages API",
        engine: Engine::Anthropic,
        preferred: true,
        default_model: "claude-sonnet-4-5",
        models: ANTHROPIC,
        doc: "https://docs.anthropic.com/en/docs/about-claude/models",
        settings: &[
            key("ANTHROPIC_API_KEY"),
            host("ANTHROPIC_HOST", "https://api.anthropic.com"),
            setting("ANTHROPIC_AUTH_TOKEN", SettingRole::Bearer),
            setting("ANTHROPIC_CUSTOM_HEADERS", SettingRole::Headers),
            timeout("ANTHROPIC_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "ollama",
        title: "Ollama",
        description: "Open models on this machine or another, run by Ollama",
        engine: Engine::Ollama,
        preferred: true,
        local: true,
        default_model: "qwen3",
        models: OLLAMA,
        doc: "https://ollama.com/library",
        settings: &[
            setting("OLLAMA_HOST", SettingRole::Host)
                .required()
                .or("localhost")
                .primary(),
            setting("OLLAMA_API_KEY", SettingRole::Key),
            timeout("OLLAMA_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "google",
        title: "Google Gemini",
        description: "Gemini models, over Google's own API",
        engine: Engine::Google,
        preferred: true,
        default_model: "gemini-2.5-pro",
        models: GOOGLE,
        doc: "https://ai.google.dev/gemini-api/docs/models",
        settings: &[
            key("GOOGLE_API_KEY"),
            host("GOOGLE_HOST", "https://generativelanguage.googleapis.com"),
            timeout("GOOGLE_TIMEOUT"),
        ],
        ..HOSTED
    },
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

/// The defaults of most providers.
const HOSTED: ProviderSpec = ProviderSpec {
    name: "",
    title: "",
    description: "",
    engine: Engine::OpenAi,
    preferred: false,
    local: false,
    lists_models: true,
    counts_on_request: true,
    wants_reasoning: false,
    default_model: "",
    models: &[],
    doc: "",
    settings: &[],
};
