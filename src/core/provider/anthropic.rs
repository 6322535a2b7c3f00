//! The Anthropic messages API, the protocol of Claude models.
//!
//! <https://docs.anthropic.com/en/api/messages>, version 2023-06-01.

mod messages_decoder;
mod messages_request;
#[cfg(test)]
mod tests;

use super::body_fields::with_parameters;
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::base_url;
use super::thinking_origin::origin;
use super::tool_names::ToolNames;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error, vendor_settings};
use messages_decoder::MessagesDecoder;
use serde::Deserialize;
use serde_json::Value;

const VERSION: &str = "2023-06-01";
/// The request parameter that is sent as a header.
const BETA: &str = "anthropic_beta";

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "anthropic",
    key_header: Some("x-api-key"),
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: true,
    connect: |server| Box::new(Anthropic::new(server)),
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "anthropic",
    title: "Anthropic",
    description: "Claude models, over the messages API",
    preferred: true,
    families: &["claude-sonnet-*"],
    doc: "https://docs.anthropic.com/en/docs/about-claude/models",
    settings: vendor_settings::ANTHROPIC,
    ..hosted(&PROTOCOL)
};

/// A server with this protocol. It does not implement `Debug`, because headers contain the key.
pub(super) struct Anthropic {
    /// Its URL is without `/v1/messages`.
    server: Endpoint,
}

impl Anthropic {
    /// The URL of the server may end with `/v1` or `/v1/messages`; its headers contain the key.
    pub(super) fn new(mut server: Endpoint) -> Self {
        let base = server.url.trim_end_matches('/');
        let base = base.strip_suffix("/messages").unwrap_or(base);
        server.url = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        let version = ("anthropic-version".to_owned(), VERSION.to_owned());
        server.headers.insert(0, version);
        Anthropic { server }
    }
}

impl Protocol for Anthropic {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let own = origin(&self.server.url, &request.model.model_name);
        let body = messages_request::body(request, self.server.stream, &own);
        let mut headers = Vec::new();
        let params = request.model.request_params.as_ref();
        let bytes = with_parameters(&body, params, form, |body, name, value| {
            if name == BETA {
                headers.push(("anthropic-beta".to_owned(), header_value(value)));
            } else {
                body[name] = value.clone();
            }
        })?;
        let mut outgoing = self.server.request("/v1/messages", Some(bytes));
        outgoing.headers.extend(headers);
        Ok(outgoing)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, _: &RequestForm) -> Box<dyn Decoder> {
        let origin = origin(&self.server.url, &request.model.model_name);
        Box::new(MessagesDecoder::new(ToolNames::of(request.tools), origin))
    }

    fn models_request(&self) -> HttpRequest {
        self.server.request("/v1/models?limit=1000", None)
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
            Error::protocol(format!("the answer is not a list of models: {error}"))
        })?;
        Ok(body.data.into_iter().map(|model| model.id).collect())
    }
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
