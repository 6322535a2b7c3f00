//! HTTP requests that gosling makes: to MCP servers and to models. What both need beyond ureq.
//!
//! A `Target` is where to: checked once, with what every request has in common and what must not be
//! shown. A `Line` is a connection to it that can be shut down from outside without hurting another.
//! [`sse`] reads event streams, `said` makes a server's words fit to be shown.

pub(crate) mod said;
pub mod sse;
mod target;
mod wire;

pub(crate) use target::{Place, Target, is_local};
pub(crate) use wire::{Addresses, Line};

use std::io;
use ureq::http::header::{self, HeaderMap, HeaderValue};
use ureq::{Error, Timeout};

/// What went wrong, in a few words. ureq's own texts may hold the URI, so only some are used.
pub(crate) fn cause(error: &Error) -> String {
    match error {
        Error::Io(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            "connection refused; is it running?".to_owned()
        }
        Error::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection in mid-answer".to_owned()
        }
        Error::Io(e) => e.to_string(),
        Error::HostNotFound => "no such host; check the uri".to_owned(),
        Error::Timeout(Timeout::Resolve) => "its name could not be looked up in time".to_owned(),
        Error::Timeout(Timeout::Connect) => "no connection within the time allowed".to_owned(),
        Error::Timeout(Timeout::PerWrite) => "it does not take what it is sent".to_owned(),
        Error::Timeout(_) => "no answer within the time allowed".to_owned(),
        Error::BadUri(_) => "the uri cannot be used".to_owned(),
        Error::InvalidProxyUrl => "the proxy's address in the environment is wrong".to_owned(),
        other => other.to_string(),
    }
}

/// Without parameters, in lower case; empty when there is none.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(value.unwrap_or_default());
    let media_type = value.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

/// The connection ended, as one does that the server closes for its age.
pub(crate) fn is_broken(error: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error, Error::Io(e) if matches!(
        e.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    ))
}
