//! OpenAI's chat completions, the protocol of most providers.
//!
//! <https://platform.openai.com/docs/api-reference/chat>
//!
//! OpenAI's other protocol, `/v1/responses`, is not supported: it would need a fifth decoder and a second form
//! of every message, for models of one vendor, most of which have an equivalent here. So the list of models
//! omits those that OpenAI serves only behind it. Other servers with these models (OpenRouter, LiteLLM)
//! translate, so their lists are complete.

mod chat_decoder;
mod chat_json;
mod chat_request;
mod mistral;
mod provider_fields;

#[cfg(test)]
mod tests;

use super::catalog::known_models;
use super::model_traits::ModelTraits;
use super::provider_spec::{
    ProviderSpec, SettingRole, host, hosted, optional_key, path, setting, timeout,
};
use super::request_form::RequestForm;
use super::server_url::{CHAT, base_url, join};
use super::thinking_origin::origin;
use super::tool_names::ToolNames;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error};
use chat_decoder::ChatDecoder;
use chat_json::{Model, Models};

/// OpenAI's own server.
const VENDOR_URL: &str = "https://api.openai.com/";
const DEFAULT_PATH: &str = "v1/chat/completions";

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "openai",
    key_header: None,
    base_url,
    endpoint_url: |base, path| join(base, path.unwrap_or(DEFAULT_PATH)),
    url_in_file: chat_url,
    requires_output_limit: false,
    connect: |server| Box::new(OpenAi::new(server)),
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "openai",
    title: "OpenAI",
    description: "GPT models, and any server that speaks OpenAI's chat completions",
    preferred: true,
    default_model: "gpt-4o",
    models: known_models::OPENAI,
    doc: "https://platform.openai.com/docs/models",
    settings: &[
        optional_key("OPENAI_API_KEY"),
        host("OPENAI_HOST", "https://api.openai.com"),
        path("OPENAI_BASE_PATH", "v1/chat/completions"),
        setting(
            "OPENAI_ORGANIZATION",
            SettingRole::Header("OpenAI-Organization"),
        ),
        setting("OPENAI_PROJECT", SettingRole::Header("OpenAI-Project")),
        setting("OPENAI_CUSTOM_HEADERS", SettingRole::Headers),
        timeout("OPENAI_TIMEOUT"),
    ],
    ..hosted(&PROTOCOL)
};

/// A server with this protocol.
pub(super) struct OpenAi {
    endpoint: Endpoint,
}

impl OpenAi {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        OpenAi { endpoint }
    }
}

impl Protocol for OpenAi {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let body = chat_request::body(&self.endpoint, request, form)?;
        Ok(self.endpoint.request("", Some(body)))
    }

    fn uses_input_size(&self) -> bool {
        false
    }

    fn decoder(&self, request: &CompletionRequest<'_>, _: &RequestForm) -> Box<dyn Decoder> {
        let origin = origin(&self.endpoint.url, &request.model.model_name);
        Box::new(ChatDecoder::new(ToolNames::of(request.tools), origin))
    }

    fn models_request(&self) -> HttpRequest {
        HttpRequest {
            url: self.endpoint.models_url.clone(),
            ..self.endpoint.request("", None)
        }
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        let bare = |body| crate::json::from_slice::<Vec<Model<'_>>>(body);
        let models = crate::json::from_slice::<Models<'_>>(body)
            .map(|models| models.data)
            .or_else(|error| bare(body).map_err(|_| error));
        let models = models.map_err(|error| {
            Error::protocol(format!("the answer is not a list of models ({error})"))
        })?;
        let names = models.into_iter().map(|model| model.id.0.into_owned());
        if self.endpoint.models_url.starts_with(VENDOR_URL) {
            return Ok(names
                .filter(|name| !ModelTraits::of(name).needs_responses)
                .collect());
        }
        Ok(names.collect())
    }
}

/// The URL of chat completions. Some files contain only the server, some the version too, some the endpoint.
fn chat_url(base: &str) -> String {
    let after_scheme = base.split_once("://").map_or(base, |(_, rest)| rest);
    let has_path = after_scheme.contains('/');
    join(base, if has_path { CHAT } else { DEFAULT_PATH })
}
