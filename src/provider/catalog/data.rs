//! The providers that gosling knows, as data.
//!
//! Limits and prices are those that the vendors publish; a price is in US dollars for a million tokens.

/// Which wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    OpenAi,
    Anthropic,
    Ollama,
    Google,
}

/// What a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The key, in the way that the engine carries it.
    Key,
    /// The key, as the value of this header.
    KeyHeader(&'static str),
    /// A token that takes the place of the key, as a bearer.
    Bearer,
    /// Where the provider is.
    Host,
    /// Where chat completions are on it.
    Path,
    /// The value of this header.
    Header(&'static str),
    /// Any headers.
    Headers,
    /// Seconds of silence.
    Timeout,
    /// Azure's name for a model that it was told to run.
    Deployment,
    /// Azure's version of its API.
    ApiVersion,
}

/// A setting, as clients show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) role: Role,
    pub(super) required: bool,
    pub(super) default: Option<&'static str>,
    pub(super) primary: bool,
}

/// A model and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) context: u64,
    pub(super) output: Option<u64>,
    pub(super) input_price: Option<f64>,
    pub(super) output_price: Option<f64>,
    pub(super) cache_read_price: Option<f64>,
    pub(super) cache_write_price: Option<f64>,
}

/// A provider.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) engine: Engine,
    /// Shown first.
    pub(super) preferred: bool,
    /// It is one's own server: no key is ever demanded.
    pub(super) local: bool,
    /// It can be asked which models it has.
    pub(super) lists_models: bool,
    /// It can be asked to count tokens in a stream.
    pub(super) counts_on_request: bool,
    /// It wants to see again what its model thought.
    pub(super) wants_reasoning: bool,
    pub(super) default_model: &'static str,
    pub(super) models: &'static [Known],
    pub(super) doc: &'static str,
    pub(super) settings: &'static [Setting],
}

const fn setting(name: &'static str, role: Role) -> Setting {
    Setting {
        name,
        role,
        required: false,
        default: None,
        primary: false,
    }
}

const fn key(name: &'static str) -> Setting {
    setting(name, Role::Key).required().primary()
}

const fn optional_key(name: &'static str) -> Setting {
    setting(name, Role::Key).primary()
}

const fn host(name: &'static str, default: &'static str) -> Setting {
    setting(name, Role::Host).required().or(default)
}

const fn path(name: &'static str, default: &'static str) -> Setting {
    setting(name, Role::Path).required().or(default)
}

const fn timeout(name: &'static str) -> Setting {
    setting(name, Role::Timeout).or("600")
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

    /// Whether it is kept among the secrets.
    pub(super) fn secret(&self) -> bool {
        matches!(
            self.role,
            Role::Key | Role::KeyHeader(_) | Role::Bearer | Role::Headers
        )
    }
}

const fn model(name: &'static str, context: u64) -> Known {
    Known {
        name,
        context,
        output: None,
        input_price: None,
        output_price: None,
        cache_read_price: None,
        cache_write_price: None,
    }
}

impl Known {
    const fn output(self, tokens: u64) -> Self {
        Known {
            output: Some(tokens),
            ..self
        }
    }

    const fn price(self, input: f64, output: f64) -> Self {
        Known {
            input_price: Some(input),
            output_price: Some(output),
            ..self
        }
    }

    const fn cache_read(self, price: f64) -> Self {
        Known {
            cache_read_price: Some(price),
            ..self
        }
    }

    const fn cache(self, read: f64, write: f64) -> Self {
        Known {
            cache_write_price: Some(write),
            ..self.cache_read(read)
        }
    }
}

const OPENAI: &[Known] = &[
    model("gpt-4o", 128_000)
        .output(16_384)
        .price(2.5, 10.0)
        .cache_read(1.25),
    model("gpt-4o-mini", 128_000)
        .output(16_384)
        .price(0.15, 0.6)
        .cache_read(0.075),
    model("gpt-4.1", 1_047_576)
        .output(32_768)
        .price(2.0, 8.0)
        .cache_read(0.5),
    model("gpt-4.1-mini", 1_047_576)
        .output(32_768)
        .price(0.4, 1.6)
        .cache_read(0.1),
    model("gpt-4.1-nano", 1_047_576)
        .output(32_768)
        .price(0.1, 0.4)
        .cache_read(0.025),
    model("o1", 200_000)
        .output(100_000)
        .price(15.0, 60.0)
        .cache_read(7.5),
    model("o3", 200_000)
        .output(100_000)
        .price(2.0, 8.0)
        .cache_read(0.5),
    model("o3-mini", 200_000)
        .output(100_000)
        .price(1.1, 4.4)
        .cache_read(0.55),
    model("o4-mini", 200_000)
        .output(100_000)
        .price(1.1, 4.4)
        .cache_read(0.275),
    model("gpt-3.5-turbo", 16_385).output(4_096).price(0.5, 1.5),
    model("gpt-4-turbo", 128_000)
        .output(4_096)
        .price(10.0, 30.0),
    model("gpt-4", 8_192).output(4_096).price(30.0, 60.0),
    model("gpt-5", 400_000)
        .output(128_000)
        .price(1.25, 10.0)
        .cache_read(0.125),
    model("gpt-5-mini", 400_000)
        .output(128_000)
        .price(0.25, 2.0)
        .cache_read(0.025),
    model("gpt-5-nano", 400_000)
        .output(128_000)
        .price(0.05, 0.4)
        .cache_read(0.005),
    model("gpt-5-codex", 400_000)
        .output(128_000)
        .price(1.25, 10.0)
        .cache_read(0.125),
    model("gpt-5.1", 400_000)
        .output(128_000)
        .price(1.25, 10.0)
        .cache_read(0.125),
    model("gpt-5.1-codex", 400_000)
        .output(128_000)
        .price(1.25, 10.0)
        .cache_read(0.125),
];

const ANTHROPIC: &[Known] = &[
    model("claude-sonnet-4-5", 200_000)
        .output(64_000)
        .price(3.0, 15.0)
        .cache(0.3, 3.75),
    model("claude-haiku-4-5", 200_000)
        .output(64_000)
        .price(1.0, 5.0)
        .cache(0.1, 1.25),
    model("claude-opus-4-5", 200_000)
        .output(64_000)
        .price(5.0, 25.0)
        .cache(0.5, 6.25),
    model("claude-opus-4-1", 200_000)
        .output(32_000)
        .price(15.0, 75.0)
        .cache(1.5, 18.75),
    model("claude-opus-4", 200_000)
        .output(32_000)
        .price(15.0, 75.0)
        .cache(1.5, 18.75),
    model("claude-sonnet-4", 200_000)
        .output(64_000)
        .price(3.0, 15.0)
        .cache(0.3, 3.75),
    model("claude-3-7-sonnet", 200_000)
        .output(64_000)
        .price(3.0, 15.0)
        .cache(0.3, 3.75),
    model("claude-3-5-sonnet", 200_000)
        .output(8_192)
        .price(3.0, 15.0)
        .cache(0.3, 3.75),
    model("claude-3-5-haiku", 200_000)
        .output(8_192)
        .price(0.8, 4.0)
        .cache(0.08, 1.0),
    model("claude-3-opus", 200_000)
        .output(4_096)
        .price(15.0, 75.0)
        .cache(1.5, 18.75),
    model("claude-3-haiku", 200_000)
        .output(4_096)
        .price(0.25, 1.25)
        .cache(0.03, 0.3),
];

const GOOGLE: &[Known] = &[
    model("gemini-2.5-pro", 1_048_576)
        .output(65_536)
        .price(1.25, 10.0)
        .cache_read(0.125),
    model("gemini-2.5-flash", 1_048_576)
        .output(65_536)
        .price(0.3, 2.5)
        .cache_read(0.03),
    model("gemini-2.5-flash-lite", 1_048_576)
        .output(65_536)
        .price(0.1, 0.4)
        .cache_read(0.01),
    model("gemini-2.5-flash-image", 32_768)
        .output(32_768)
        .price(0.3, 30.0),
    model("gemini-2.0-flash", 1_048_576)
        .output(8_192)
        .price(0.1, 0.4)
        .cache_read(0.025),
    model("gemini-2.0-flash-lite", 1_048_576)
        .output(8_192)
        .price(0.075, 0.3),
    model("gemini-3-pro-preview", 1_048_576)
        .output(65_536)
        .price(2.0, 12.0)
        .cache_read(0.2),
    model("gemini-3-flash-preview", 1_048_576)
        .output(65_536)
        .price(0.5, 3.0)
        .cache_read(0.05),
];

const OLLAMA: &[Known] = &[
    model("qwen3", 40_960),
    model("qwen2.5", 32_768),
    model("llama3.3", 131_072),
    model("llama3.2", 131_072),
    model("llama3.1", 131_072),
    model("mistral-nemo", 131_072),
    model("gpt-oss", 131_072),
    model("deepseek-r1", 131_072),
];

const GROQ: &[Known] = &[
    model("openai/gpt-oss-120b", 131_072)
        .output(65_536)
        .price(0.15, 0.6),
    model("openai/gpt-oss-20b", 131_072)
        .output(65_536)
        .price(0.075, 0.3),
    model("llama-3.3-70b-versatile", 131_072)
        .output(32_768)
        .price(0.59, 0.79),
    model("llama-3.1-8b-instant", 131_072)
        .output(131_072)
        .price(0.05, 0.08),
    model("qwen/qwen3-32b", 131_072)
        .output(40_960)
        .price(0.29, 0.59),
    model("moonshotai/kimi-k2-instruct-0905", 262_144)
        .output(16_384)
        .price(1.0, 3.0),
];

const MISTRAL: &[Known] = &[
    model("mistral-large-latest", 131_072).price(2.0, 6.0),
    model("mistral-medium-latest", 131_072).price(0.4, 2.0),
    model("mistral-small-latest", 131_072).price(0.1, 0.3),
    model("codestral-latest", 262_144).price(0.3, 0.9),
    model("devstral-medium-latest", 131_072).price(0.4, 2.0),
    model("magistral-medium-latest", 131_072).price(2.0, 5.0),
];

const DEEPSEEK: &[Known] = &[
    model("deepseek-chat", 131_072)
        .output(8_192)
        .price(0.28, 0.42)
        .cache_read(0.028),
    model("deepseek-reasoner", 131_072)
        .output(65_536)
        .price(0.28, 0.42)
        .cache_read(0.028),
];

const XAI: &[Known] = &[
    model("grok-code-fast-1", 256_000)
        .price(0.2, 1.5)
        .cache_read(0.02),
    model("grok-4", 256_000).price(3.0, 15.0).cache_read(0.75),
    model("grok-4-fast-reasoning", 2_000_000)
        .price(0.2, 0.5)
        .cache_read(0.05),
    model("grok-4-fast-non-reasoning", 2_000_000)
        .price(0.2, 0.5)
        .cache_read(0.05),
    model("grok-3", 131_072).price(3.0, 15.0).cache_read(0.75),
    model("grok-3-mini", 131_072)
        .price(0.3, 0.5)
        .cache_read(0.075),
];

const OPENROUTER: &[Known] = &[
    model("anthropic/claude-sonnet-4.5", 200_000)
        .output(64_000)
        .price(3.0, 15.0)
        .cache(0.3, 3.75),
    model("anthropic/claude-opus-4.5", 200_000)
        .output(64_000)
        .price(5.0, 25.0)
        .cache(0.5, 6.25),
    model("openai/gpt-5", 400_000)
        .output(128_000)
        .price(1.25, 10.0)
        .cache_read(0.125),
    model("google/gemini-2.5-pro", 1_048_576)
        .output(65_536)
        .price(1.25, 10.0),
    model("google/gemini-2.5-flash", 1_048_576)
        .output(65_536)
        .price(0.3, 2.5),
    model("x-ai/grok-code-fast-1", 256_000)
        .price(0.2, 1.5)
        .cache_read(0.02),
    model("deepseek/deepseek-r1-0528", 163_840),
    model("qwen/qwen3-coder", 262_144),
    model("moonshotai/kimi-k2", 131_072),
];

const TOGETHER: &[Known] = &[
    model("meta-llama/Llama-3.3-70B-Instruct-Turbo", 131_072).price(0.88, 0.88),
    model("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", 262_144).price(2.0, 2.0),
    model("deepseek-ai/DeepSeek-V3", 131_072).price(1.25, 1.25),
    model("moonshotai/Kimi-K2-Instruct", 131_072).price(1.0, 3.0),
];

const FIREWORKS: &[Known] = &[
    model("accounts/fireworks/models/kimi-k2-instruct", 131_072).price(0.6, 2.5),
    model("accounts/fireworks/models/deepseek-v3p1", 163_840).price(0.56, 1.68),
    model("accounts/fireworks/models/gpt-oss-120b", 131_072).price(0.15, 0.6),
    model("accounts/fireworks/models/llama-v3p3-70b-instruct", 131_072).price(0.9, 0.9),
];

const CEREBRAS: &[Known] = &[
    model("gpt-oss-120b", 131_072)
        .output(32_768)
        .price(0.25, 0.69),
    model("llama-3.3-70b", 131_072).price(0.85, 1.2),
    model("llama3.1-8b", 32_768).price(0.1, 0.1),
    model("qwen-3-32b", 131_072).price(0.4, 0.8),
];

const DATABRICKS: &[Known] = &[
    model("databricks-claude-sonnet-4-5", 200_000)
        .output(64_000)
        .price(3.0, 15.0),
    model("databricks-claude-sonnet-4", 200_000)
        .output(64_000)
        .price(3.0, 15.0),
    model("databricks-claude-3-7-sonnet", 200_000)
        .output(64_000)
        .price(3.0, 15.0),
    model("databricks-meta-llama-3-3-70b-instruct", 128_000),
    model("databricks-gpt-oss-120b", 131_072),
];

/// All of them, in the order in which clients show them.
pub(super) const MAKERS: &[Maker] = &[
    Maker {
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
            setting("OPENAI_ORGANIZATION", Role::Header("OpenAI-Organization")),
            setting("OPENAI_PROJECT", Role::Header("OpenAI-Project")),
            setting("OPENAI_CUSTOM_HEADERS", Role::Headers),
            timeout("OPENAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
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
            setting("ANTHROPIC_AUTH_TOKEN", Role::Bearer),
            setting("ANTHROPIC_CUSTOM_HEADERS", Role::Headers),
            timeout("ANTHROPIC_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
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
            setting("OLLAMA_HOST", Role::Host)
                .required()
                .or("localhost")
                .primary(),
            setting("OLLAMA_API_KEY", Role::Key),
            timeout("OLLAMA_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
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
    Maker {
        name: "openrouter",
        title: "OpenRouter",
        description: "Models of many makers with one key",
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
    Maker {
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
    Maker {
        name: "mistral",
        title: "Mistral AI",
        description: "Mistral, Codestral and Devstral models",
        // It counts by itself and refuses the question.
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
    Maker {
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
    Maker {
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
    Maker {
        name: "azure_openai",
        title: "Azure OpenAI",
        description: "OpenAI's models as deployed in one's own Azure resource",
        lists_models: false,
        default_model: "gpt-4o",
        models: OPENAI,
        doc: "https://learn.microsoft.com/azure/ai-services/openai/concepts/models",
        settings: &[
            setting("AZURE_OPENAI_ENDPOINT", Role::Host)
                .required()
                .primary(),
            setting("AZURE_OPENAI_DEPLOYMENT_NAME", Role::Deployment)
                .required()
                .primary(),
            setting("AZURE_OPENAI_API_VERSION", Role::ApiVersion)
                .required()
                .or("2024-10-21"),
            setting("AZURE_OPENAI_API_KEY", Role::KeyHeader("api-key"))
                .required()
                .primary(),
            timeout("AZURE_OPENAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
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
    Maker {
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
    Maker {
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
    Maker {
        name: "lmstudio",
        title: "LM Studio",
        description: "Open models on this machine, run by LM Studio",
        local: true,
        doc: "https://lmstudio.ai/models",
        settings: &[
            host("LMSTUDIO_HOST", "http://localhost:1234").primary(),
            setting("LMSTUDIO_API_KEY", Role::Key),
            timeout("LMSTUDIO_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
        name: "llama_cpp",
        title: "llama.cpp",
        description: "A model on this machine, run by llama-server",
        local: true,
        doc: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
        settings: &[
            host("LLAMA_CPP_HOST", "http://localhost:8080").primary(),
            setting("LLAMA_CPP_API_KEY", Role::Key),
            timeout("LLAMA_CPP_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
        name: "vllm",
        title: "vLLM",
        description: "A model on one's own machines, run by vLLM",
        local: true,
        doc: "https://docs.vllm.ai/en/latest/models/supported_models.html",
        settings: &[
            host("VLLM_HOST", "http://localhost:8000").primary(),
            setting("VLLM_API_KEY", Role::Key),
            timeout("VLLM_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
        name: "litellm",
        title: "LiteLLM",
        description: "Models of many makers behind one's own LiteLLM proxy",
        local: true,
        default_model: "gpt-4o-mini",
        doc: "https://docs.litellm.ai/docs",
        settings: &[
            optional_key("LITELLM_API_KEY"),
            host("LITELLM_HOST", "http://localhost:4000"),
            path("LITELLM_BASE_PATH", "v1/chat/completions"),
            setting("LITELLM_CUSTOM_HEADERS", Role::Headers),
            timeout("LITELLM_TIMEOUT"),
        ],
        ..HOSTED
    },
    Maker {
        name: "databricks",
        title: "Databricks",
        description: "Models served in one's own Databricks workspace",
        preferred: true,
        lists_models: false,
        default_model: "databricks-claude-sonnet-4-5",
        models: DATABRICKS,
        doc: "https://docs.databricks.com/en/generative-ai/external-models/index.html",
        settings: &[
            setting("DATABRICKS_HOST", Role::Host).required().primary(),
            key("DATABRICKS_TOKEN"),
            path("DATABRICKS_BASE_PATH", "serving-endpoints/chat/completions"),
            timeout("DATABRICKS_TIMEOUT"),
        ],
        ..HOSTED
    },
];

/// What most have in common.
const HOSTED: Maker = Maker {
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
