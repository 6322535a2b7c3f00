//! Ollama's own chat protocol: lines of JSON.
//!
//! <https://docs.ollama.com/api/chat>

mod decoder;
mod request;

use super::classify_error;
use super::lenient_json::JsonStr;
use super::protocol::{Decoder, HttpRequest, Protocol};
use super::{CompletionRequest, Error, ErrorClass};
use serde::Deserialize;

/// The address of an Ollama server.
///
/// It does not implement `Debug`, because header values are secrets.
#[derive(Clone)]
pub struct OllamaOptions {
    /// For example `http://localhost:11434`.
    pub base_url: String,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
}

/// The protocol.
pub(super) struct Ollama {
    options: OllamaOptions,
}

impl Ollama {
    pub(super) fn new(options: OllamaOptions) -> Self {
        Ollama { options }
    }

    fn outgoing(&self, path: &str, body: Option<Vec<u8>>) -> HttpRequest {
        HttpRequest {
            url: format!("{}{path}", self.options.base_url.trim_end_matches('/')),
            headers: self.options.headers.clone(),
            body,
        }
    }
}

impl Protocol for Ollama {
    fn http_request(&self, request: &CompletionRequest<'_>) -> Result<HttpRequest, Error> {
        let body = request::body(request).map_err(|e| {
            let what = format!("the request cannot be written as JSON ({e})");
            Error::new(ErrorClass::Refused, what)
        })?;
        Ok(self.outgoing("/api/chat", Some(body)))
    }

    fn decoder(&self, _request: &CompletionRequest<'_>) -> Box<dyn Decoder> {
        Box::new(decoder::OllamaDecoder::default())
    }

    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        classify_error::classify_body(status, body)
    }

    fn models_request(&self) -> HttpRequest {
        self.outgoing("/api/tags", None)
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
            let what = format!("the answer is not a list of models ({error})");
            Error::new(ErrorClass::Protocol, what)
        })?;
        let names = models.models.into_iter().map(|model| model.name.0);
        Ok(names.map(|name| name.into_owned()).collect())
    }
}
