//! The Model Context Protocol, client and server. Only `transport` and the loops of `server` do I/O.
//!
//! [`jsonrpc`] parses messages, [`types`] has the types that they carry, [`transport`] moves them,
//! [`pending_requests`] is the table of requests that wait for an answer, [`client`] combines these.
//! [`server`] is the side that offers tools.
#![forbid(unsafe_code)]

pub mod client;
pub mod elicitation_form;
pub mod error;
#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
pub mod incoming_requests;
pub mod jsonrpc;
pub mod params;
pub mod pending_requests;
pub mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod transport;
pub mod types;

pub use client::Client;
pub use error::Error;
