//! Errors of operations on sessions.

use crate::{extension, provider, store};
use std::fmt;
use std::path::PathBuf;

/// Why an operation on a session failed. The texts reach the client; `api` maps each to an HTTP status.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No session has this id.
    NoSession,
    /// The session exists, but its agent does not run.
    NotRunning {
        /// The session's id.
        id: String,
    },
    /// The working directory is not a directory.
    WorkingDir {
        /// The path.
        path: PathBuf,
    },
    /// A parameter or the configuration is invalid.
    Config {
        /// What is wrong.
        reason: String,
    },
    /// The recipe cannot be used.
    Recipe {
        /// What kind of fault it has.
        fault: RecipeFault,
        /// A sentence about that.
        reason: String,
    },
    /// An extension failed.
    Extension(extension::Error),
    /// A file could not be read or written.
    Store(store::Error),
    /// No turn of the session is running.
    NoTurn,
    /// A turn of the session is running.
    Working {
        /// The process that runs it; `None` for this one.
        holder: Option<String>,
    },
    /// The model or its provider failed.
    Model(provider::Error),
    /// The client disconnected, or the server is stopping.
    Cancelled,
    /// Code of the program, such as its model, has panicked.
    Panicked {
        /// The message of the panic.
        reason: String,
    },
    /// Too many turns are running, or no thread could be started.
    Busy {
        /// A sentence about that.
        reason: String,
    },
}

/// What is wrong with a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecipeFault {
    /// There is no recipe with the id.
    Unknown,
    /// A file or folder of recipes cannot be read or written.
    Files,
    /// The recipe, its values or the link cannot be used.
    Invalid,
}

impl Error {
    /// A parameter or the configuration is invalid: what is wrong.
    pub(in crate::agent) fn config(reason: impl fmt::Display) -> Self {
        Error::Config {
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoSession => f.write_str("Session not found"),
            Error::NotRunning { id } => write!(
                f,
                "the agent of session {id} is not running; resume it with POST /agent/resume"
            ),
            Error::NoTurn => {
                f.write_str("no turn of the session is running; send it as a message of its own")
            }
            Error::WorkingDir { path } => write!(f, "{path:?} is not a directory"),
            Error::Config { reason } | Error::Recipe { reason, .. } | Error::Busy { reason } => {
                f.write_str(reason)
            }
            Error::Extension(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::Working { holder } => store::Error::TurnInProgress {
                holder: holder.clone(),
            }
            .fmt(f),
            Error::Model(error) => error.fmt(f),
            Error::Cancelled => f.write_str("the request was cancelled"),
            Error::Panicked { reason } => write!(f, "the program has panicked: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::SessionNotFound { .. } => Error::NoSession,
            store::Error::TurnInProgress { holder } => Error::Working { holder },
            error => Error::Store(error),
        }
    }
}

impl From<extension::Error> for Error {
    fn from(error: extension::Error) -> Self {
        Error::Extension(error)
    }
}

impl From<provider::Error> for Error {
    fn from(error: provider::Error) -> Self {
        Error::Model(error)
    }
}
