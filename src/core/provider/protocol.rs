//! The interface of a wire protocol: a completion request in, an HTTP request out; response bytes in, a
//! completion out. No I/O and no clock.
//!
//! The message of an [`Error`] made by a protocol says only what is wrong. The HTTP provider redacts secrets
//! in it, and adds the provider's name and what the user can do.

use super::{Completion, CompletionRequest, DeltaSink, Error, ErrorClass};

/// An HTTP request to a provider.
pub(super) struct HttpRequest {
    /// The complete URL.
    pub(super) url: String,
    /// Header fields. Their values may be secrets.
    pub(super) headers: Vec<(String, String)>,
    /// The JSON body of a POST; a GET if absent.
    pub(super) body: Option<Vec<u8>>,
}

/// A wire protocol. The HTTP provider calls it, once for each request.
pub(super) trait Protocol: Send + Sync {
    /// Writes the request.
    fn http_request(&self, request: &CompletionRequest<'_>) -> Result<HttpRequest, Error>;
    /// Whether the size of the input affects the request ([`CompletionRequest::input`]).
    fn uses_input_size(&self) -> bool {
        true
    }
    /// A decoder for the body of a 2xx response to this request.
    fn decoder(&self, request: &CompletionRequest<'_>) -> Box<dyn Decoder>;
    /// The class of any other response, and the provider's message: see
    /// [`classify_error`](super::classify_error). The caller reads the `Retry-After` header.
    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String);
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
