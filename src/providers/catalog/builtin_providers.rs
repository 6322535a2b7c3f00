//! The builtin table of providers.

use super::provider_rows::{LEFT_OUT, hosts};
use super::vendor_settings;
use super::vendors::VENDORS;
use crate::credentials::sign_in;
use crate::openai;
use crate::provider_spec::{
    ProviderSpec, Setting, SettingRole, credential, host, hosted, key, optional_key, parameter,
    path, setting, timeout,
};

/// The providers whose protocol this build contains, in the order in which clients show them.
pub(super) fn builtin_providers() -> impl Iterator<Item = &'static ProviderSpec> {
    let is_built = |spec: &&ProviderSpec| *spec.protocol != LEFT_OUT;
    let hosts = hosts().iter().filter(is_built);
    VENDORS.iter().copied().chain(hosts).chain(COMPATIBLE)
}

/// The settings of all providers. Those that the build leaves out count, because a configuration may hold their
/// keys.
pub(super) fn builtin_settings() -> impl Iterator<Item = &'static Setting> {
    let vendors = std::iter::once(openai::VENDOR.settings).chain(vendor_settings::ALL);
    vendors
        .chain(hosts().iter().chain(COMPATIBLE).map(|spec| spec.settings))
        .flatten()
}

/// The providers with settings of their own, beside [`hosts`].
static COMPATIBLE: &[ProviderSpec] = &[
    ProviderSpec {
        name: "azure_openai",
        title: "Azure OpenAI",
        description: "OpenAI's models as deployed in one's own Azure resource",
        credentials: sign_in::AZURE,
        lists_models: false,
        families: openai::FAMILIES,
        models: "openai",
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
            setting("AZURE_OPENAI_API_KEY", SettingRole::KeyHeader("api-key")).primary(),
            parameter("AZURE_TENANT_ID"),
            parameter("AZURE_CLIENT_ID"),
            credential("AZURE_CLIENT_SECRET"),
            parameter("AZURE_CLIENT_CERTIFICATE_PATH"),
            parameter("AZURE_FEDERATED_TOKEN_FILE"),
            parameter("AZURE_AUTHORITY_HOST"),
            parameter("AZURE_POD_IDENTITY_AUTHORITY_HOST"),
            parameter("IDENTITY_ENDPOINT"),
            credential("IDENTITY_HEADER"),
            timeout("AZURE_OPENAI_TIMEOUT"),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "litellm",
        title: "LiteLLM",
        description: "Models of many vendors behind one's own LiteLLM proxy",
        local: true,
        marks_cache: true,
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
        marks_cache: true,
        credentials: sign_in::DATABRICKS,
        families: &["databricks-claude-sonnet-*"],
        doc: "https://docs.databricks.com/en/generative-ai/external-models/index.html",
        settings: &[
            setting("DATABRICKS_HOST", SettingRole::Host)
                .required()
                .primary(),
            key("DATABRICKS_TOKEN"),
            parameter("DATABRICKS_CLIENT_ID"),
            credential("DATABRICKS_CLIENT_SECRET"),
            setting("DATABRICKS_REFRESH_TOKEN", SettingRole::Login),
            path("DATABRICKS_BASE_PATH", "serving-endpoints/chat/completions"),
            timeout("DATABRICKS_TIMEOUT"),
        ],
        ..HOSTED
    },
];

const HOSTED: ProviderSpec = hosted(&openai::PROTOCOL);
