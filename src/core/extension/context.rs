//! What a session provides for its extensions.

use super::container::Containers;
use super::environment::Inherited;
use super::inline_python::PythonRunner;
use super::pinning_check::Pinning;
use super::sandbox::Sandboxing;
use super::screening_check::Screening;
use crate::activity::Activity;
use crate::builtin::{OwnServers, SessionData};
use crate::mcp::client::{MAX_TIMEOUT, RequestHandler};
use crate::mcp::transport::stdio::MAX_LINE;
use crate::store::Paths;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Looks up a secret by name; `None` if there is none.
pub type SecretLookup = dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync;

/// Makes what answers the requests of an extension's server, from the key of the extension.
pub type RequestHandlers = dyn Fn(String) -> Arc<dyn RequestHandler> + Send + Sync;

/// What a session provides for its extensions.
#[derive(Clone)]
pub struct Context {
    /// The session's id, for `AGENT_SESSION_ID` and `_meta`.
    pub session_id: String,
    /// The working directory of stdio servers.
    pub working_dir: PathBuf,
    /// Where the values of `env_keys` come from.
    pub secrets: Arc<SecretLookup>,
    /// The directories of builtin extensions.
    pub paths: Arc<Paths>,
    /// The data that builtin extensions store in the session.
    pub data: Arc<dyn SessionData>,
    /// The servers of the program, besides the builtin ones.
    pub servers: OwnServers,
    /// Offline: no connection may leave this machine.
    pub offline: bool,
    /// Limits on requests and messages.
    pub limits: Limits,
    /// Offer the working directory as root (MCP client/roots).
    pub roots: bool,
    /// The folders that are further roots.
    pub more_roots: Vec<PathBuf>,
    /// The client shows user interfaces of servers (SEP-1865, client capabilities).
    pub user_interfaces: bool,
    /// The lowest level of log messages that servers shall send; the server's default if absent (MCP
    /// server/utilities/logging).
    pub log_level: Option<&'static str>,
    /// The containers in which extensions run.
    pub containers: Containers,
    /// What extensions that are programs inherit of this server's environment.
    pub inherited: Inherited,
    /// The walls around them.
    pub sandboxing: Sandboxing,
    /// What runs inline Python.
    pub inline_python: Option<Arc<dyn PythonRunner>>,
    /// The screening of what extensions start.
    pub screening: Screening,
    /// The pinning of tools.
    pub pinning: Pinning,
    /// The record of what is done.
    pub activity: Activity,
    /// Answers requests of servers; without it they are refused.
    pub request_handlers: Option<Arc<RequestHandlers>>,
}

/// Limits that a user may set for all extensions.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time limit of a request, whatever progress it reports. A longer `timeout` of an extension takes
    /// precedence.
    pub total: Duration,
    /// The largest message of a server, in bytes.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            total: MAX_TIMEOUT,
            message: MAX_LINE,
        }
    }
}
