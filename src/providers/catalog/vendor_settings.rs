//! The settings of the vendors with a wire protocol of their own, and the default addresses of their servers.
//! Every build has them, because a configuration may hold the keys of a vendor whose protocol the build leaves
//! out, and they stay secret.

use crate::provider_spec::{
    Setting, SettingRole, credential, host, key, parameter, setting, timeout,
};

pub(crate) const ANTHROPIC: &[Setting] = &[
    key("ANTHROPIC_API_KEY"),
    host("ANTHROPIC_HOST", "https://api.anthropic.com"),
    setting("ANTHROPIC_AUTH_TOKEN", SettingRole::Bearer),
    setting("ANTHROPIC_CUSTOM_HEADERS", SettingRole::Headers),
    timeout("ANTHROPIC_TIMEOUT"),
];

pub(crate) const OLLAMA: &[Setting] = &[
    setting("OLLAMA_HOST", SettingRole::Host)
        .required()
        .or("localhost")
        .primary(),
    setting("OLLAMA_API_KEY", SettingRole::Key),
    timeout("OLLAMA_TIMEOUT"),
];

pub(crate) const GOOGLE: &[Setting] = &[
    key("GOOGLE_API_KEY"),
    host("GOOGLE_HOST", "https://generativelanguage.googleapis.com"),
    timeout("GOOGLE_TIMEOUT"),
];

pub(crate) const BEDROCK: &[Setting] = &[
    parameter("AWS_REGION").primary(),
    parameter("AWS_PROFILE").primary(),
    credential("AWS_BEARER_TOKEN_BEDROCK"),
    credential("AWS_ACCESS_KEY_ID"),
    credential("AWS_SECRET_ACCESS_KEY"),
    credential("AWS_SESSION_TOKEN"),
    parameter("AWS_DEFAULT_REGION"),
    parameter("AWS_CONFIG_FILE"),
    parameter("AWS_SHARED_CREDENTIALS_FILE"),
    parameter("AWS_ROLE_ARN"),
    parameter("AWS_ROLE_SESSION_NAME"),
    parameter("AWS_WEB_IDENTITY_TOKEN_FILE"),
    parameter("AWS_ENDPOINT_URL_STS"),
    parameter("AWS_ENDPOINT_URL_SSO"),
    parameter("AWS_ENDPOINT_URL_SSO_OIDC"),
    parameter("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    parameter("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    credential("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    parameter("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    parameter("AWS_EC2_METADATA_DISABLED"),
    parameter("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
    parameter("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    timeout("AWS_BEDROCK_TIMEOUT"),
];

pub(crate) const VERTEX: &[Setting] = &[
    parameter("GCP_PROJECT_ID").required().primary(),
    parameter("GCP_LOCATION")
        .required()
        .or("us-central1")
        .primary(),
    parameter("GOOGLE_APPLICATION_CREDENTIALS"),
    parameter("GCE_METADATA_HOST"),
    parameter("GCP_VERTEX_AI_HOST"),
    timeout("GCP_VERTEX_AI_TIMEOUT"),
];

pub(crate) const COPILOT: &[Setting] = &[
    setting("GITHUB_COPILOT_TOKEN", SettingRole::Login)
        .required()
        .primary(),
    parameter("GITHUB_COPILOT_HOST").or("github.com"),
    timeout("GITHUB_COPILOT_TIMEOUT"),
];

pub(crate) const ALL: [&[Setting]; 6] = [ANTHROPIC, OLLAMA, GOOGLE, BEDROCK, VERTEX, COPILOT];
