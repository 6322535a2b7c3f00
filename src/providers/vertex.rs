//! Vertex AI of Google: Gemini and Claude, each with the wire protocol of its vendor at another address.
//!
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference>,
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude>

mod google_token;
#[cfg(test)]
mod tests;

use super::anthropic::{Anthropic, claude_effort};
use super::catalog::vendor_settings;
use super::credentials::{CredentialsSpec, Parameters};
use super::google::{Google, gemini_effort};
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::base_url;
use super::thinking_effort::EffortParams;
use super::tool_schema::SchemaRules;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error, ErrorClass};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The version of the messages API, in the body of a request to Claude.
const CLAUDE_VERSION: &str = "vertex-2023-10-16";
/// The location without a host of its own.
const GLOBAL: &str = "global";
/// The characters of a model's name that need no escape: Claude's have an at sign before their date.
const NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'@');

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "vertex",
    key_header: None,
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    // Claude's protocol requires it, and has a default of its own.
    requires_output_limit: false,
    connect: |server| Box::new(Vertex::new(server)),
};

static CREDENTIALS: CredentialsSpec = CredentialsSpec {
    url: Some(endpoint_url),
    ways: &[],
    login: None,
    connect: |parameters, _, offline| google_token::connect(parameters, offline),
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "gcp_vertex_ai",
    title: "Google Vertex AI",
    description: "Gemini and Claude in one's own project of Google Cloud",
    credentials: Some(&CREDENTIALS),
    lists_models: false,
    families: &["gemini-*-pro", "gemini-*-flash"],
    models: "google",
    doc: "https://cloud.google.com/vertex-ai/generative-ai/docs/models",
    settings: vendor_settings::VERTEX,
    ..hosted(&PROTOCOL)
};

/// The URL of the project at its location.
///
/// # Errors
/// [`ErrorClass::Config`] if a setting is missing or cannot be a part of a URL.
fn endpoint_url(parameters: &Parameters) -> Result<String, Error> {
    let setting = |name: &str| {
        let value = parameters.get(name).ok_or_else(|| {
            let message = format!(
                "it needs {name}, which is not set: set it in the environment or in config.yaml"
            );
            Error::new(ErrorClass::Config, message)
        })?;
        // The id of a project of an organization contains its domain.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if value.chars().all(is_plain) {
            return Ok(value);
        }
        let shown: String = value.escape_debug().take(60).collect();
        let message = format!("`{shown}` cannot be the value of {name}");
        Err(Error::new(ErrorClass::Config, message))
    };
    let project = setting("GCP_PROJECT_ID")?;
    let location = setting("GCP_LOCATION")?;
    if !location
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-')
    {
        let message = "GCP_LOCATION is not a location, for example us-central1 or global";
        return Err(Error::new(ErrorClass::Config, message));
    }
    let host = match parameters.get("GCP_VERTEX_AI_HOST") {
        Some(host) => host.trim_end_matches('/').to_owned(),
        None if location == GLOBAL => "https://aiplatform.googleapis.com".to_owned(),
        None => format!("https://{location}-aiplatform.googleapis.com"),
    };
    Ok(format!(
        "{host}/v1/projects/{project}/locations/{location}/publishers"
    ))
}

/// A project with both protocols.
struct Vertex {
    server: Endpoint,
    gemini: Google,
    claude: Anthropic,
}

impl Vertex {
    fn new(server: Endpoint) -> Self {
        Vertex {
            gemini: Google::new(server.clone()),
            claude: Anthropic::new(server.clone()),
            server,
        }
    }
}

fn is_claude(request: &CompletionRequest<'_>) -> bool {
    request.model.model_name.starts_with("claude")
}

impl Protocol for Vertex {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let model = utf8_percent_encode(&request.model.model_name, NAME);
        if is_claude(request) {
            let (body, headers) = self
                .claude
                .body_without_model(request, form, CLAUDE_VERSION)?;
            let path = format!("/anthropic/models/{model}:streamRawPredict");
            let mut outgoing = self.server.request(&path, Some(body));
            outgoing.headers.extend(headers);
            return Ok(outgoing);
        }
        let body = self.gemini.http_request(request, form)?.body;
        let path = format!("/google/models/{model}:streamGenerateContent?alt=sse");
        Ok(self.server.request(&path, body))
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        // Those of Claude are the stricter ones.
        self.claude.schema_rules()
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        let params: EffortParams = |url, model, effort| {
            if model.starts_with("claude") {
                claude_effort(url, model, effort)
            } else {
                gemini_effort(url, model, effort)
            }
        };
        (params, &self.server.url)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> Box<dyn Decoder> {
        if is_claude(request) {
            self.claude.decoder(request, form)
        } else {
            self.gemini.decoder(request, form)
        }
    }

    /// Google's own servers refuse requests for both, in their shape.
    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        self.gemini.classify_failure(status, body)
    }

    /// Not called, because the provider does not list its models.
    fn models_request(&self) -> HttpRequest {
        self.server.request("/google/models", None)
    }

    fn parse_models(&self, _: &[u8]) -> Result<Vec<String>, Error> {
        Err(Error::protocol("this provider does not list its models"))
    }
}
