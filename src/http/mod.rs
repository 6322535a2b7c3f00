//! The HTTP/1.1 edge: a blocking server, one thread a connection, every wait and every size bounded.
//!
//! A [`Server`] accepts connections (`listener`), keeps count of them (`registry`) and gives each a
//! thread (`connection`). The thread reads through `wire`, which knows deadlines and what was read
//! ahead; `head` and `body` turn bytes into a request and hold no socket; `guard` and `router` decide
//! who may call what; a handler turns the [`Request`] into a [`Response`] or an [`Error`], and one
//! write sends it; an [`EventStream`] is written while its handler runs. The room knows no route and nothing
//! of what the handlers do.
//!
//! The order in which a request is judged: head, `Host`, `Origin` where that matters, CORS preflight, key,
//! path and method, declared length, `Expect`, and only then is its body read, which only a route that asks
//! for the key takes. Every refusal is JSON,
//! `{"message": …}`, and carries the CORS header, so that a page can read it.
//!
//! Implements RFC 9112 (HTTP/1.1) and the parts of RFC 9110 that a server without caches, ranges and
//! upgrades needs.

mod body;
mod connection;
mod error;
mod events;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guard;
mod head;
mod json;
mod listener;
mod registry;
mod request;
mod response;
mod router;
mod wire;

use std::time::Duration;

pub use error::Error;
pub use events::EventStream;
pub use guard::Guard;
pub use listener::Server;
pub use request::{HangUp, Request};
pub use response::Response;
pub use router::{Access, Refusals, Router};
pub use tiny_http::{HTTPVersion, Header, HeaderField, Method, StatusCode};

/// Every size and wait of the edge. The defaults suit a server for one person's clients.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request line with its header fields (64 KiB). Beyond: 414 or 431.
    pub head_bytes: usize,
    /// Header fields of a request (100). Beyond: 431.
    pub headers: usize,
    /// Bytes of a request's body (50 MiB). Beyond: 413, for a declared length before anything is read.
    pub body_bytes: usize,
    /// Connections served at a time (512). Beyond, the one that came first of those that have not shown the
    /// key is closed, or else the one idle longest; if there is none, the new one waits for a `slot`.
    pub connections: usize,
    /// How long a new connection waits while there are as many as are served at a time (250 ms), then it gets
    /// 503. Others wait behind it in the system's queue.
    pub slot: Duration,
    /// From the first byte of a head to its last (10 s). Beyond: 408.
    pub head: Duration,
    /// How long a connection may wait for the first byte of a request (120 s), then it is closed.
    pub idle: Duration,
    /// From the end of the head to the end of the body (60 s). Beyond: 408.
    pub body: Duration,
    /// From the first byte of a response to its last (30 s), then the connection is closed.
    pub write: Duration,
    /// How long a connection that is closed over an unread body goes on discarding it (1 s), so that the
    /// client reads the answer and not a reset.
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes: 64 << 10,
            headers: 100,
            body_bytes: 50 << 20,
            connections: 512,
            slot: Duration::from_millis(250),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            body: Duration::from_secs(60),
            write: Duration::from_secs(30),
            linger: Duration::from_secs(1),
        }
    }
}
