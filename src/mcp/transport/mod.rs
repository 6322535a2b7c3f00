//! Transports: they move messages without knowing their methods.
//!
//! The client passes messages to [`Transport::send`]. The transport passes received messages to a
//! [`MessageHandler`] in the thread that read them, so that an answer reaches its caller directly.

#[cfg(feature = "http")]
pub mod http;
pub mod stdio;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The client's end of a connection to an MCP server.
pub trait Transport: Send + Sync {
    /// Starts to receive. Called once, before the first [`send`](Transport::send).
    ///
    /// # Errors
    /// The connection cannot be used.
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError>;

    /// Sends one message (without framing); does not wait for an answer. `request` is the id of a request: a
    /// transport with one exchange for each request, such as HTTP, reports the failure of that exchange with
    /// it.
    ///
    /// # Errors
    /// The message certainly did not reach the server.
    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError>;

    /// Lends the caller's thread to the transport until `done`: the transport may use it for a short while to
    /// read messages of the server. `done` is cheap and may be called at any time.
    fn read_while_waiting(&self, _done: &dyn Fn() -> bool) {}

    /// Whether a request that failed because the connection ended may have reached the server. Call it once
    /// for each request.
    fn may_have_been_sent(&self, _request: i64) -> bool {
        true
    }

    /// Frees the resources of a request that no caller waits for.
    fn abandon(&self, _request: i64) {}

    /// The negotiated protocol version. Called before `notifications/initialized` is sent.
    fn negotiated(&self, _version: &str) {}

    /// Whether the server at the other end is known to hold something, after it was unused for this time, that its
    /// end would lose.
    fn holds_state(&self, _unused: Duration) -> bool {
        false
    }

    /// Closes the connection and ends its threads and processes. Takes a bounded time; a second call does
    /// nothing.
    fn close(&self);
}

/// The stream on which a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The only stream of the connection.
    Shared,
    /// The stream that answers this request.
    Request(i64),
    /// A stream that belongs to no request.
    Standalone,
}

/// Receives messages and failures. A transport calls it in the thread that read the message.
pub trait MessageHandler: Send + Sync {
    /// Handles one message or batch, without framing.
    fn message(&self, bytes: &[u8], stream: Stream);

    /// Whether no request waits for an answer, so that reading may pause for a moment.
    fn is_idle(&self) -> bool {
        false
    }

    /// Handles the failure of one request's exchange; the connection stays open.
    fn failed(&self, request: i64, error: TransportError);

    /// Handles the end of the connection.
    fn closed(&self, error: TransportError);
}

/// Why a transport failed: one sentence for users, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportError {
    /// This end closed the connection.
    Closed,
    /// The server process ended or closed its input or output.
    Exited {
        /// The exit status, for example `exit status: 3`; empty if unknown.
        status: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// A message of the server is too large.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The server does not read its input.
    NotReading {
        /// The number of waiting bytes.
        waiting: usize,
    },
    /// HTTP: the server answered with an unexpected status.
    Status {
        /// For example 404.
        code: u16,
        /// The server's explanation, shortened.
        detail: String,
    },
    /// HTTP: the server refused the request because of too many requests (429).
    TooManyRequests {
        /// The server's `Retry-After`.
        after: Option<Duration>,
        /// The server's explanation, shortened.
        detail: String,
    },
    /// The server denied access (401, 403).
    #[cfg(feature = "http")]
    Denied(Box<http::Denied>),
    /// HTTP: the server does not know the session any more. It did not run the request.
    SessionExpired {
        /// For example 404.
        code: u16,
        /// The server's explanation, shortened.
        detail: String,
    },
    /// The address refuses connections, so the message was not sent. The server may come back soon.
    Refused(String),
    /// The options are invalid. Nothing was sent.
    Config(String),
    /// The message certainly did not reach the server, so it may be sent again.
    Unreachable(String),
    /// HTTP: the request reached the server, but its answer was lost. The connection stays open.
    ResponseLost(String),
    /// Any other failure.
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
            #[cfg(feature = "http")]
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
