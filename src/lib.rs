//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod agent;
pub mod api;
pub mod builtin;
pub mod cmd;
pub mod conversation;
pub mod extension;
pub mod http;
pub mod mcp;
pub mod recipe;
pub mod store;
pub mod sys;
