//! What a builtin MCP server is started with, and what a session stores for it.

use super::client_workspace::Workspace;
use crate::extension::sandbox::Walls;
use crate::mcp::transport::Transport;
use crate::store::Paths;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A builtin MCP server of this program.
pub struct BuiltinServer {
    /// Its name, which an extension of type `builtin` has.
    pub name: &'static str,
    /// Starts it for one client, in this process.
    pub connect: fn(&BuiltinContext<'_>) -> Arc<dyn Transport>,
}

/// Starts a server for one client, in this process.
pub type Connect = dyn Fn(&BuiltinContext<'_>) -> Arc<dyn Transport> + Send + Sync;

/// The servers that a program adds to one registry, by name.
pub type OwnServers = Arc<BTreeMap<String, Box<Connect>>>;

/// What a builtin server is started with.
pub struct BuiltinContext<'a> {
    /// The user's own files.
    pub paths: &'a Paths,
    /// Stores the data of the session.
    pub data: &'a Arc<dyn SessionData>,
    /// The programs that the server starts are asked not to connect to other machines.
    pub offline: bool,
}

/// A command that checks something outside of a tool call.
pub struct ShellCheck<'a> {
    /// The command.
    pub command: &'a str,
    /// Where it runs.
    pub dir: &'a Path,
    /// The session that it belongs to.
    pub session_id: &'a str,
    /// The user's configuration folder.
    pub config: &'a Path,
    /// Whether it is asked not to connect to other machines.
    pub offline: bool,
    /// How long it may take.
    pub limit: Duration,
    /// The walls around it.
    pub walls: Option<&'a Walls>,
}

/// What one session provides for its builtin servers: it stores JSON values under versioned keys, and may have a
/// client that offers more.
pub trait SessionData: Send + Sync {
    /// The value of `key`, if there is one.
    ///
    /// # Errors
    /// Why the value cannot be read.
    fn get(&self, key: &str) -> Result<Option<Value>, String>;

    /// Sets the value of `key` and replaces an earlier one.
    ///
    /// # Errors
    /// Why the value cannot be stored; the earlier one is kept.
    fn set(&self, key: &str, value: Value) -> Result<(), String>;

    /// What the client of the running turn offers.
    fn client(&self) -> Option<Workspace> {
        None
    }
}
