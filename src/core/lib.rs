//! The core of gosling, which every build has: sessions, turns, models, extensions, and Goose's HTTP API. The crate
//! `gosling` offers it to embedders, walks through it, and says what of it is kept; all else changes with each version.
//!
//! Dependencies point one way: [`http`] → [`api`] → [`agent`] → [`extension`] → [`mcp`], with [`provider`] beside
//! [`extension`]; [`conversation`] and [`store`] are used from [`api`] down. What a build can leave out is not here: the
//! core knows it as a [`part::Part`], which adds commands, routes and builtin servers, and is asked where a session or
//! an extension needs it. [`features`] says what a server answers that lacks a part.
#![forbid(unsafe_code)]

pub use gosling_mcp as mcp;
pub use gosling_sys as sys;
pub use gosling_text as text;
pub use gosling_text::{json, sorting};

pub mod activity;
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
pub mod metric_counters;
#[cfg(test)]
mod parser_memory_ratio;
pub mod part;
pub mod provider;
pub mod store;
#[cfg(feature = "tls")]
pub mod tls;
