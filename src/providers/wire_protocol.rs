//! A wire protocol: a completion request in, an HTTP request out; response bytes in, a completion out. No I/O and no
//! clock.
//!
//! The message of an [`Error`] made by a protocol says only what is wrong. The HTTP provider redacts secrets
//! in it, and adds the provider's name and what the user can do.

use super::model_details::ModelDetails;
use super::request_form::{Refusal, RequestForm};
use super::responses_url::{UseResponses, use_responses};
use super::thinking_effort::EffortParams;
use super::tool_schema::SchemaRules;
use super::{Completion, CompletionRequest, DeltaSink, Error, ErrorClass, classify_error};

/// An HTTP request to a provider.
pub(super) struct HttpRequest {
    /// The complete URL.
    pub(super) url: String,
    /// Header fields. Their values may be secrets.
    pub(super) headers: Vec<(String, String)>,
    /// The JSON body of a POST; a GET if absent.
    pub(super) body: Option<Vec<u8>>,
}

/// How a protocol asks for the details of a model.
pub(super) struct DetailsQuery {
    pub(super) requests: Vec<HttpRequest>,
    /// Reads the bodies of the responses, in the order of the requests; an absent one is empty.
    pub(super) read: fn(model: &str, bodies: &[Vec<u8>]) -> ModelDetails,
}

/// A wire protocol. The HTTP provider calls it, once for each request.
pub(super) trait Protocol: Send + Sync {
    /// Writes the request, in this form.
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest>;
    /// What its servers accept of tools.
    fn schema_rules(&self) -> &'static SchemaRules;
    /// The parameters for how much the model thinks, and the URL that they depend on.
    fn effort_params(&self) -> (EffortParams, &str);
    /// Whether the size of the input affects the request ([`CompletionRequest::input`]).
    fn uses_input_size(&self) -> bool {
        true
    }
    /// Changes the form of a request that the server refused so that it may succeed, and says how; `None` if
    /// it cannot be changed.
    fn adapt(
        &self,
        form: &mut RequestForm,
        refusal: Refusal<'_>,
        request: &CompletionRequest<'_>,
    ) -> Option<String> {
        form.adapt(refusal, request)
    }
    /// How the server is asked for the details of a model, if it has them.
    fn details_query(&self, _model: &str) -> Option<DetailsQuery> {
        None
    }
    /// A decoder for the body of a 2xx response to this request in this form.
    fn decoder(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> Box<dyn Decoder>;
    /// The class of any other response, and the provider's message. The caller reads the `Retry-After` header.
    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        classify_error::classify_body(status, body)
    }
    /// The request for the list of models.
    fn models_request(&self) -> HttpRequest;
    /// The model names in the body of its 2xx response.
    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error>;
}

/// Decodes the body of one response, in pieces of any size. The HTTP provider calls it for each read.
pub(super) trait Decoder: Send {
    /// Decodes the next piece and passes its deltas to `sink`; true when the response is complete, even
    /// if the connection stays open.
    ///
    /// # Errors
    /// An error that the provider reports in the stream, or [`ErrorClass::Protocol`].
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error>;
    /// The completion, after the response is complete or the body has ended.
    ///
    /// # Errors
    /// [`ErrorClass::Transport`] if the response is incomplete.
    fn finish(self: Box<Self>) -> Result<Completion, Error>;
}

/// A wire protocol, and everything that the rest of the program knows of it.
pub(super) struct WireProtocol {
    /// Its name in files, and of the Cargo feature; OpenAI's has none.
    pub(super) name: &'static str,
    /// The header for the key; a bearer token if absent.
    pub(super) key_header: Option<&'static str>,
    /// A server's URL from the user's setting, which may lack the scheme and the port or end with a slash.
    pub(super) base_url: fn(&str) -> String,
    /// The URL of an [`Endpoint`] from a server's URL, and the path of chat completions if a setting has it.
    pub(super) endpoint_url: fn(base: &str, path: Option<&str>) -> String,
    /// The URL of an [`Endpoint`] from a URL in a file, which may contain the path of the protocol too.
    pub(super) url_in_file: fn(base: &str) -> String,
    /// Every request contains a limit on output.
    pub(super) requires_output_limit: bool,
    /// Makes it.
    pub(super) connect: fn(Endpoint) -> Box<dyn Protocol>,
}

/// A server with a wire protocol, and its dialect of OpenAI's.
///
/// It does not implement `Debug`, because header values are secrets.
#[derive(Clone, PartialEq)]
pub struct Endpoint {
    /// The complete URL of chat completions, for example `https://api.openai.com/v1/chat/completions`; for another
    /// protocol than OpenAI's the URL of the server.
    pub url: String,
    /// The complete URL of the list of models, for OpenAI's protocol.
    pub models_url: String,
    /// Sent with every request, `Authorization` included.
    pub headers: Vec<(String, String)>,
    /// Request a stream.
    pub stream: bool,
    /// Request the number of tokens in a stream. Some servers refuse the option.
    pub stream_usage: bool,
    /// Send the model's reasoning back as `reasoning_content` with its tool calls. DeepSeek requires it;
    /// others ignore or refuse it.
    pub reasoning_back: bool,
    /// The same, but only where the model has sent some.
    pub reasoning_if_any: bool,
    /// Mark for the server's cache what Claude models have been sent before, for OpenAI's protocol.
    pub marks_cache: bool,
    /// When requests go over Responses instead of chat completions, for OpenAI's protocols.
    pub responses: UseResponses,
    /// Azure's name for the deployed model, sent in place of the model's name unless the URL contains it.
    pub deployment: Option<String>,
    /// The context in tokens that the user has set for every model, for Ollama's protocol.
    pub context: Option<u64>,
}

impl Endpoint {
    /// A server with the dialect of OpenAI itself, without headers. The URL says when it uses Responses.
    pub fn new(url: impl Into<String>, models_url: impl Into<String>) -> Self {
        let url = url.into();
        Endpoint {
            responses: use_responses(&url),
            url,
            models_url: models_url.into(),
            headers: Vec::new(),
            stream: true,
            stream_usage: true,
            reasoning_back: false,
            reasoning_if_any: false,
            marks_cache: false,
            deployment: None,
            context: None,
        }
    }

    /// The name of the model in the body of a request.
    pub(super) fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.deployment.as_deref().unwrap_or(name)
    }

    /// A request to a path below `url`.
    pub(super) fn request(&self, path: &str, body: Option<Vec<u8>>) -> HttpRequest {
        HttpRequest {
            url: format!("{}{path}", self.url),
            headers: self.headers.clone(),
            body,
        }
    }
}

impl PartialEq for WireProtocol {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
