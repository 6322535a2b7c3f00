//! What all threads of a server share.

use super::connections::Connections;
use super::encryption::Encryption;
use super::router::Router;
use super::{AccessControl, Limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What all threads of a server share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) router: Arc<Router>,
    pub(super) access_control: AccessControl,
    pub(super) limits: Limits,
    /// That of every connection, if clients use TLS.
    pub(super) encryption: Option<Arc<dyn Encryption>>,
    pub(super) connections: Connections,
    pub(super) stopping: AtomicBool,
    pub(super) started: Instant,
}

impl ServerState {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// The time since the server started.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }
}
