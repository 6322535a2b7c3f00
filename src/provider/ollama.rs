//! Ollama's own chat protocol: lines of JSON.
//!
//! <https://docs.ollama.com/api/chat>

use super::failure;
use super::protocol::{Decoder, Outgoing, Protocol};
use super::{Ask, Class, Error};

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
}

impl Protocol for Ollama {
    fn request(&self, _ask: &Ask<'_>) -> Result<Outgoing, Error> {
        Err(Error::new(Class::Config, self.options.base_url.clone()))
    }

    fn decoder(&self, _ask: &Ask<'_>) -> Box<dyn Decoder> {
        unimplemented!()
    }

    fn failure(&self, status: u16, body: &[u8]) -> (Class, String) {
        failure::read(status, body)
    }

    fn list_models(&self) -> Outgoing {
        Outgoing {
            url: format!("{}/api/tags", self.options.base_url.trim_end_matches('/')),
            headers: self.options.headers.clone(),
            body: None,
        }
    }

    fn read_models(&self, _body: &[u8]) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
