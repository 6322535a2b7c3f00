//! Ollama's own chat protocol: lines of JSON.
//!
//! <https://docs.ollama.com/api/chat>

mod decoder;
mod request;

use super::failure;
use super::lenient::Str;
use super::protocol::{Decoder, Outgoing, Protocol};
use super::{Ask, Class, Error};
use serde::Deserialize;

/// Where Ollama is.
///
/// There is no `Debug`, because header values are secrets.
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

    fn outgoing(&self, path: &str, body: Option<Vec<u8>>) -> Outgoing {
        Outgoing {
            url: format!("{}{path}", self.options.base_url.trim_end_matches('/')),
            headers: self.options.headers.clone(),
            body,
        }
    }
}

impl Protocol for Ollama {
    fn request(&self, ask: &Ask<'_>) -> Result<Outgoing, Error> {
        let body = request::body(ask).map_err(|e| {
            let what = format!("the request cannot be written as JSON ({e})");
            Error::new(Class::Refused, what)
        })?;
        Ok(self.outgoing("/api/chat", Some(body)))
    }

    fn decoder(&self, _ask: &Ask<'_>) -> Box<dyn Decoder> {
        Box::new(decoder::Reader::default())
    }

    fn failure(&self, status: u16, body: &[u8]) -> (Class, String) {
        failure::read(status, body)
    }

    fn list_models(&self) -> Outgoing {
        self.outgoing("/api/tags", None)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Models<'a> {
            #[serde(borrow)]
            models: Vec<Model<'a>>,
        }
        #[derive(Deserialize)]
        struct Model<'a> {
            #[serde(borrow)]
            name: Str<'a>,
        }
        let models: Models<'_> = crate::json::from_slice(body).map_err(|error| {
            let what = format!("what came is no list of models ({error})");
            Error::new(Class::Protocol, what)
        })?;
        let names = models.models.into_iter().map(|model| model.name.0);
        Ok(names.map(|name| name.into_owned()).collect())
    }
}
