//! The MCP servers that gosling brings along, each an [`mcp::server::Server`](Server) like any
//! other: in the process of a session, or for any client on stdin and stdout or over HTTP, where a container
//! may be around it.

pub mod demo;
#[cfg(feature = "developer")]
pub mod developer;
#[cfg(feature = "memory")]
pub mod memory;
pub mod todo;

#[cfg(any(feature = "developer", feature = "memory"))]
use crate::mcp::server::Context;
use crate::mcp::server::Server;
use crate::store::Paths;
use crate::sys::lock;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
#[cfg(any(feature = "developer", feature = "memory"))]
use std::{
    env,
    path::{Path, PathBuf},
};

/// The names that [`server`] knows.
pub const NAMES: &[&str] = &[
    "demo",
    #[cfg(feature = "developer")]
    "developer",
    #[cfg(feature = "memory")]
    "memory",
    "todo",
];

/// A new server of this name, one of [`NAMES`]; each client gets its own. `None` for any other
/// name. `paths` is where the user's own files for it are, `data` what is kept with its session. `offline`:
/// programs that it starts are asked to connect to no other machine.
#[cfg_attr(
    not(all(feature = "developer", feature = "memory")),
    allow(unused_variables, reason = "servers that are left out take them")
)]
pub fn server(
    name: &str,
    paths: &Paths,
    data: &Arc<dyn SessionData>,
    offline: bool,
) -> Option<Server> {
    match name {
        "demo" => Some(demo::server(false)),
        #[cfg(feature = "developer")]
        "developer" => Some(developer::server(paths, offline)),
        #[cfg(feature = "memory")]
        "memory" => Some(memory::server(paths)),
        "todo" => Some(todo::server(data.clone())),
        _ => None,
    }
}

/// Where a server keeps data of the one session that it works for: JSON under versioned keys.
pub trait SessionData: Send + Sync {
    /// What is kept under `key`.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn get(&self, key: &str) -> Result<Option<Value>, String>;

    /// Keeps `value` under `key`, in place of what was there.
    ///
    /// # Errors
    /// Why not; what was there before is there still.
    fn set(&self, key: &str, value: Value) -> Result<(), String>;
}

/// Data that is kept as long as the server lives, where there is no session of ours.
#[derive(Debug, Default)]
pub struct InMemoryData(Mutex<Map<String, Value>>);

impl SessionData for InMemoryData {
    fn get(&self, key: &str) -> Result<Option<Value>, String> {
        Ok(lock(&self.0).get(key).cloned())
    }

    fn set(&self, key: &str, value: Value) -> Result<(), String> {
        lock(&self.0).insert(key.to_owned(), value);
        Ok(())
    }
}

/// Where a call works: the session's directory as the client names it, else that of this process. What
/// is no directory is passed over.
#[cfg(any(feature = "developer", feature = "memory"))]
fn working_dir(context: &Context) -> PathBuf {
    let named = context
        .meta("agent-working-dir")
        .and_then(|dir| dir.as_str());
    let named = named
        .map(Path::new)
        .filter(|dir| dir.is_absolute() && dir.is_dir());
    named.map_or_else(
        || env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        Path::to_path_buf,
    )
}

/// Whose session it is, as the client says.
#[cfg(feature = "developer")]
fn session_id(context: &Context) -> Option<&str> {
    let id = context.meta("agent-session-id")?.as_str()?.trim();
    let fits = !id.is_empty() && id.len() <= 200 && !id.contains(char::is_control);
    fits.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_its_server() {
        let paths = Paths::under(std::path::Path::new("/nowhere"));
        let data: Arc<dyn SessionData> = Arc::new(InMemoryData::default());
        for &name in NAMES {
            let server = server(name, &paths, &data, false);
            assert_eq!(server.map(|s| s.name().to_owned()), Some(name.to_owned()));
        }
        for name in ["Demo", ""] {
            assert!(server(name, &paths, &data, false).is_none());
        }
    }
}
