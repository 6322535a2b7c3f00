//! The Gemini API of Google.
//!
//! <https://ai.google.dev/api/generate-content>, `v1beta`, always as a stream of server-sent events.

mod gemini_decoder;
mod gemini_effort;
mod gemini_request;
mod gemini_schema;
#[cfg(test)]
mod tests;

use super::body_fields::with_parameters;
use super::catalog::vendor_settings;
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::base_url;
use super::thinking_effort::EffortParams;
use super::thinking_origin::origin;
use super::tool_name_encoding::ToolNames;
use super::tool_schema::SchemaRules;
use super::wait_in_words::wait_in_words;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error, ErrorClass, classify_error};
use crate::outbound::wait_of;
use gemini_decoder::GeminiDecoder;
pub(super) use gemini_effort::gemini_effort;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The metadata key of a tool request for the signature that the model expects back with it.
const SIGNATURE: &str = "thoughtSignature";
/// The metadata key of a tool request for its id, if Gemini sent one.
const CALL_ID: &str = "functionCallId";
/// The additional data of a text that Gemini signed. Going back is recommended, and nothing refuses a text without
/// it: <https://ai.google.dev/gemini-api/docs/thought-signatures>
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextSignature<'a> {
    #[serde(borrow)]
    thought_signature: Cow<'a, str>,
    /// A hash of the endpoint and the model that signed it; only they get it back.
    #[serde(borrow)]
    origin: Cow<'a, str>,
}

/// The characters of a model's name that need no escape in a path.
const NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "google",
    key_header: Some("x-goog-api-key"),
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: false,
    connect: |server| Box::new(Google::new(server)),
};

/// <https://ai.google.dev/gemini-api/docs/function-calling>
static RULES: SchemaRules = SchemaRules {
    max_tools: 512,
    // The reference of Vertex says so; the API's own is silent.
    property_names: Some(("_", 64)),
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "google",
    title: "Google Gemini",
    description: "Gemini models, over Google's own API",
    preferred: true,
    families: &["gemini-*-pro", "gemini-*-flash"],
    doc: "https://ai.google.dev/gemini-api/docs/models",
    settings: vendor_settings::GOOGLE,
    ..hosted(&PROTOCOL)
};

/// A server with this protocol. It does not implement `Debug`, because headers contain the key.
pub(super) struct Google {
    /// Its URL is without the version.
    server: Endpoint,
}

impl Google {
    /// The URL of the server may end with `/v1beta`; its headers contain the key.
    pub(super) fn new(mut server: Endpoint) -> Self {
        let base = server.url.trim_end_matches('/');
        server.url = base.strip_suffix("/v1beta").unwrap_or(base).to_owned();
        Google { server }
    }

    fn origin(&self, request: &CompletionRequest<'_>) -> String {
        origin(&self.server.url, &request.model.model_name)
    }
}

impl Protocol for Google {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let model = request.model.model_name.as_str();
        let model = model.strip_prefix("models/").unwrap_or(model);
        let body = gemini_request::body(request, &self.origin(request));
        let params = request.model.request_params.as_ref();
        let bytes = with_parameters(&body, params, form, merge)?;
        let model = utf8_percent_encode(model, NAME);
        let path = format!("/v1beta/models/{model}:streamGenerateContent?alt=sse");
        Ok(self.server.request(&path, Some(bytes)))
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        &RULES
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        (gemini_effort, &self.server.url)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, _: &RequestForm) -> Box<dyn Decoder> {
        let names = ToolNames::of(request.tools);
        Box::new(GeminiDecoder::new(names, self.origin(request)))
    }

    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        #[derive(Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            error: ApiError<'a>,
        }
        // The streaming method returns an error as a list with one item.
        let all: Option<Vec<Body<'_>>> = crate::json::from_slice(body).ok();
        let first = all.and_then(|all| all.into_iter().next());
        match first.or_else(|| crate::json::from_slice(body).ok()) {
            Some(Body { error }) => (error.class(status), error.text()),
            None => classify_error::classify_body(status, body),
        }
    }

    fn models_request(&self) -> HttpRequest {
        self.server.request("/v1beta/models?pageSize=1000", None)
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            models: Vec<Model>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Model {
            name: String,
            supported_generation_methods: Option<Vec<String>>,
        }
        let body: Body = crate::json::from_slice(body).map_err(|error| {
            Error::protocol(format!("the answer is not a list of models: {error}"))
        })?;
        let converses = |model: &Model| {
            let methods = model.supported_generation_methods.as_ref();
            methods.is_none_or(|all| all.iter().any(|method| method == "generateContent"))
        };
        let names = body.models.into_iter().filter(converses).map(|it| it.name);
        Ok(names
            .map(|name| name.strip_prefix("models/").unwrap_or(&name).to_owned())
            .collect())
    }
}

/// Sets a field of the body; two objects are merged.
fn merge(body: &mut Value, name: &str, value: &Value) {
    match (body.get_mut(name), value) {
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
        _ => body[name] = value.clone(),
    }
}

/// An error of the API.
#[derive(Deserialize)]
struct ApiError<'a> {
    #[serde(default)]
    code: u16,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    details: Vec<Detail<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(borrow, default)]
    reason: Cow<'a, str>,
    #[serde(borrow, default)]
    retry_delay: Cow<'a, str>,
}

impl ApiError<'_> {
    /// The class of the error. Gemini reports a wrong key as an invalid argument, and every rate limit as a
    /// quota, which the shared classification by phrases would misread.
    fn class(&self, http_status: u16) -> ErrorClass {
        let status = match http_status {
            0 => self.code,
            status => status,
        };
        let key_refused = |detail: &Detail<'_>| detail.reason.starts_with("API_KEY");
        if self.details.iter().any(key_refused) {
            return ErrorClass::Authentication;
        }
        if status == 429 || self.status == "RESOURCE_EXHAUSTED" {
            let delay = self.details.iter().find_map(|detail| {
                let seconds: f64 = detail.retry_delay.strip_suffix('s')?.parse().ok()?;
                wait_of(seconds)
            });
            let delay = delay.or_else(|| wait_in_words(&self.message));
            return ErrorClass::RateLimit { after: delay };
        }
        classify_error::classify(status, &self.status, &self.message)
    }

    fn text(&self) -> String {
        if self.message.is_empty() {
            self.status.to_string()
        } else {
            self.message.to_string()
        }
    }
}
