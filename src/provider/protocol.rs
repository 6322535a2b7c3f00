//! What a wire protocol is: a question out, bytes in, an answer. No I/O and no clock.
//!
//! The message of an [`Error`] made here says what is wrong and nothing else: whoever carries the
//! bytes redacts secrets in it and puts the provider's name before it and what to do behind it.

use super::{Completion, CompletionRequest, DeltaSink, Error, ErrorClass};

/// A request to a provider.
pub(super) struct HttpRequest {
    /// The whole of it.
    pub(super) url: String,
    /// Header fields. Their values may be secrets.
    pub(super) headers: Vec<(String, String)>,
    /// JSON; a GET without.
    pub(super) body: Option<Vec<u8>>,
}

/// How the providers of one kind are spoken to.
pub(super) trait Protocol: Send + Sync {
    /// The question.
    fn http_request(&self, request: &CompletionRequest<'_>) -> Result<HttpRequest, Error>;
    /// Whether the size of the input changes the request ([`CompletionRequest::input`]).
    fn uses_input_size(&self) -> bool {
        true
    }
    /// Reads the body of a 2xx response to this question.
    fn decoder(&self, request: &CompletionRequest<'_>) -> Box<dyn Decoder>;
    /// What kind of failure another response is, and what the provider says about it: see
    /// [`failure`](super::failure). A `Retry-After` header is read by the caller.
    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String);
    /// The request for the list of models.
    fn models_request(&self) -> HttpRequest;
    /// The names in the body of its 2xx response.
    fn parse_models(&self, body: &[u8]) -> Result<Vec<String>, Error>;
}

/// Reads one answer, in pieces of any size.
pub(super) trait Decoder: Send {
    /// Takes the next piece and tells `sink` what it says; true when the answer is complete, even
    /// if the connection stays open.
    ///
    /// # Errors
    /// What the provider says in mid-stream, and what makes no sense.
    fn push(&mut self, piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error>;
    /// The answer, once it is complete or the body has ended.
    ///
    /// # Errors
    /// [`ErrorClass::Transport`] when something is missing.
    fn finish(self: Box<Self>) -> Result<Completion, Error>;
}
