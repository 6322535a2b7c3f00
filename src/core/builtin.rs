//! What sessions and builtin MCP servers know of each other. A server runs in the process of a session, or in a
//! container if the client wants that.

pub(crate) mod builtin_server;
mod client_workspace;

pub use builtin_server::{
    BuiltinContext, BuiltinServer, Connect, OwnServers, SessionData, ShellCheck,
};
pub use client_workspace::{LentWorkspace, Workspace, WorkspaceSlot};

use crate::part;

/// The builtin servers of this program.
pub fn servers() -> impl Iterator<Item = &'static BuiltinServer> {
    part::all().iter().flat_map(|part| part.servers)
}

/// The names of the builtin servers of this program.
pub fn names() -> Vec<&'static str> {
    servers().map(|server| server.name).collect()
}

/// Whether this program has a builtin server of this name.
pub fn has(name: &str) -> bool {
    servers().any(|server| server.name == name)
}
