//! The Model Context Protocol, client and server, with no I/O outside `transport`.
//!
//! [`jsonrpc`] turns bytes into messages, [`types`] are the shapes they carry, [`transport`] moves
//! them.

pub mod jsonrpc;
pub mod transport;
pub mod types;
