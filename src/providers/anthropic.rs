//! The Anthropic messages API, the protocol of Claude models.
//!
//! <https://docs.anthropic.com/en/api/messages>, version 2023-06-01.

pub(super) mod bound_origin;
mod claude_effort;
mod messages_decoder;
mod messages_request;
#[cfg(test)]
mod tests;

use super::body_fields::with_parameters;
use super::catalog::vendor_settings;
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::base_url;
use super::thinking_effort::EffortParams;
use super::tool_name_encoding::ToolNames;
use super::tool_schema::SchemaRules;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error};
pub(super) use claude_effort::claude_effort;
use messages_decoder::MessagesDecoder;
use serde::Deserialize;
use serde_json::Value;

const VERSION: &str = "2023-06-01";
/// The request parameter that is sent as a header.
const BETA: &str = "anthropic_beta";
/// The beta that lets a request say what becomes of reasoning behind another beginning.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "anthropic",
    key_header: Some("x-api-key"),
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: true,
    connect: |server| Box::new(Anthropic::new(server)),
};

static RULES: SchemaRules = SchemaRules {
    max_tools: usize::MAX,
    property_names: Some(("_.-", 64)),
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

/// The JSON text of a body, and a header that belongs to it.
type Written = (Vec<u8>, Option<(String, String)>);

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

#[cfg(feature = "vertex")]
impl Anthropic {
    /// The JSON text of the body, and a header, for a server whose URL names the model and whose version of the API
    /// is a field of the body.
    pub(super) fn body_without_model(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
        version: &'static str,
    ) -> serde_json::Result<Written> {
        let (mut body, _) = messages_request::body(request, &self.server, form);
        body.model = None;
        body.anthropic_version = Some(version);
        written(&body, request, form)
    }
}

impl Protocol for Anthropic {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let (body, _) = messages_request::body(request, &self.server, form);
        let (bytes, headers) = written(&body, request, form)?;
        let mut outgoing = self.server.request("/v1/messages", Some(bytes));
        outgoing.headers.extend(headers);
        Ok(outgoing)
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        &RULES
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        (claude_effort, &self.server.url)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> Box<dyn Decoder> {
        let (_, origin) = messages_request::body(request, &self.server, form);
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

/// The JSON text of the body with the user's own parameters, and the header that some of them are.
fn written(
    body: &messages_request::Body<'_>,
    request: &CompletionRequest<'_>,
    form: &RequestForm,
) -> serde_json::Result<Written> {
    let mut betas = Vec::new();
    if body.drops_thinking() {
        betas.push(BINDING_CONTROLS.to_owned());
    }
    let params = request.model.request_params.as_ref();
    let bytes = with_parameters(body, params, form, |body, name, value| {
        if name == BETA {
            betas.push(header_value(value));
        } else {
            body[name] = value.clone();
        }
    })?;
    let header = ("anthropic-beta".to_owned(), betas.join(","));
    Ok((bytes, Some(header).filter(|_| !betas.is_empty())))
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
