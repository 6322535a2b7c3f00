//! The Anthropic messages API, the protocol of Claude models.
//!
//! <https://docs.anthropic.com/en/api/messages>, version 2023-06-01.

mod decoder;
mod request;
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
use serde::Deserialize;
use serde_json::Value;

const VERSION: &str = "2023-06-01";
/// The request parameter that is sent as a header.
const BETA: &str = "anthropic_beta";

/// What it adds to the build.
pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    vendor: ProviderSpec {
        name: "anthropic",
        title: "Anthropic",
        description: "Claude models, over the messages API",
        preferred: true,
        default_model: "claude-sonnet-4-5",
        models: MODELS,
        doc: "https://docs.anthropic.com/en/docs/about-claude/models",
        settings: vendor_settings::ANTHROPIC,
        ..hosted(&PROTOCOL)
    },
    key_header: Some("x-api-key"),
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: true,
    connect: |server| Box::new(Anthropic::new(&server.url, server.headers, server.stream)),
    #[cfg(any(test, fuzzing))]
    fuzz: |input| fuzzing::completion(&PROTOCOL, input),
    #[cfg(any(test, fuzzing))]
    mixes_parts: true,
};

const MODELS: &[ModelSpec] = &[
    model("claude-sonnet-4-5", 200_000).output(64_000, &[3.0, 15.0, 0.3, 3.75]),
    model("claude-haiku-4-5", 200_000).output(64_000, &[1.0, 5.0, 0.1, 1.25]),
    model("claude-opus-4-5", 200_000).output(64_000, &[5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-1", 200_000).output(32_000, &[15.0, 75.0, 1.5, 18.75]),
    model("claude-opus-4", 200_000).output(32_000, &[15.0, 75.0, 1.5, 18.75]),
    model("claude-sonnet-4", 200_000).output(64_000, &[3.0, 15.0, 0.3, 3.75]),
    model("claude-3-7-sonnet", 200_000).output(64_000, &[3.0, 15.0, 0.3, 3.75]),
    model("claude-3-5-sonnet", 200_000).output(8_192, &[3.0, 15.0, 0.3, 3.75]),
    model("claude-3-5-haiku", 200_000).output(8_192, &[0.8, 4.0, 0.08, 1.0]),
    model("claude-3-opus", 200_000).output(4_096, &[15.0, 75.0, 1.5, 18.75]),
    model("claude-3-haiku", 200_000).output(4_096, &[0.25, 1.25, 0.03, 0.3]),
];

/// A server with this protocol. It does not implement `Debug`, because headers contain the key.
pub(super) struct Anthropic {
    /// Without `/v1/messages`.
    base: String,
    headers: Vec<(String, String)>,
    /// Request a stream.
    stream: bool,
}

impl Anthropic {
    /// `base` is the server's URL, with or without `/v1` or `/v1/messages`; `headers` contain the key.
    pub(super) fn new(base: &str, headers: Vec<(String, String)>, stream: bool) -> Self {
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix("/messages").unwrap_or(base);
        let base = base.strip_suffix("/v1").unwrap_or(base);
        Anthropic {
            base: base.to_owned(),
            headers,
            stream,
        }
    }

    fn outgoing(&self, path: &str) -> HttpRequest {
        let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
        headers.extend(self.headers.iter().cloned());
        HttpRequest {
            url: format!("{}{path}", self.base),
            headers,
            body: None,
        }
    }
}

impl Protocol for Anthropic {
    fn http_request(&self, request: &CompletionRequest<'_>) -> Result<HttpRequest, Error> {
        let mut outgoing = self.outgoing("/v1/messages");
        let body = request::body(request, self.stream);
        let bytes = match &request.model.request_params {
            Some(params) if !params.is_empty() => {
                let mut merged = crate::json::to_value(&body).map_err(unwritable)?;
                for (name, value) in params {
                    if name == BETA {
                        let header = ("anthropic-beta".to_owned(), header_value(value));
                        outgoing.headers.push(header);
                    } else {
                        merged[name] = value.clone();
                    }
                }
                serde_json::to_vec(&merged)
            }
            _ => serde_json::to_vec(&body),
        };
        outgoing.body = Some(bytes.map_err(unwritable)?);
        Ok(outgoing)
    }

    fn decoder(&self, request: &CompletionRequest<'_>) -> Box<dyn Decoder> {
        Box::new(decoder::AnthropicDecoder::new(ToolNames::of(request.tools)))
    }

    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        classify_error::classify_body(status, body)
    }

    fn models_request(&self) -> HttpRequest {
        self.outgoing("/v1/models?limit=1000")
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Body {
            data: Vec<Model>,
        }
        #[derive(Deserialize)]
        struct Model {
            id: String,
        }
        let body: Body = crate::json::from_slice(body).map_err(|error| {
            Error::new(
                ErrorClass::Protocol,
                format!("the answer is not a list of models: {error}"),
            )
        })?;
        Ok(body.data.into_iter().map(|model| model.id).collect())
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(
        ErrorClass::Protocol,
        format!("the question cannot be written: {error}"),
    )
}

/// A parameter as the value of a header; the items of a list are separated by commas.
fn header_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(header_value).collect();
            texts.join(",")
        }
        other => other.to_string(),
    }
}
