//! The Model Context Protocol, client and server, with no I/O outside `transport`.
//!
//! [`jsonrpc`] turns bytes into messages, [`types`] are the shapes they carry, [`transport`] moves
//! them, [`pending`] is the table of requests under way, [`client`] puts these together.

pub mod client;
pub mod error;
pub mod jsonrpc;
pub mod pending;
pub mod transport;
pub mod types;

pub use client::Client;
pub use error::Error;
