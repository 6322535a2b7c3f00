//! Errors of an MCP client.

use super::jsonrpc::{ErrorObject, URL_ELICITATION_REQUIRED};
use super::transport::TransportError;
use super::types::{ElicitMode, ElicitParams};
use gosling_text::{printable, redact};
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// The longest quotation of the server's text, in characters.
const QUOTED: usize = 500;
/// The longest address in an error, in characters.
const URL: usize = 2_000;
const URLS: usize = 8;

/// Why a request or the connection failed. Each text is one sentence without the server's name, which the
/// caller adds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The connection could not be made or failed.
    Transport(TransportError),
    /// The connection ended before the request was sent: the server did not run it.
    Unsent(TransportError),
    /// The server answered with a JSON-RPC error.
    Rpc {
        /// The method of the request.
        method: &'static str,
        /// The server's error.
        error: ErrorObject,
    },
    /// The user has to visit these addresses first; then the call may be repeated.
    UrlRequired {
        /// The method of the request.
        method: &'static str,
        /// The addresses and their reasons, at least one.
        elicitations: Vec<ElicitParams>,
    },
    /// The server violated the protocol.
    Protocol {
        /// The method of the request.
        method: &'static str,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The server answered with an unsupported protocol version.
    Version {
        /// This client's version.
        offered: &'static str,
        /// The server's version.
        answered: String,
    },
    /// The server did not declare the capability, so the request was not sent.
    NotDeclared {
        /// For example `resources`.
        capability: &'static str,
    },
    /// The server did not answer in time.
    TimedOut {
        /// The method of the request.
        method: &'static str,
        /// The time limit without progress.
        after: Duration,
    },
    /// The caller cancelled.
    Cancelled {
        /// The method of the request.
        method: &'static str,
    },
}

impl Error {
    /// The error for an answer that cannot be decoded.
    pub(super) fn wrong_shape(method: &'static str, reason: &str) -> Self {
        let reason = format!("the answer has the wrong shape: {reason}");
        Error::Protocol { method, reason }
    }

    /// The error for a JSON-RPC error of the server.
    pub(super) fn refused(method: &'static str, error: ErrorObject, secrets: &[String]) -> Self {
        #[derive(Deserialize)]
        struct Data {
            elicitations: Vec<ElicitParams>,
        }
        if error.code == URL_ELICITATION_REQUIRED
            && let Some(data) = &error.data
            && let Ok(Data { mut elicitations }) = gosling_text::json::from_str(data.get())
        {
            elicitations.retain(|e| e.mode == ElicitMode::Url && e.check().is_ok());
            elicitations.truncate(URLS);
            for elicitation in &mut elicitations {
                elicitation.message = redact(&elicitation.message, secrets);
            }
            if !elicitations.is_empty() {
                return Error::UrlRequired {
                    method,
                    elicitations,
                };
            }
        }
        let message = redact(&error.message, secrets);
        let error = ErrorObject { message, ..error };
        Error::Rpc { method, error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Transport(error) | Error::Unsent(error) => error.fmt(f),
            Error::Rpc { method, error } => write!(
                f,
                "{method} was refused: {} (code {})",
                printable(&error.message, QUOTED),
                error.code
            ),
            Error::UrlRequired {
                method,
                elicitations,
            } => {
                write!(f, "{method} requires that the user first visits")?;
                for (n, elicitation) in elicitations.iter().enumerate() {
                    let url = elicitation.url.as_deref().unwrap_or_default();
                    let message = printable(&elicitation.message, QUOTED);
                    let comma = if n > 0 { "," } else { "" };
                    write!(f, "{comma} {} ({message})", printable(url, URL))?;
                }
                f.write_str("; then repeat the call")
            }
            Error::Protocol { method, reason } => write!(f, "{method}: {reason}"),
            Error::Version { offered, answered } => write!(
                f,
                "the server speaks MCP {answered}, which gosling does not support (it offered {offered})"
            ),
            Error::NotDeclared { capability } => {
                write!(
                    f,
                    "the server did not declare the capability `{capability}`"
                )
            }
            Error::TimedOut { method, after } => {
                write!(f, "{method} was not answered within {after:?}")
            }
            Error::Cancelled { method } => write!(f, "{method} was cancelled"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Transport(error) | Error::Unsent(error) => Some(error),
            _ => None,
        }
    }
}
