//! The Gemini API of Google.
//!
//! <https://ai.google.dev/api/generate-content>, `v1beta`, always as a stream of server-sent events.

mod decoder;
mod request;
mod schema;
#[cfg(test)]
mod tests;

use super::catalog::settings::base_url;
#[cfg(any(test, fuzzing))]
use super::fuzzing;
use super::protocol::{Decoder, HttpRequest, Protocol};
use super::provider_spec::{ModelSpec, ProviderSpec, hosted, model};
use super::tool_names::ToolNames;
use super::wire_protocol::WireProtocol;
use super::{CompletionRequest, Error, ErrorClass, classify_error, vendor_settings};
use crate::outbound::wait_of;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The metadata key of a tool request for the signature that the model expects back with it.
const SIGNATURE: &str = "thoughtSignature";
/// The metadata key of a tool request for its id, if Gemini sent one.
const CALL_ID: &str = "functionCallId";
const VERSION: &str = "v1beta";
/// The characters of a model's name that need no escape in a path.
const NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');

/// What it adds to the build.
pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    vendor: ProviderSpec {
        name: "google",
        title: "Google Gemini",
        description: "Gemini models, over Google's own API",
        preferred: true,
        default_model: "gemini-2.5-pro",
        models: MODELS,
        doc: "https://ai.google.dev/gemini-api/docs/models",
        settings: vendor_settings::GOOGLE,
        ..hosted(&PROTOCOL)
    },
    key_header: Some("x-goog-api-key"),
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: false,
    connect: |server| Box::new(Google::new(&server.url, server.headers)),
    #[cfg(any(test, fuzzing))]
    fuzz: |input| fuzzing::completion(&PROTOCOL, input),
    #[cfg(any(test, fuzzing))]
    mixes_parts: false,
};

const MODELS: &[ModelSpec] = &[
    model("gemini-2.5-pro", 1_048_576).output(65_536, &[1.25, 10.0, 0.125]),
    model("gemini-2.5-flash", 1_048_576).output(65_536, &[0.3, 2.5, 0.03]),
    model("gemini-2.5-flash-lite", 1_048_576).output(65_536, &[0.1, 0.4, 0.01]),
    model("gemini-2.5-flash-image", 32_768).output(32_768, &[0.3, 30.0]),
    model("gemini-2.0-flash", 1_048_576).output(8_192, &[0.1, 0.4, 0.025]),
    model("gemini-2.0-flash-lite", 1_048_576).output(8_192, &[0.075, 0.3]),
    model("gemini-3-pro-preview", 1_048_576).output(65_536, &[2.0, 12.0, 0.2]),
    model("gemini-3-flash-preview", 1_048_576).output(65_536, &[0.5, 3.0, 0.05]),
];

/// A server with this protocol. It does not implement `Debug`, because headers contain the key.
pub(super) struct Google {
    /// Without the version.
    base: String,
    headers: Vec<(String, String)>,
}

impl Google {
    /// `base` is the server's URL, with or without `/v1beta`; `headers` contain the key.
    pub(super) fn new(base: &str, headers: Vec<(String, String)>) -> Self {
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix("/v1beta").unwrap_or(base);
        Google {
            base: base.to_owned(),
            headers,
        }
    }

    fn outgoing(&self, path: &str, body: Option<Vec<u8>>) -> HttpRequest {
        HttpRequest {
            url: format!("{}/{VERSION}/{path}", self.base),
            headers: self.headers.clone(),
            body,
        }
    }
}

impl Protocol for Google {
    fn http_request(&self, request: &CompletionRequest<'_>) -> Result<HttpRequest, Error> {
        let model = request.model.model_name.as_str();
        let model = model.strip_prefix("models/").unwrap_or(model);
        let body = request::body(request);
        let bytes = match &request.model.request_params {
            Some(params) if !params.is_empty() => {
                let mut merged = crate::json::to_value(&body).map_err(unwritable)?;
                for (name, value) in params {
                    merge(&mut merged, name, value);
                }
                serde_json::to_vec(&merged)
            }
            _ => serde_json::to_vec(&body),
        };
        let model = utf8_percent_encode(model, NAME);
        let path = format!("models/{model}:streamGenerateContent?alt=sse");
        Ok(self.outgoing(&path, Some(bytes.map_err(unwritable)?)))
    }

    fn decoder(&self, request: &CompletionRequest<'_>) -> Box<dyn Decoder> {
        Box::new(decoder::GoogleDecoder::new(ToolNames::of(request.tools)))
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
        self.outgoing("models?pageSize=1000", None)
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
            Error::new(
                ErrorClass::Protocol,
                format!("the answer is not a list of models: {error}"),
            )
        })?;
        let converses = |model: &Model| {
            let methods = model.supported_generation_methods.as_ref();
            methods.is_none_or(|all| all.iter().any(|method| method == "generateContent"))
        };
        let models = body.models.into_iter().filter(converses);
        let plain = |name: String| {
            name.strip_prefix("models/")
                .map_or(name.clone(), str::to_owned)
        };
        Ok(models.map(|model| plain(model.name)).collect())
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(
        ErrorClass::Protocol,
        format!("the question cannot be written: {error}"),
    )
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
