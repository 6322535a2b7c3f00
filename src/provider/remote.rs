//! A provider behind HTTP: carries the bytes of any protocol, tries again, and words what went wrong.

use super::ollama::{Ollama, OllamaOptions};
use super::openai::{OpenAi, OpenAiOptions};
use super::protocol::Protocol;
use super::{Answer, Ask, Class, Error, Listener, Provider};
use crate::sys::cancel::Cancel;
use std::time::Duration;

/// How a provider is called and treated, whatever it speaks.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Its name in errors, for example `OpenAI`.
    pub title: String,
    /// How long it may say nothing.
    pub timeout: Duration,
    /// Refuse every host but this one.
    pub offline: bool,
    /// What to do when it does not accept the key, for example `set OPENAI_API_KEY`.
    pub key_hint: String,
}

impl RemoteOptions {
    /// Options with the defaults: online, ten minutes of silence, no hint.
    pub fn new(title: impl Into<String>) -> Self {
        RemoteOptions {
            title: title.into(),
            timeout: Duration::from_secs(600),
            offline: false,
            key_hint: String::new(),
        }
    }
}

/// A provider behind HTTP. Those who share it share its connections.
pub struct Remote {
    name: String,
    protocol: Box<dyn Protocol>,
    options: RemoteOptions,
}

impl Remote {
    /// A provider that speaks chat completions.
    pub fn openai(name: impl Into<String>, openai: OpenAiOptions, options: RemoteOptions) -> Self {
        Remote::new(name, OpenAi::new(openai), options)
    }

    /// A provider that speaks Ollama's own protocol.
    pub fn ollama(name: impl Into<String>, ollama: OllamaOptions, options: RemoteOptions) -> Self {
        Remote::new(name, Ollama::new(ollama), options)
    }

    /// A provider that speaks this protocol.
    pub(super) fn new(
        name: impl Into<String>,
        protocol: impl Protocol + 'static,
        options: RemoteOptions,
    ) -> Self {
        Remote {
            name: name.into(),
            protocol: Box::new(protocol),
            options,
        }
    }
}

impl Provider for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(
        &self,
        ask: &Ask<'_>,
        _cancel: &Cancel,
        _listener: &mut dyn Listener,
    ) -> Result<Answer, Error> {
        self.protocol.request(ask)?;
        Err(Error::new(Class::Config, self.options.title.clone()))
    }

    fn models(&self, _cancel: &Cancel) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
