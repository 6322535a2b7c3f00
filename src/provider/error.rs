//! Why a model did not answer.

use std::fmt;
use std::time::Duration;

/// What kind of failure it is, and so what may be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The provider is not known or not configured.
    Config,
    /// The key is missing or wrong, or may not use the model.
    Authentication,
    /// Too many requests; another may do in a while.
    RateLimit {
        /// When, if the provider says so.
        after: Option<Duration>,
    },
    /// The conversation is longer than the model can read.
    ContextExceeded,
    /// An image of the conversation is not one that the model takes.
    Image,
    /// The account is empty.
    Credits,
    /// The provider will not answer this request, however often it is asked.
    Refused,
    /// The provider failed; another try may do.
    Server,
    /// Nothing came for too long.
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Transport,
    /// What came is not what the wire protocol says.
    Protocol,
    /// Nobody waits any more.
    Cancelled,
}

/// Why a model did not answer, in one sentence for the user. It never holds a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind.
    pub class: ErrorClass,
    /// The sentence, with the name of the provider and what to do.
    pub message: String,
}

impl Error {
    /// An error of this kind.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Error {
            class,
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
