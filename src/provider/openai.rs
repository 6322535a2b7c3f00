//! OpenAI's chat completions, and everything that speaks them.
//!
//! <https://platform.openai.com/docs/api-reference/chat>

mod decoder;
mod request;
mod wire;

#[cfg(test)]
mod tests;

use super::failure;
use super::names::Names;
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
    fn request(&self, ask: &Ask<'_>) -> Result<Outgoing, Error> {
        let body = request::body(&self.options, ask).map_err(|e| {
            let what = format!("the request cannot be written as JSON ({e})");
            Error::new(Class::Refused, what)
        })?;
        Ok(Outgoing {
            url: self.options.chat_url.clone(),
            headers: self.options.headers.clone(),
            body: Some(body),
        })
    }

    fn decoder(&self, ask: &Ask<'_>) -> Box<dyn Decoder> {
        Box::new(decoder::Reader::new(Names::of(ask.tools)))
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

    fn read_models(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        let bare = |body| crate::json::from_slice::<Vec<wire::Model<'_>>>(body);
        let models = crate::json::from_slice::<wire::Models<'_>>(body)
            .map(|models| models.data)
            .or_else(|error| bare(body).map_err(|_| error));
        let models = models.map_err(|error| {
            let what = format!("what came is no list of models ({error})");
            Error::new(Class::Protocol, what)
        })?;
        Ok(models
            .into_iter()
            .map(|model| model.id.0.into_owned())
            .collect())
    }
}
