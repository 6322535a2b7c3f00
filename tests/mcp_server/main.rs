//! The MCP server: what it answers to which bytes. Every line sent and every answer is literal.

mod calls;
mod client;
mod lab;
mod lifecycle;
mod offers;
mod transports;
