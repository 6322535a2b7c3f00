//! The Anthropic messages API, the protocol of Claude models.
//!
//! <https://docs.anthropic.com/en/api/messages>, version 2023-06-01.

mod decoder;
mod request;
#[cfg(test)]
mod tests;

use super::protocol::{Decoder, HttpRequest, Protocol};
use super::tool_names::ToolNames;
use super::{CompletionRequest, Error, ErrorClass, classify_error};
use serde::Deserialize;
use serde_json::Value;

const VERSION: &str = "2023-06-01";
/// The request parameter that is sent as a header.
const BETA: &str = "anthropic_beta";

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
