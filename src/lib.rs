//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
//!
//! # One tool call, through the rooms
//!
//! A client sends `POST /agent/call_tool`. This is the way of the request, and the tour of the crate:
//!
//! 1. [`http`] reads it on the thread of its connection, with limits on every size and wait, checks
//!    `Host`, key, path and method in that order, and only then reads the body.
//! 2. [`api`] turns the JSON into a call of the core. Nothing below it knows of HTTP requests.
//! 3. [`agent::Registry`] has the session's live [`agent::Agent`]; it never makes one by accident.
//! 4. [`extension::Manager`] finds the owner of `key__tool` and checks the configuration's
//!    `available_tools`.
//! 5. [`mcp::Client`] draws an id, registers a slot with a deadline and a [`sys::cancel::Cancel`]
//!    ([`mcp::pending`]), and hands the message to its [`mcp::transport`]: one line to a child's stdin,
//!    written by this same thread, or a POST.
//! 6. The same thread reads the answer, if it comes at once; otherwise the transport's reader thread
//!    takes it apart ([`mcp::jsonrpc`]) and wakes the slot. The result is never rebuilt: its parts go
//!    back through the rooms as the JSON text that came.
//! 7. [`http`] sends head and body with one write.
//!
//! If the client hangs up meanwhile, the slot notices, the server is told `notifications/cancelled`,
//! and the thread is free. If the session is stopped or the process gets SIGTERM, the same token ends
//! the same wait. Children are made by one thread that lives as long as the process and end as
//! [`sys::process`] describes; a [`sys::guardian`] sees to those of a server that was killed.
//!
//! Arrows go one way: [`cmd`] → [`http`] → [`api`] → [`agent`] → [`extension`] → [`mcp`] → [`sys`], with
//! [`conversation`], [`recipe`] and [`store`] used from [`api`] down, and [`builtin`] servers standing on
//! [`mcp::server`] alone. ([`api`] shares the vocabulary of [`http`]: requests, responses, routes.)
//! [`agent`] also asks the models behind [`provider`]; that and [`mcp`] send their HTTP requests with
//! [`outbound`], and [`text`] makes fit to be shown what comes from outside.
//!
//! # Where the threads are
//!
//! One accepts, one serves each connection, one makes children (from the first child on), one waits for
//! signals: the main one. Each stdio server has one thread that reads its stdout and one for its
//! stderr; a third writes only while the server does not keep up. Each request over Streamable HTTP
//! has one while it is under way, and so has each request of a server while the session answers it.
//! A turn runs in the thread of its connection, which a second one watches for the client to hang up;
//! its model is asked by that same thread, and each of the calls that run side by side has one. A
//! session is named in one more. Every thread has a name and an owner that joins it, apart from those
//! writers, which end by themselves when the pipe is closed.
//!
//! # Embedding
//!
//! The server in a program of one's own, here on a free port until it is told to stop:
//!
//! ```
//! use gosling::agent::{Registry, Stores};
//! use gosling::http::{Guard, Limits, Server};
//! use gosling::store::Paths;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! # let root = std::env::temp_dir().join(format!("gosling-doc-{}", std::process::id()));
//! let paths = Paths::under(&root);
//! let stores = Stores::new(&paths);
//! let registry = Arc::new(Registry::new(stores, false));
//! let router = gosling::api::router(registry.clone());
//! let guard = Guard::new(Some(b"a secret of your own".to_vec()), Vec::new());
//! let server = Server::bind(("127.0.0.1", 0), router, guard, Limits::default())?;
//! println!("http://{}", server.local_addr());
//!
//! server.stop(Duration::from_secs(1));
//! registry.close();
//! # let _ = std::fs::remove_dir_all(&root);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! So that children cannot outlive the program even if it is killed, its `main` begins as
//! [`cmd::main`] does: it becomes the guardian when it is started as one, and otherwise says that it
//! can ([`sys::guardian`]). Records go to the `log` façade; the program chooses the logger.
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
pub mod outbound;
pub mod provider;
pub mod recipe;
pub mod store;
pub mod sys;
pub mod text;
