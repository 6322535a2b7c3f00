//! The Agent Client Protocol, version 1, as an agent: the second front of the same core, for editors and other
//! clients that start `gosling acp` (agentclientprotocol.com), and for later versions of Goose Desktop, which speak it
//! over a WebSocket of the HTTP server, at `/acp`. It turns a prompt into a turn and the events of the turn into
//! updates.
//!
//! Threads: in `gosling acp`, the main thread reads stdin and one writes to stdout; at `/acp`, the thread of the
//! connection reads and one writes. One serves each request that may wait, such as a prompt, and one waits a moment
//! after a question that the user dismissed.
//!
//! A [`Connection`] takes the messages of one client and sends its own through an [`Outbox`]; it knows nothing
//! of the transport. [`serve_stdio_process`] connects it to stdin and stdout, `endpoint` to the WebSockets
//! ([`web_socket`]) of the HTTP server. The modules:
//!
//! - `connection` dispatches messages. Requests that may wait run in a thread of their own, so that the thread
//!   that reads can always take a cancellation or an answer.
//! - `session_methods` opens, lists and closes sessions; `config_options` changes their mode and model.
//! - `prompt_turn` runs a turn and sends its events as updates, which `updates`, `tool_call_display`,
//!   `file_diffs`, `plan` and `terminal_output` make; `questions` asks what only the user can answer.
//! - `prompt_content` converts what the user sends, `mcp_servers` the MCP servers that the client brings along;
//!   `client_tools` calls the tools of those that are in the client itself.
//! - `client_requests` has the requests to the client that are not answered yet; by way of `session_workspace`,
//!   builtin servers use the client's files and terminals.
//!
//! Choices where the protocol leaves one:
//!
//! - A session of any client can be prompted without `session/load`, because a client that has reconnected may
//!   go on at once.
//! - A second prompt to a session whose turn is running is refused.
//! - The client's MCP servers are stored with the session until the client opens it again, so that it can be
//!   continued elsewhere.
//! - When the connection ends, so do its turns; the sessions and their agents live on in the process. Goose's clients
//!   are pages that are loaded anew: their turns go on, and are followed by every page that has the session open.
//! - A model's error is an error of the request. Goose's clients and Zed, which show that badly, are told it as an
//!   answer.

#![forbid(unsafe_code)]

use gosling_core::{
    activity, agent, api, builtin, command_line, conversation, extension, features, http, json,
    mcp, provider, store, sys, text,
};

mod acp_command;
mod capabilities;
mod client_connection;
mod client_requests;
mod error_objects;
mod file_diffs;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod goose_extensions;
mod line_transport;
mod mcp_servers;
mod model_setup;
mod open_session;
mod outbox;
mod plan;
mod prompt_content;
mod replay;
mod terminal_output;
mod tool_call_display;
mod updates;
pub mod web_socket;
mod web_socket_endpoint;

use gosling_core::part::Part;

pub use client_connection::live_turns::LiveTurns;
pub use client_connection::{Connection, method_names};
pub use line_transport::serve_stdio_process;
pub use outbox::{MessageWriter, Outbox};

/// What the Agent Client Protocol adds to gosling.
pub const PART: Part = Part {
    commands: &[acp_command::COMMAND],
    routes: Some(web_socket_endpoint::routes),
    ..Part::new("acp")
};
