//! The Model Context Protocol, client and server, with threads and blocking I/O.
//!
//! A [`Client`] is one connection to an MCP server, over a [`transport`]: the pipes of a child process, or Streamable
//! HTTP. Any number of threads may call it; each waits for its own answer, until a deadline or a [`Cancel`]:
//!
//! ```standalone_crate
//! use gosling_mcp::{Client, Command};
//! use std::collections::BTreeMap;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use gosling_mcp::Cancel;
//! # use gosling_mcp::server::{Context, Server, Tool, serve_stdio_process};
//! # use gosling_mcp::types::CallToolResult;
//! # if std::env::var_os("IS_SERVER").is_some() {
//! #     let greet = |_: serde::de::IgnoredAny, _: &Context| Ok(CallToolResult::text("Hello, Ada!"));
//! #     let server = Server::new("greeter", "1.0.0").tool(Tool::new("greet", "Greets.", greet));
//! #     serve_stdio_process(server, &Cancel::new());
//! #     return Ok(());
//! # }
//! # let program = std::env::current_exe()?;
//! let mut command = Command::new(program);
//! command.args(["--stdio"]);
//! # command.env("IS_SERVER", "1");
//! let client = Client::builder("my-program", "1.0.0").spawn(command)?;
//! let result = client.call_tool("greet", &BTreeMap::from([("name", "Ada")]))?;
//! assert_eq!(result.all_text(), "Hello, Ada!");
//! client.close();
//! # Ok(())
//! # }
//! ```
//!
//! A server is a description with handlers: here one of two tools, and a client that speaks to it in memory. For a
//! client at stdin and stdout, `main` ends with `serve_stdio_process`.
//!
//! ```
//! use gosling_mcp::server::{Context, InProcess, Server, Tool};
//! use gosling_mcp::typed::CallError;
//! use gosling_mcp::{Client, arguments};
//!
//! arguments! {
//!     struct Numbers {
//!         /// The first number
//!         a: u32,
//!         /// The second number
//!         b: u32,
//!     }
//! }
//!
//! let add = Tool::typed("add", "Adds two numbers.", |of: Numbers, _: &Context| {
//!     Ok((u64::from(of.a) + u64::from(of.b)).to_string())
//! });
//! let divide = Tool::typed("divide", "Divides two numbers.", |of: Numbers, _: &Context| {
//!     let quotient = of.a.checked_div(of.b).ok_or("`b` is 0; choose another")?;
//!     Ok(quotient.to_string())
//! });
//! let server = Server::new("calculator", "1.0.0").tool(add).tool(divide);
//!
//! let client = Client::builder("my-program", "1.0.0").connect(InProcess::new(server))?;
//! assert_eq!(client.call_tool("add", &Numbers { a: 2, b: 3 })?.all_text(), "5");
//! // A tool that fails says why, so that a model can correct itself.
//! let failed = client.call_tool("divide", &Numbers { a: 1, b: 0 });
//! assert!(matches!(failed, Err(CallError::Tool(_))));
//! # Ok::<(), CallError>(())
//! ```
//!
//! # Features
//!
//! | feature | contains |
//! |---|---|
//! | `http` | `transport::http`, the client's end of Streamable HTTP |
//! | `server` | `server`, the side that offers tools; with `typed` |
//! | `tls` | https, with `http` |
//! | `typed` | `typed`: calls, results, events and arguments as types, and the macro `arguments!` |
//!
//! All but `tls` are on by default; without them the crate is a client over stdio that moves JSON text.
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
#[cfg(feature = "typed")]
pub mod typed;
pub mod types;

pub use client::Client;
pub use error::Error;
pub use gosling_sys::cancel::Cancel;
pub use gosling_sys::process::Command;
