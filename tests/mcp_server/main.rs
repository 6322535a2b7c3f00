//! The MCP server: its answers to literal messages.

mod calls;
mod changes;
mod client;
mod lab;
mod lifecycle;
mod misuse;
mod offers;
mod questions;
mod transports;
