//! The builtin MCP servers. Each is an [`mcp::server::Server`](Server). It runs in the process of a session, or
//! as `gosling mcp NAME` for any MCP client over stdio or HTTP, in a container if the client wants that.

pub mod checklist;
mod client_workspace;
#[cfg(feature = "developer")]
pub mod developer;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "todo")]
pub mod todo;

#[cfg(any(feature = "developer", feature = "memory"))]
use crate::mcp::server::Context;
pub use client_workspace::{
    ClientWorkspace, LentWorkspace, TerminalCommand, TerminalResult, WorkspaceSlot,
};
#[cfg(feature = "demo")]
pub use gosling_demo as demo;

#[cfg(feature = "builtin")]
use crate::mcp::server::{InProcess, Server};
use crate::mcp::transport::Transport;
use crate::store::Paths;
use crate::sys::lock;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
#[cfg(any(feature = "developer", feature = "memory"))]
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The names that [`server`] accepts in this build.
pub const NAMES: &[&str] = &[
    #[cfg(feature = "demo")]
    "demo",
    #[cfg(feature = "developer")]
    "developer",
    #[cfg(feature = "memory")]
    "memory",
    #[cfg(feature = "todo")]
    "todo",
];

/// Creates the server called `name`, one of [`NAMES`], for one client; `None` for any other name. `paths` has the
/// user's own files, `data` stores the data of the session. With `offline`, the programs that the server starts
/// are asked not to connect to other machines.
#[cfg(feature = "builtin")]
#[cfg_attr(
    not(all(feature = "developer", feature = "memory", feature = "todo")),
    allow(unused_variables, reason = "servers that are left out take them")
)]
pub fn server(
    name: &str,
    paths: &Paths,
    data: &Arc<dyn SessionData>,
    offline: bool,
) -> Option<Server> {
    match name {
        #[cfg(feature = "demo")]
        "demo" => Some(demo::server(false)),
        #[cfg(feature = "developer")]
        "developer" => Some(developer::server(paths, data.clone(), offline)),
        #[cfg(feature = "memory")]
        "memory" => Some(memory::server(paths)),
        #[cfg(feature = "todo")]
        "todo" => Some(todo::server(data.clone())),
        _ => None,
    }
}

/// A connection to the server called `name`, one of [`NAMES`], in this process; see [`server`].
#[cfg(feature = "builtin")]
pub fn connect(
    name: &str,
    paths: &Paths,
    data: &Arc<dyn SessionData>,
    offline: bool,
) -> Option<Arc<dyn Transport>> {
    let server = server(name, paths, data, offline)?;
    Some(Arc::new(InProcess::new(server)))
}

/// Without builtin servers there is none to connect to.
#[cfg(not(feature = "builtin"))]
pub fn connect(
    _: &str,
    _: &Paths,
    _: &Arc<dyn SessionData>,
    _: bool,
) -> Option<Arc<dyn Transport>> {
    None
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
    fn client(&self) -> Option<Arc<dyn ClientWorkspace>> {
        None
    }
}

/// Data in memory, for a server that runs outside of a session. It is lost with the server.
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

/// The working directory of a call: the one that the client names, or that of this process if it names none.
///
/// # Errors
/// When it is not an absolute path of a directory. No other one replaces it: the call would work on the wrong files.
#[cfg(any(feature = "developer", feature = "memory"))]
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
#[cfg(feature = "developer")]
fn session_id(context: &Context) -> Option<&str> {
    let id = context.meta("agent-session-id")?.as_str()?.trim();
    let fits = !id.is_empty() && id.len() <= 200 && !id.contains(char::is_control);
    fits.then_some(id)
}

#[cfg(all(test, feature = "builtin"))]
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

    #[cfg(all(feature = "check", feature = "demo"))]
    #[test]
    fn each_check_of_the_contract_that_a_server_can_fail_alone_has_a_fault_of_the_demo_server() {
        use crate::check::checks::{Check, Level};
        use demo::faults::FAULTS;
        use std::collections::HashSet;
        let names: HashSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        assert!(names.len() == FAULTS.len() && !names.contains("list"));
        let faulty: HashSet<&str> = FAULTS.iter().map(|fault| fault.check).collect();
        let checks = Check::ALL.iter().map(|check| check.describe());
        for check in checks.filter(|check| check.level != Level::Advice) {
            // What fails `ui-contents` fails `resource-contents` or `resources-read`, too.
            let has_fault = faulty.contains(check.name);
            assert_eq!(has_fault, check.name != "ui-contents", "{}", check.name);
        }
        for fault in FAULTS {
            let is_check = |check: &&Check| check.describe().name == fault.check;
            assert!(
                Check::ALL.iter().any(|check| is_check(&check)),
                "{}",
                fault.name
            );
        }
    }
}
