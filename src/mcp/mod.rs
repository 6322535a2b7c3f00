//! The Model Context Protocol, client and server, with no I/O outside `transport` and the loops of
//! `server`.
//!
//! [`jsonrpc`] turns bytes into messages, [`types`] are the shapes they carry, [`transport`] moves
//! them, [`pending_requests`] is the table of requests under way, [`client`] puts these together.
//! [`server`] is the side that offers tools.

pub mod client;
pub mod elicitation_form;
pub mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub mod jsonrpc;
pub mod pending_requests;
pub(crate) mod schema;
pub mod server;
pub mod transport;
pub mod types;

pub use client::Client;
pub use error::Error;
