//! HTTP requests that gosling makes: to MCP servers and to models. What both need beyond ureq.
//!
//! A `Target` is where to: checked once, with what every request has in common and what must not be
//! shown. A `Connection` is a connection to it that can be shut down from outside without hurting another.
//! [`sse`] reads event streams, `said` makes a server's words fit to be shown. The environment says
//! which `proxy` leads to a server and whom to `tls_roots`, and a server how long to leave it alone.

mod connection;
pub(crate) mod error_text;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub(crate) mod offline_variables;
mod proxy;
mod redirect;
mod retry_after;
pub mod sse;
mod target;
mod tls_roots;

pub(crate) use connection::{AddressCache, Connection};
pub(crate) use retry_after::retry_after;
pub(crate) use target::{Target, TargetOptions, is_loopback_url};

use std::io;
use ureq::http::header::{self, HeaderMap, HeaderValue};
use ureq::{Error, Timeout};

/// What went wrong, in a few words. ureq's own texts may hold the URI, so only some are used.
pub(crate) fn error_cause(error: &Error) -> String {
    match error {
        Error::Io(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            "connection refused; is it running?".to_owned()
        }
        Error::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection in mid-answer".to_owned()
        }
        Error::Io(e) => explain_tls_error(e.to_string()),
        Error::HostNotFound => "no such host; check the uri".to_owned(),
        Error::Timeout(Timeout::Resolve) => "its name could not be looked up in time".to_owned(),
        Error::Timeout(Timeout::Connect) => "no connection within the time allowed".to_owned(),
        Error::Timeout(Timeout::PerWrite) => "it does not take what it is sent".to_owned(),
        Error::Timeout(_) => "no answer within the time allowed".to_owned(),
        Error::BadUri(_) => "the uri cannot be used".to_owned(),
        Error::InvalidProxyUrl => "the proxy's address in the environment is wrong".to_owned(),
        Error::LargeResponseHeader(..) => "the head of its answer is too long".to_owned(),
        Error::Protocol(e) => format!("it does not speak HTTP as it should ({e})"),
        Error::ConnectProxyFailed(what) if what.contains("407") => {
            "the proxy wants a user name and a password; set them in its address, as \
             http://USER:PASSWORD@HOST:PORT"
                .to_owned()
        }
        Error::ConnectProxyFailed(what) => format!("the proxy does not lead there ({what})"),
        other => explain_tls_error(other.to_string()),
    }
}

/// The TLS library's words, which are names of its own, made a sentence where something can be done.
fn explain_tls_error(text: String) -> String {
    if text.contains("UnknownIssuer") {
        "it is certified by nobody who is known here; if that is an authority of your own, \
                 name the file with its certificate in the variable SSL_CERT_FILE"
            .to_owned()
    } else {
        text
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
pub(crate) fn is_disconnect(error: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error, Error::Io(e) if matches!(
        e.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    ))
}
