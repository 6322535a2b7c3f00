//! Ollama's own chat protocol: lines of JSON.
//!
//! <https://docs.ollama.com/api/chat>

mod ollama_decoder;
mod ollama_effort;
mod ollama_request;

use super::catalog::vendor_settings;
use super::lenient_json::JsonStr;
use super::model_details::ModelDetails;
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::with_scheme;
use super::thinking_effort::EffortParams;
use super::tool_schema::SchemaRules;
use super::wire_protocol::{Decoder, DetailsQuery, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error};
use ollama_decoder::OllamaDecoder;
use ollama_effort::ollama_effort;
use serde::Deserialize;
use serde_json::{Value, json};

/// The largest context to request, unless the user or the server sets another: what Ollama recommends for agents. It
/// allocates the memory for all of it at once; its own default is so small that the tools alone fill it.
const MAX_CONTEXT: u64 = 64_000;
/// The largest context that makes sense, in tokens.
const MOST: u64 = 1 << 32;
/// The port of an `OLLAMA_HOST` that names none.
const PORT: u16 = 11434;
/// The context of a server on which nobody has set one. It is too small for an agent.
const DEFAULT_CONTEXT: u64 = 4_096;

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "ollama",
    key_header: None,
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file,
    requires_output_limit: false,
    connect: |server| Box::new(Ollama::new(server)),
};

static RULES: SchemaRules = SchemaRules {
    max_tools: usize::MAX,
    property_names: None,
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "ollama",
    title: "Ollama",
    description: "Open models on this machine or another, run by Ollama",
    preferred: true,
    local: true,
    max_context: MAX_CONTEXT,
    families: &["qwen*"],
    doc: "https://ollama.com/library",
    settings: vendor_settings::OLLAMA,
    ..hosted(&PROTOCOL)
};

/// A server with this protocol. It does not implement `Debug`, because header values are secrets.
struct Ollama {
    server: Endpoint,
}

impl Ollama {
    fn new(mut server: Endpoint) -> Self {
        let length = server.url.trim_end_matches('/').len();
        server.url.truncate(length);
        Ollama { server }
    }
}

/// `OLLAMA_HOST` may be the address that Ollama listens on, to which nothing can connect.
fn base_url(host: &str) -> String {
    let mut url = with_scheme(host, |_| true);
    url = url.replacen("://0.0.0.0", "://127.0.0.1", 1);
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    let authority = &url[start..end];
    let after_ip6 = authority.rsplit(']').next().unwrap_or_default();
    if url.starts_with("http://") && !after_ip6.contains(':') {
        url.insert_str(end, &format!(":{PORT}"));
    }
    url
}

/// Some files contain the path too, and that of OpenAI's protocol.
fn url_in_file(base: &str) -> String {
    let base = base.strip_suffix("/api/chat").unwrap_or(base);
    let base = base.strip_suffix("/v1/chat/completions").unwrap_or(base);
    base.to_owned()
}

impl Protocol for Ollama {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let body = ollama_request::body(request, form, self.server.context)?;
        Ok(self.server.request("/api/chat", Some(body)))
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        &RULES
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        (ollama_effort, &self.server.url)
    }

    /// <https://docs.ollama.com/api-reference/show-model-details>, <https://docs.ollama.com/api/ps>
    fn details_query(&self, model: &str) -> Option<DetailsQuery> {
        let body = serde_json::to_vec(&json!({ "model": model })).ok()?;
        Some(DetailsQuery {
            requests: vec![
                self.server.request("/api/show", Some(body)),
                self.server.request("/api/ps", None),
            ],
            read: details,
        })
    }

    fn decoder(&self, _: &CompletionRequest<'_>, _: &RequestForm) -> Box<dyn Decoder> {
        Box::new(OllamaDecoder::default())
    }

    fn models_request(&self) -> HttpRequest {
        self.server.request("/api/tags", None)
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Models<'a> {
            #[serde(borrow)]
            models: Vec<Model<'a>>,
        }
        #[derive(Deserialize)]
        struct Model<'a> {
            #[serde(borrow)]
            name: JsonStr<'a>,
        }
        let models: Models<'_> = crate::json::from_slice(body).map_err(|error| {
            Error::protocol(format!("the answer is not a list of models ({error})"))
        })?;
        let names = models.models.into_iter().map(|model| model.name.0);
        Ok(names.map(|name| name.into_owned()).collect())
    }
}

/// Whether a model runs in Ollama's cloud, where it needs no memory of this machine.
fn is_in_cloud(model: &str) -> bool {
    model.ends_with("cloud")
}

/// The details of a model: the context of its file, that with which it runs, or its largest. The largest counts up to
/// [`MAX_CONTEXT`], but for a model in Ollama's cloud.
fn details(model: &str, bodies: &[Vec<u8>]) -> ModelDetails {
    let read = |at: usize| -> Value {
        let body = bodies.get(at).map_or(&[][..], Vec::as_slice);
        crate::json::from_slice(body).unwrap_or_default()
    };
    let (shown, running) = (read(0), read(1));
    let set = shown["parameters"].as_str().unwrap_or_default().lines();
    let mut set = set.filter_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let mut runs = running["models"].as_array().into_iter().flatten();
    let tagged = format!("{model}:latest");
    let is_it = |name: &Value| name == model || *name == *tagged;
    let runs = runs.find(|it| is_it(&it["model"]) || is_it(&it["name"]));
    let runs = runs.and_then(|it| it["context_length"].as_u64());
    let mut sizes = shown["model_info"].as_object().into_iter().flatten();
    let largest = sizes.find(|(name, _)| name.ends_with(".context_length"));
    let largest = largest.and_then(|(_, size)| size.as_u64());
    let most = if is_in_cloud(model) {
        MOST
    } else {
        MAX_CONTEXT
    };
    let window = (set.next_back())
        .or(runs.filter(|size| *size > DEFAULT_CONTEXT))
        .or(largest.map(|size| size.min(most)));
    let abilities = shown["capabilities"].as_array();
    ModelDetails {
        window: window.filter(|size| (1..=MOST).contains(size)),
        calls_tools: abilities.map(|all| all.iter().any(|it| *it == *"tools")),
    }
}

#[cfg(test)]
mod tests;
