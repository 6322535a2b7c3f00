//! A server with OpenAI's protocols: chat completions, the protocol of most providers, and
//! [Responses](super::responses), without which OpenAI's own server refuses its newer models.
//!
//! <https://platform.openai.com/docs/api-reference/chat>
//!
//! A model gets chat completions first, except where its name says that it needs the other; the server's refusal
//! corrects that. Other servers with these models (OpenRouter, LiteLLM) translate.

mod api_choice;
mod chat_decoder;
mod chat_json;
mod chat_request;
mod mistral;
mod provider_fields;

#[cfg(test)]
mod tests;

use super::provider_spec::{
    ProviderSpec, SettingRole, host, hosted, optional_key, path, setting, timeout,
};
use super::request_form::{OpenAiApi, Refusal, RequestForm};
use super::responses::{self, ResponsesDecoder};
use super::responses_url::{UseResponses, names_deployment, responses_url, use_responses};
use super::server_url::{CHAT, base_url, join};
use super::thinking_effort::{self, EffortParams};
use super::thinking_origin::origin;
use super::tool_name_encoding::ToolNames;
use super::tool_schema::SchemaRules;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error};
use chat_decoder::ChatDecoder;
use chat_json::{Model, Models};

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

/// The same server, over Responses alone.
pub(super) static RESPONSES_PROTOCOL: WireProtocol = WireProtocol {
    name: "openai_responses",
    key_header: None,
    base_url,
    endpoint_url: |base, path| join(base, path.unwrap_or("v1/responses")),
    url_in_file: |base| responses_url(&chat_url(base)),
    requires_output_limit: false,
    connect: |server| {
        Box::new(OpenAi::new(Endpoint {
            responses: UseResponses::Always,
            ..server
        }))
    },
};

/// <https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools>
static RULES: SchemaRules = SchemaRules {
    max_tools: 128,
    property_names: None,
};

/// The families of the models to begin with.
pub(super) const FAMILIES: &[&str] = &["gpt-*-sol", "gpt-*"];

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "openai",
    title: "OpenAI",
    description: "GPT models, and any server that speaks OpenAI's chat completions or Responses",
    preferred: true,
    families: FAMILIES,
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

/// A server with these protocols.
pub(super) struct OpenAi {
    /// As it is configured. Reasoning has its origin here, whichever protocol it came over.
    endpoint: Endpoint,
    chat: Endpoint,
    responses: Endpoint,
}

impl OpenAi {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        let responses = Endpoint {
            url: responses_url(&endpoint.url),
            ..endpoint.clone()
        };
        let mut chat = endpoint.clone();
        if names_deployment(&chat.url) {
            chat.deployment = None;
        }
        OpenAi {
            endpoint,
            chat,
            responses,
        }
    }

    /// The protocol of a request in this form.
    fn api(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> OpenAiApi {
        let needs_responses = || form.traits_of(&request.model.model_name).needs_responses;
        match (self.endpoint.responses, form.openai_api) {
            (UseResponses::Always, _) => OpenAiApi::Responses,
            (_, Some(api)) => api,
            (UseResponses::ByModel, None) if needs_responses() => OpenAiApi::Responses,
            (_, None) => OpenAiApi::ChatCompletions,
        }
    }

    fn origin(&self, request: &CompletionRequest<'_>) -> String {
        origin(&self.endpoint.url, &request.model.model_name)
    }
}

impl Protocol for OpenAi {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let (server, body) = match self.api(request, form) {
            OpenAiApi::ChatCompletions => (
                &self.chat,
                chat_request::body(&self.chat, request, form, &self.origin(request))?,
            ),
            OpenAiApi::Responses => (
                &self.responses,
                responses::body(&self.responses, request, form, &self.origin(request))?,
            ),
        };
        Ok(server.request("", Some(body)))
    }

    fn uses_input_size(&self) -> bool {
        false
    }

    fn adapt(
        &self,
        form: &mut RequestForm,
        refusal: Refusal<'_>,
        request: &CompletionRequest<'_>,
    ) -> Option<String> {
        let may_switch =
            form.openai_api.is_none() && self.endpoint.responses != UseResponses::Always;
        let wanted = api_choice::wanted(refusal, self.api(request, form));
        match wanted.filter(|_| may_switch) {
            None => form.adapt(refusal, request),
            Some(api) => {
                form.openai_api = Some(api);
                Some(format!("over {api:?}"))
            }
        }
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        &RULES
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        (thinking_effort::openai, &self.endpoint.url)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> Box<dyn Decoder> {
        let (names, origin) = (ToolNames::of(request.tools), self.origin(request));
        match self.api(request, form) {
            OpenAiApi::ChatCompletions => Box::new(ChatDecoder::new(names, origin)),
            OpenAiApi::Responses => Box::new(ResponsesDecoder::new(names, origin)),
        }
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
        Ok(models
            .into_iter()
            .map(|model| model.id.0.into_owned())
            .collect())
    }
}

/// The URL of chat completions. Some files contain only the server, some the version too, some the endpoint, which
/// may be that of Responses.
fn chat_url(base: &str) -> String {
    if use_responses(base) == UseResponses::Always {
        return base.to_owned();
    }
    let after_scheme = base.split_once("://").map_or(base, |(_, rest)| rest);
    let has_path = after_scheme.contains('/');
    join(base, if has_path { CHAT } else { DEFAULT_PATH })
}
