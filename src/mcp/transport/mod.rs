//! How messages travel. A transport moves bytes and knows nothing of methods.
//!
//! The client hands it messages with [`Transport::send`]; what comes back goes to a [`MessageHandler`],
//! called from whichever thread read it, so that an answer reaches its caller without a hop.

pub mod http;
pub mod memory;
pub mod stdio;

use http::auth_challenge::Denied;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One end of a connection to an MCP server.
pub trait Transport: Send + Sync {
    /// Begins to receive. Called once, before the first [`send`](Transport::send).
    ///
    /// # Errors
    /// When the connection is unusable from the start.
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError>;

    /// Hands over one message (without any framing) and returns without waiting for an answer.
    /// `request` is its id when it is a request: a transport that carries each exchange on its
    /// own, such as HTTP, reports a failure of that exchange by it.
    ///
    /// # Errors
    /// When the message certainly does not reach the server.
    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError>;

    /// The caller is about to wait until `done`: a transport may use its thread meanwhile to read
    /// what the server sends, for a short while. `done` is cheap and may be asked at any time.
    fn read_while_waiting(&self, _done: &dyn Fn() -> bool) {}

    /// Whether a request that failed because the connection ended may have reached the server. To be
    /// asked once for each.
    fn may_have_been_sent(&self, _request: i64) -> bool {
        true
    }

    /// The request is no longer waited for: what it alone holds may be freed.
    fn abandon(&self, _request: i64) {}

    /// `initialize` has been answered: this version from now on. Called before
    /// `notifications/initialized` is sent.
    fn negotiated(&self, _version: &str) {}

    /// Ends the connection and all that belongs to it, threads and processes included. Takes a
    /// bounded time; a second call does nothing.
    fn close(&self);
}

/// On what a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// On the only one that there is.
    Shared,
    /// On the one that answers this request of ours.
    Request(i64),
    /// On one that belongs to no request.
    Standalone,
}

/// What a transport tells the protocol.
pub trait MessageHandler: Send + Sync {
    /// The bytes of one message or batch, without framing.
    fn message(&self, bytes: &[u8], stream: Stream);

    /// Whether nobody waits for an answer, so that reading may pause for a moment.
    fn is_idle(&self) -> bool {
        false
    }

    /// The exchange of this request failed; others may go on.
    fn failed(&self, request: i64, error: TransportError);

    /// Nothing will come any more.
    fn closed(&self, error: TransportError);
}

/// Why a transport could not do its work. One sentence, fit for a person, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// This end closed the connection.
    Closed,
    /// The server process ended or closed its input or output.
    Exited {
        /// How, for example `exit status: 3`; empty if it is not known.
        status: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// A message is larger than is allowed.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The server does not read what it is sent.
    NotReading {
        /// How much waits for it, in bytes.
        waiting: usize,
    },
    /// HTTP: the server answered with an unexpected status.
    Status {
        /// For example 404.
        code: u16,
        /// What the server said about it, shortened.
        detail: String,
    },
    /// HTTP: the server had too many requests (429) and did nothing about this one.
    TooManyRequests {
        /// How long it wants to be left alone, if it says so.
        after: Option<Duration>,
        /// What the server said about it, shortened.
        detail: String,
    },
    /// HTTP: the server does not let this client in (401, 403).
    Denied(Box<Denied>),
    /// HTTP: the server no longer knows the session. It did nothing, and takes the message in a new one.
    SessionExpired {
        /// For example 404.
        code: u16,
        /// What the server said about it, shortened.
        detail: String,
    },
    /// Nobody listens at the address, so the message did not reach the server. It may be back soon.
    Refused(String),
    /// The transport cannot be made from what it was given. Nothing was sent.
    Config(String),
    /// The message certainly did not reach the server, so it may be sent again.
    Unreachable(String),
    /// HTTP: the request reached the server, and no answer came back. Other requests may go on.
    ResponseLost(String),
    /// Anything else that went wrong between the two ends.
    Io(String),
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportError::Closed => f.write_str("the connection is closed"),
            TransportError::Exited { status, stderr } => {
                match status.as_str() {
                    "" => f.write_str("the server closed its input or output")?,
                    status => write!(f, "the server process ended ({status})")?,
                }
                match stderr.as_str() {
                    "" => f.write_str(" and wrote nothing to stderr"),
                    stderr => write!(f, ", stderr = {stderr}"),
                }
            }
            TransportError::TooLarge { limit } => {
                write!(f, "the server sent a message of more than {limit} bytes")
            }
            TransportError::NotReading { waiting } => {
                write!(
                    f,
                    "the server does not read its input ({waiting} bytes wait for it)"
                )
            }
            TransportError::Status { code, detail }
            | TransportError::SessionExpired { code, detail } => match detail.as_str() {
                "" => write!(f, "the server answered HTTP {code}"),
                detail => write!(f, "the server answered HTTP {code}: {detail}"),
            },
            TransportError::TooManyRequests { after, detail } => {
                f.write_str(
                    "the server answered HTTP 429: it has had too many requests; try again ",
                )?;
                match after {
                    Some(after) => write!(f, "in {} s", after.as_secs_f64().ceil().max(1.0))?,
                    None => f.write_str("later")?,
                }
                match detail.as_str() {
                    "" => Ok(()),
                    detail => write!(f, ": {detail}"),
                }
            }
            TransportError::Denied(denied) => write!(f, "the server answered {denied}"),
            TransportError::Config(what)
            | TransportError::Unreachable(what)
            | TransportError::Refused(what)
            | TransportError::ResponseLost(what)
            | TransportError::Io(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for TransportError {}
