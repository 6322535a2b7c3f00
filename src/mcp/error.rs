//! What can go wrong between an MCP client and its server.

use super::jsonrpc::{ErrorObject, URL_ELICITATION_REQUIRED};
use super::transport::TransportError;
use super::types::{ElicitMode, ElicitParams};
use crate::text::{printable, redact};
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// How much of a server's own words goes into an error, in characters.
const QUOTED: usize = 500;
/// How long an address may be that is shown, in characters, and how many of them.
const URL: usize = 2_000;
const URLS: usize = 8;

/// Why a request, or the connection, failed. One sentence each, without the server's name: whoever
/// knows it puts it in front.
#[derive(Debug)]
pub enum Error {
    /// The connection failed or could not be made.
    Transport(TransportError),
    /// The connection was over before the request was sent: the server did nothing.
    Unsent(TransportError),
    /// The server answered with a JSON-RPC error.
    Rpc {
        /// What was asked.
        method: &'static str,
        /// The answer.
        error: ErrorObject,
    },
    /// The call has to wait until the user has been at these addresses: it may be repeated then.
    UrlRequired {
        /// What was asked.
        method: &'static str,
        /// Where to go and why, at least one.
        elicitations: Vec<ElicitParams>,
    },
    /// The server broke the protocol.
    Protocol {
        /// What was asked.
        method: &'static str,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The server speaks a version that this client does not.
    Version {
        /// Ours.
        offered: &'static str,
        /// Theirs.
        answered: String,
    },
    /// The server did not declare the capability, so the request was not sent.
    NotDeclared {
        /// For example `resources`.
        capability: &'static str,
    },
    /// No answer came in time.
    TimedOut {
        /// What was asked.
        method: &'static str,
        /// How long it may take without a sign of life.
        after: Duration,
    },
    /// The caller no longer waits.
    Cancelled {
        /// What was asked.
        method: &'static str,
    },
}

impl Error {
    /// What a JSON-RPC error means to the caller.
    pub(super) fn refused(method: &'static str, error: ErrorObject, secrets: &[String]) -> Self {
        #[derive(Deserialize)]
        struct Data {
            elicitations: Vec<ElicitParams>,
        }
        if error.code == URL_ELICITATION_REQUIRED
            && let Some(data) = &error.data
            && let Ok(Data { mut elicitations }) = crate::json::from_str(data.get())
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
                write!(f, "{method} has to wait until the user has been at")?;
                for (n, elicitation) in elicitations.iter().enumerate() {
                    let url = elicitation.url.as_deref().unwrap_or_default();
                    let message = printable(&elicitation.message, QUOTED);
                    let comma = if n > 0 { "," } else { "" };
                    write!(f, "{comma} {} ({message})", printable(url, URL))?;
                }
                f.write_str("; then call again")
            }
            Error::Protocol { method, reason } => write!(f, "{method}: {reason}"),
            Error::Version { offered, answered } => write!(
                f,
                "the server speaks MCP {answered}, which is unknown here ({offered} was offered)"
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
