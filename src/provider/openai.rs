//! OpenAI's chat completions, and everything that speaks them.
//!
//! <https://platform.openai.com/docs/api-reference/chat>

use super::failure;
use super::protocol::{Decoder, Outgoing, Protocol};
use super::{Ask, Class, Error};

/// Where chat completions are spoken, and in which dialect.
///
/// There is no `Debug`, because header values are secrets.
#[derive(Clone)]
pub struct OpenAiOptions {
    /// The whole URL of the endpoint, for example `https://api.openai.com/v1/chat/completions`.
    pub chat_url: String,
    /// The whole URL of the list of models.
    pub models_url: String,
    /// Sent with every request, `Authorization` included.
    pub headers: Vec<(String, String)>,
    /// Ask for the answer in pieces.
    pub stream: bool,
    /// Ask for the tokens to be counted in a stream. Some servers refuse the question.
    pub stream_usage: bool,
    /// Send back what the model thought, as `reasoning_content`, while it works with its tools.
    /// DeepSeek wants it; others ignore or refuse it.
    pub reasoning_back: bool,
}

impl OpenAiOptions {
    /// The dialect of OpenAI itself, without headers.
    pub fn new(chat_url: impl Into<String>, models_url: impl Into<String>) -> Self {
        OpenAiOptions {
            chat_url: chat_url.into(),
            models_url: models_url.into(),
            headers: Vec::new(),
            stream: true,
            stream_usage: true,
            reasoning_back: false,
        }
    }
}

/// The protocol.
pub(super) struct OpenAi {
    options: OpenAiOptions,
}

impl OpenAi {
    pub(super) fn new(options: OpenAiOptions) -> Self {
        OpenAi { options }
    }
}

impl Protocol for OpenAi {
    fn request(&self, _ask: &Ask<'_>) -> Result<Outgoing, Error> {
        Err(Error::new(Class::Config, self.options.chat_url.clone()))
    }

    fn decoder(&self, _ask: &Ask<'_>) -> Box<dyn Decoder> {
        unimplemented!()
    }

    fn failure(&self, status: u16, body: &[u8]) -> (Class, String) {
        failure::read(status, body)
    }

    fn list_models(&self) -> Outgoing {
        Outgoing {
            url: self.options.models_url.clone(),
            headers: self.options.headers.clone(),
            body: None,
        }
    }

    fn read_models(&self, _body: &[u8]) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
