//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod mcp;
pub mod sys;
