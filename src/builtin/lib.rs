//! The MCP servers that gosling ships. Each is a [`Server`]. It runs in the process of a
//! session, or as `gosling mcp NAME` for any MCP client over stdio or HTTP, in a container if the client wants that.
#![forbid(unsafe_code)]

pub mod call_context;
#[cfg(feature = "demo")]
pub mod demo_server;
#[cfg(feature = "developer")]
pub mod developer;
mod mcp_command;
pub mod mcp_endpoint;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "todo")]
pub mod todo;

pub use gosling_core::builtin::SessionData;
pub use gosling_shared::InMemoryData;
pub use gosling_shared::{ClientWorkspace, TerminalCommand, TerminalResult};

use gosling_core::builtin::BuiltinContext;
use gosling_core::part::Part;
use gosling_core::{command_line, features, http, mcp, store, sys};
use mcp::server::{InProcess, Server};
use mcp::transport::Transport;
use std::sync::Arc;

/// What all builtin servers need: the command that serves them.
pub const PART: Part = Part {
    commands: &[mcp_command::COMMAND],
    ..Part::new("builtin")
};

/// Creates a server; with `pages`, its lists have several pages if it can do that.
type Create = fn(pages: bool, &BuiltinContext<'_>) -> Server;

macro_rules! servers {
    ($($name:literal => $create:expr;)*) => {
        /// The servers of this build; each has a feature of its name.
        const SERVERS: &[(&str, Create)] = &[$(
            #[cfg(feature = $name)]
            ($name, $create),
        )*];
    };
}

servers! {
    "demo" => |pages, _| demo_server::server(pages);
    "developer" => |_, context| {
        developer::server(context.paths, context.data.clone(), context.offline)
    };
    "memory" => |_, context| memory::server(context.paths);
    "todo" => |_, context| todo::server(context.data.clone());
}

/// Creates the server of this name, one of [`builtin::names`](gosling_core::builtin::names), for one client. With
/// `pages`, the lists of `demo` have several pages.
fn server(name: &str, pages: bool, context: &BuiltinContext<'_>) -> Option<Server> {
    let (_, create) = SERVERS.iter().find(|(known, _)| *known == name)?;
    Some(create(pages, context))
}

/// Connects a client in this process to a server.
fn in_process(server: Server) -> Arc<dyn Transport> {
    Arc::new(InProcess::new(server))
}
