//! The HTTP/1.1 server: blocking, one thread per connection, with a limit on every size and every wait.
//!
//! A [`Server`] accepts connections (`server`), counts them (`connections`) and starts a thread for each
//! (`connection`). The thread reads through `socket`, which enforces deadlines and buffers what it reads ahead
//! from the connection's [`Stream`]. With an [`Encryption`], which is TLS, a handshake comes first.
//! `request_head` and `chunked` parse bytes without I/O. `access_control` and `router` decide whether a request
//! may reach a handler, and which. A handler turns the [`Request`] into a [`Response`] or an [`Error`], and one
//! write sends it; an [`EventStream`] is written while its handler runs, and with [`Response::upgrade`] the handler
//! has the connection's [`Socket`] from then on. This module contains no routes and no handlers.
//!
//! The server checks a request in this order: head, `Host`, `Origin` where it matters, CORS preflight, key,
//! path and method, role of a client's key, declared length, `Expect`. Only then does it read the body, and only
//! for routes that require the key. Every refusal is JSON, `{"message": …}`, and carries the CORS header, so that
//! a page can read it.
//!
//! Implements RFC 9112 (HTTP/1.1) and the parts of RFC 9110 that a server without caches and ranges needs.

mod access_control;
mod authentication;
mod chunked;
mod connection_thread;
mod connections;
mod encryption;
mod error;
mod event_stream;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod hang_up;
mod ingress;
mod json_body;
mod limits;
mod listener;
mod request;
mod request_head;
mod response;
mod router;
mod server;
mod server_state;
mod socket;
mod stream;

pub use access_control::AccessControl;
pub use authentication::{Authentication, Client, ClientKeys, Credentials, SERVER};
pub use encryption::{EncryptedSession, Encryption, HandshakeError};
pub use error::Error;
pub use event_stream::EventStream;
#[doc(hidden)]
pub use hang_up::HangUp;
#[doc(hidden)]
pub use ingress::{AtEnd, Ingress};
pub use limits::Limits;
pub use listener::Listener;
pub use request::Request;
#[doc(hidden)]
pub use request_head::Head;
pub use response::Response;
pub use router::{Access, ErrorFormat, RouteHandler, Router};
pub use server::Server;
#[doc(hidden)]
pub use socket::Socket;
#[doc(hidden)]
pub use stream::Stream;
#[doc(hidden)]
pub use tiny_http::HTTPVersion;
pub use tiny_http::{Header, HeaderField, Method, StatusCode};
