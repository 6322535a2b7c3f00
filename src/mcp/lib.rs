//! The Model Context Protocol, client and server, with threads and blocking I/O.
//!
#![doc = include_str!("overview.md")]
#![forbid(unsafe_code)]

pub mod client;
pub mod elicitation_form;
pub mod error;
#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
#[doc(hidden)]
pub mod incoming_requests;
pub mod jsonrpc;
mod pending_requests;
#[doc(hidden)]
pub mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod transport;
#[cfg(feature = "typed")]
pub mod typed;
pub mod types;

pub use client::Client;
pub use error::Error;
pub use gosling_sys::cancel::Cancel;
pub use gosling_sys::process::Command;
pub use jsonrpc::{ErrorObject, RawJson};
