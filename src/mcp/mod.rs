//! The Model Context Protocol, client and server, with no I/O outside `transport` and the loops of
//! `server`.
//!
//! [`jsonrpc`] turns bytes into messages, [`types`] are the shapes they carry, [`transport`] moves
//! them, [`pending`] is the table of requests under way, [`client`] puts these together.
//! [`server`] is the side that offers tools.

pub mod client;
pub mod error;
pub mod form;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub mod jsonrpc;
pub mod pending;
pub(crate) mod schema;
pub mod server;
pub mod transport;
pub mod types;

pub use client::Client;
pub use error::Error;
