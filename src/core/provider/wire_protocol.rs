//! What a wire protocol adds to the build, and the protocols and providers of this build.

use super::openai;
use super::protocol::Protocol;
use super::provider_spec::ProviderSpec;
use super::{Error, ErrorClass, InProcessProvider};
use crate::features;

/// The protocols of this build, in the order in which clients show their vendors.
pub(super) static PROTOCOLS: &[&WireProtocol] = &[
    &openai::PROTOCOL,
    #[cfg(feature = "anthropic")]
    &super::anthropic::PROTOCOL,
    #[cfg(feature = "ollama")]
    &super::ollama::PROTOCOL,
    #[cfg(feature = "google")]
    &super::google::PROTOCOL,
];

/// The providers of this build that are part of the program.
pub fn in_process_providers() -> impl Iterator<Item = InProcessProvider> {
    let makers: &[fn() -> InProcessProvider] = &[
        #[cfg(feature = "scripted")]
        super::scripted::scripted,
    ];
    makers.iter().map(|make| make())
}

/// A wire protocol, and everything that the rest of the program knows of it.
pub(super) struct WireProtocol {
    /// The provider of the vendor who defines it. Its name is that of the protocol in files, and of the Cargo
    /// feature; OpenAI's has none.
    pub(super) vendor: ProviderSpec,
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
    /// Its fuzz target, which has its name.
    #[cfg(any(test, fuzzing))]
    pub(super) fuzz: fn(&[u8]),
    /// The parts of a response may grow in parallel, so text deltas need not come in the order of the content.
    #[cfg(any(test, fuzzing))]
    pub(super) mixes_parts: bool,
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
}

impl Endpoint {
    /// A server with the dialect of OpenAI itself, without headers.
    pub fn new(url: impl Into<String>, models_url: impl Into<String>) -> Self {
        Endpoint {
            url: url.into(),
            models_url: models_url.into(),
            headers: Vec::new(),
            stream: true,
            stream_usage: true,
            reasoning_back: false,
        }
    }
}

impl PartialEq for WireProtocol {
    fn eq(&self, other: &Self) -> bool {
        self.vendor.name == other.vendor.name
    }
}

/// The protocol of this name.
///
/// # Errors
/// [`ErrorClass::Config`] when the build leaves it out.
pub(super) fn protocol_named(name: &str) -> Result<&'static WireProtocol, Error> {
    let found = PROTOCOLS
        .iter()
        .find(|protocol| protocol.vendor.name == name);
    found.copied().ok_or_else(|| {
        let hint = features::hint(name);
        let reason = format!("the protocol `{name}` is not available{hint}");
        Error::new(ErrorClass::Config, reason)
    })
}
