//! The Model Context Protocol, client and server, with threads and blocking I/O.
//!
//! A [`Client`] is one connection to an MCP server, over a [`transport`]: the pipes of a child process, or Streamable
//! HTTP. Any number of threads may call it; each waits for its own answer, until a deadline or a [`Cancel`]:
//!
//! ```standalone_crate
//! use gosling_mcp::client::{CallOptions, Client, IgnoreNotifications, Options};
//! use gosling_mcp::transport::stdio::{MAX_LINE, StdioOptions, StdioTransport};
//! use gosling_mcp::{Cancel, Command};
//! use serde_json::value::RawValue;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use gosling_mcp::server::{Context, Server, Tool, serve_stdio_process};
//! # use gosling_mcp::types::CallToolResult;
//! # if std::env::var_os("IS_SERVER").is_some() {
//! #     let greet = |_: serde::de::IgnoredAny, _: &Context| Ok(CallToolResult::text("Hello, Ada!"));
//! #     let server = Server::new("greeter", "1.0.0").tool(Tool::new("greet", "Greets.", greet));
//! #     serve_stdio_process(server, &Cancel::new());
//! #     return Ok(());
//! # }
//! # let program = std::env::current_exe()?;
//! let cancel = Cancel::new();
//! let mut command = Command::new(program);
//! command.args(["--stdio"]);
//! # command.env("IS_SERVER", "1");
//! let process = StdioOptions {
//!     name: "greeter".to_owned(),
//!     max_line: MAX_LINE,
//!     start: Duration::from_secs(30),
//!     secrets: Vec::new(),
//! };
//! let transport = Arc::new(StdioTransport::spawn(command, process, &cancel)?);
//! let options = Options::new("greeter");
//! let client = Client::connect(transport, options, Arc::new(IgnoreNotifications), &cancel)?;
//!
//! let tools = client.list_tools(&cancel)?;
//! assert_eq!(tools[0].name, "greet");
//! let arguments = RawValue::from_string(r#"{"name": "Ada"}"#.to_owned())?;
//! let result = client.call_tool("greet", &arguments, CallOptions::default(), &cancel)?;
//! assert_eq!(result.content[0].as_json(), r#"{"type":"text","text":"Hello, Ada!"}"#);
//! client.close();
//! # Ok(())
//! # }
//! ```
//!
//! A server is a description with handlers: here one of two tools, and a client that speaks to it in memory. For a
//! client at stdin and stdout, `main` ends with `serve_stdio_process`.
//!
//! ```
//! use gosling_mcp::client::{CallOptions, Client, IgnoreNotifications, Options};
//! use gosling_mcp::server::{Context, InProcess, Server, Tool, ToolError};
//! use gosling_mcp::types::CallToolResult;
//! use gosling_mcp::Cancel;
//! use serde_json::json;
//! use serde_json::value::to_raw_value;
//! use std::sync::Arc;
//!
//! #[derive(serde::Deserialize)]
//! struct Numbers {
//!     a: u32,
//!     b: u32,
//! }
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
//!     "required": ["a", "b"]
//! });
//! let add = Tool::new("add", "Adds two numbers.", |of: Numbers, _: &Context| {
//!     Ok(CallToolResult::text((u64::from(of.a) + u64::from(of.b)).to_string()))
//! });
//! let divide = Tool::new("divide", "Divides two numbers.", |of: Numbers, _: &Context| {
//!     let quotient = of.a.checked_div(of.b);
//!     let quotient = quotient.ok_or_else(|| ToolError::Failed("`b` is 0; choose another".into()))?;
//!     Ok(CallToolResult::text(quotient.to_string()))
//! });
//! let server = Server::new("calculator", "1.0.0")
//!     .tool(add.input(schema.clone()))
//!     .tool(divide.input(schema));
//!
//! let cancel = Cancel::new();
//! let transport = Arc::new(InProcess::new(server));
//! let options = Options::new("calculator");
//! let client = Client::connect(transport, options, Arc::new(IgnoreNotifications), &cancel)?;
//! let call = |tool, a, b| {
//!     let arguments = to_raw_value(&json!({"a": a, "b": b})).unwrap_or_default();
//!     client.call_tool(tool, &arguments, CallOptions::default(), &cancel)
//! };
//! assert_eq!(call("add", 2, 3)?.content[0].as_json(), r#"{"type":"text","text":"5"}"#);
//! # assert!(call("divide", 1, 1)?.is_error.is_none());
//! // In a session a tool that fails is a result; a model reads it and corrects itself.
//! assert_eq!(call("divide", 1, 0)?.is_error, Some(true));
//! # Ok::<(), gosling_mcp::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | contains |
//! |---|---|
//! | `http` | `transport::http`, the client's end of Streamable HTTP |
//! | `server` | `server`, the side that offers tools, and `transport::memory` |
//! | `tls` | https, with `http` |
//!
//! The first two are on by default; without them the crate is a client over stdio.
//!
//! # Modules
//!
//! [`jsonrpc`] parses messages, [`types`] has the types that they carry, [`transport`] moves them. [`client`] adds the
//! requests that wait for an answer, with their deadlines; [`incoming_requests`] has those of the other side, which
//! client and server answer in threads. Only `transport` and the loops of `server` do I/O.
#![forbid(unsafe_code)]

pub mod client;
pub mod elicitation_form;
pub mod error;
#[cfg(any(test, fuzzing, feature = "testing"))]
pub mod fuzzing;
pub mod incoming_requests;
pub mod jsonrpc;
mod pending_requests;
pub mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod transport;
pub mod types;

pub use client::Client;
pub use error::Error;
pub use gosling_sys::cancel::Cancel;
pub use gosling_sys::process::Command;
