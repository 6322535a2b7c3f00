//! The core of gosling: sessions, turns, models, extensions, and Goose's HTTP API.
#![forbid(unsafe_code)]

pub use gosling_mcp as mcp;
pub use gosling_outbound as outbound;
pub use gosling_sys as sys;
pub use gosling_text as text;
pub use gosling_text::{json, sorting};

pub mod agent;
pub mod api;
pub mod builtin;
pub mod command_line;
pub mod conversation;
pub mod extension;
pub mod features;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
#[cfg(test)]
mod memory_ratio;
pub mod metrics;
pub mod part;
pub mod provider;
pub mod store;
#[cfg(feature = "tls")]
pub mod tls;
