//! The MCP servers that gosling ships. Each is an [`Server`]. It runs in the process of a
//! session, or as `gosling mcp NAME` for any MCP client over stdio or HTTP, in a container if the client wants that.
#![forbid(unsafe_code)]

mod command;
#[cfg(feature = "demo")]
pub mod demo_server;
#[cfg(feature = "developer")]
pub mod developer;
pub mod mcp_endpoint;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "todo")]
pub mod todo;

pub use gosling_core::builtin::{
    ClientWorkspace, InMemoryData, SessionData, TerminalCommand, TerminalResult,
};

use gosling_core::builtin::BuiltinContext;
use gosling_core::part::Part;
use gosling_core::{command_line, features, http, mcp, store, sys};
use mcp::server::{Context, InProcess, Server};
use mcp::transport::Transport;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io};

/// What all builtin servers need: the command that serves them.
pub const PART: Part = Part {
    commands: &[command::COMMAND],
    ..Part::new("builtin")
};

/// Creates a server; with `pages`, its lists have several pages if it can do that.
type Create = fn(pages: bool, &BuiltinContext<'_>) -> Server;

/// The servers of this build.
const SERVERS: &[(&str, Create)] = &[
    #[cfg(feature = "demo")]
    ("demo", |pages, _| demo_server::server(pages)),
    #[cfg(feature = "developer")]
    ("developer", |_, context| {
        developer::server(context.paths, context.data.clone(), context.offline)
    }),
    #[cfg(feature = "memory")]
    ("memory", |_, context| memory::server(context.paths)),
    #[cfg(feature = "todo")]
    ("todo", |_, context| todo::server(context.data.clone())),
];

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

/// The working directory of a call: the one that the client names, or that of this process if it names none.
///
/// # Errors
/// When it is not an absolute path of a directory. No other one replaces it: the call would work on the wrong files.
fn working_dir(context: &Context) -> Result<PathBuf, String> {
    let named = context.meta("agent-working-dir");
    let Some(named) = named.filter(|named| !named.is_null()) else {
        return env::current_dir().map_err(|error| {
            format!(
                "the directory that this MCP server was started in cannot be used: {error}; start it again in \
                 another one, or name one in `agent-working-dir`"
            )
        });
    };
    let dir = named.as_str().map(Path::new);
    let Some(dir) = dir.filter(|dir| dir.is_absolute()) else {
        return Err(format!(
            "`agent-working-dir` is {named}; it must be the absolute path of a directory"
        ));
    };
    let is_dir = match fs::metadata(dir) {
        Ok(found) if found.is_dir() => Ok(dir.to_owned()),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) => Err(error),
    };
    is_dir.map_err(|error: io::Error| {
        format!(
            "nothing was done, because the working directory {dir:?} cannot be used: {error}; create it again, or \
             give the session another one"
        )
    })
}

/// The id of the session that the call belongs to, if the client names it.
fn session_id(context: &Context) -> Option<&str> {
    let id = context.meta("agent-session-id")?.as_str()?.trim();
    let fits = !id.is_empty() && id.len() <= 200 && !id.contains(char::is_control);
    fits.then_some(id)
}
