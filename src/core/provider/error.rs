//! Errors of providers.

use crate::store;
use std::fmt;
use std::time::Duration;

/// The class of an error, which decides what gosling does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The provider is unknown or not configured.
    Config,
    /// The key is missing or wrong, or is not allowed to use the model.
    Authentication,
    /// Too many requests; a retry may succeed.
    RateLimit {
        /// How long to wait, if the provider says so.
        after: Option<Duration>,
    },
    /// The conversation exceeds the model's context.
    ContextExceeded,
    /// The model does not accept an image of the conversation.
    Image,
    /// The account has no credits.
    Credits,
    /// The provider rejects this request; a retry cannot succeed.
    Refused,
    /// The provider failed; a retry may succeed.
    Server,
    /// No byte came within the timeout.
    Timeout,
    /// The provider is unreachable, or the connection broke.
    Transport,
    /// The response does not follow the wire protocol.
    Protocol,
    /// The caller cancelled the request.
    Cancelled,
}

/// Why a request to a model failed, in one sentence for the user. It never contains a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The class.
    pub class: ErrorClass,
    /// The sentence, with the provider's name and what the user can do.
    pub message: String,
}

impl Error {
    /// A response that does not follow the wire protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Error::new(ErrorClass::Protocol, message)
    }

    /// An error of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Error {
            class,
            message: message.into(),
        }
    }
}

/// A setting that is wrong or cannot be read.
impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Error::new(ErrorClass::Config, error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
