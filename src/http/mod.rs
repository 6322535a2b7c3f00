//! The HTTP/1.1 edge: a blocking server, one thread a connection, every wait and every size bounded.
//!
//! A [`Server`] accepts connections (`listener`), keeps count of them (`connections`) and gives each a
//! thread (`connection`). The thread reads through `socket`, which knows deadlines and what was read
//! ahead; `head` and `body` turn bytes into a request and hold no socket; `access_control` and `router` decide
//! who may call what; a handler turns the [`Request`] into a [`Response`] or an [`Error`], and one
//! write sends it; an [`EventStream`] is written while its handler runs. The room knows no route and nothing
//! of what the handlers do.
//!
//! The order in which a request is judged: head, `Host`, `Origin` where that matters, CORS preflight, key,
//! path and method, declared length, `Expect`, and only then is its body read, which only a route that asks
//! for the key takes. Every error_message is JSON,
//! `{"message": …}`, and carries the CORS header, so that a page can read it.
//!
//! Implements RFC 9112 (HTTP/1.1) and the parts of RFC 9110 that a server without caches, ranges and
//! upgrades needs.

mod access_control;
mod chunked;
mod connection;
mod connections;
mod error;
mod event_stream;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod json_body;
mod limits;
mod request;
mod request_head;
mod response;
mod router;
mod server;
mod socket;

pub use access_control::AccessControl;
pub use error::Error;
pub use event_stream::EventStream;
pub use limits::Limits;
pub use request::{HangUp, Request};
pub use response::Response;
pub use router::{Access, ErrorFormat, Router};
pub use server::Server;
pub use tiny_http::{HTTPVersion, Header, HeaderField, Method, StatusCode};
