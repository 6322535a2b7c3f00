//! HTTP requests to MCP servers and to models: what both need beyond ureq.
//!
//! A `Target` is a server: its URI and the headers of every request, checked once, and the secrets that
//! errors redact. A `Connection` is one connection to it; shutting it down does not affect another. It sends a
//! request again if the server has just closed it, and reads bodies within limits.
//! [`sse`] decodes event streams, `error_text` makes the text of a server fit for an error message.
//! A `Fetch` is one short request, for lists of the user and the like.
//! `proxy` and `tls` read the environment, `retry_after` reads the response header of that name.
#![forbid(unsafe_code)]

mod address_cache;
mod connection_progress;
pub mod error_text;
mod exchange;
mod fetch;
#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
mod interruptible_tcp;
mod ip_literal;
mod proxy;
mod redirect;
mod retry_after;
pub mod sse;
mod target;
#[cfg_attr(not(feature = "tls"), path = "without_tls.rs")]
mod tls;

pub use address_cache::AddressCache;
pub use connection_progress::Connection;
pub use exchange::{is_compressed, read_whole_body};
pub use fetch::Fetch;
pub use retry_after::retry_after;
pub use retry_after::wait_of;
pub use target::{Target, TargetOptions, is_loopback_url};

use std::io;
use ureq::config::ConfigBuilder;
use ureq::http::header::{self, HeaderMap, HeaderValue};
use ureq::typestate::AgentScope;
use ureq::{Error, Timeout};

/// The configuration of an agent, while it is made.
type AgentConfig = ConfigBuilder<AgentScope>;

/// The cause of an error, in a few words. ureq's own texts may contain the URI, so only some are used.
pub fn error_cause(error: &Error) -> String {
    match error {
        Error::Io(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            "connection refused; is it running?".to_owned()
        }
        Error::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection in mid-answer".to_owned()
        }
        Error::Io(e) => explained(e.to_string()),
        Error::HostNotFound => "no such host; check the uri".to_owned(),
        Error::Timeout(Timeout::Resolve) => "its name could not be looked up in time".to_owned(),
        Error::Timeout(Timeout::Connect) => "no connection within the time allowed".to_owned(),
        Error::Timeout(Timeout::PerWrite) => "it stopped reading the request".to_owned(),
        Error::Timeout(_) => "no answer within the time allowed".to_owned(),
        Error::BadUri(_) => "the uri cannot be used".to_owned(),
        Error::InvalidProxyUrl => "the proxy's address in the environment is wrong".to_owned(),
        Error::LargeResponseHeader(..) => "the head of its response is too long".to_owned(),
        Error::Protocol(e) => format!("it does not speak HTTP as it should ({e})"),
        Error::ConnectProxyFailed(what) if what.contains("407") => {
            "the proxy wants a user name and a password; set them in its address, as \
             http://USER:PASSWORD@HOST:PORT"
                .to_owned()
        }
        Error::ConnectProxyFailed(what) => {
            format!("the proxy refused to connect to it ({what})")
        }
        other => explained(other.to_string()),
    }
}

/// Replaces an error text of the TLS library by a sentence, if the user can do something about it.
fn explained(text: String) -> String {
    if text.contains("UnknownIssuer") {
        "its certificate is signed by an unknown authority; if that is your own authority, name the \
         file with its certificate in the variable SSL_CERT_FILE"
            .to_owned()
    } else {
        text
    }
}

/// The media type without parameters, in lower case; empty if there is none.
pub fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(value.unwrap_or_default());
    let media_type = value.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

/// Whether the connection ended, as it does when the server closes one that was idle for too long.
fn is_disconnect(error: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error, Error::Io(e) if matches!(
        e.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    ))
}
