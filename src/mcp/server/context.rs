//! What a handler knows about the request that it works for, and can say to the client meanwhile.

use super::reply::ReplySink;
use crate::mcp::jsonrpc;
use crate::mcp::types::Progress;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How much a log message matters, least first. MCP 2025-11-25, server/utilities/logging (the
/// levels of RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Details for those who look for a fault.
    Debug,
    /// What goes on. The least that is sent until the client chooses.
    Info,
    /// What is normal but worth a look.
    Notice,
    /// What may become a fault.
    Warning,
    /// What failed.
    Error,
    /// What keeps a part from working.
    Critical,
    /// What must be acted on at once.
    Alert,
    /// What keeps everything from working.
    Emergency,
}

/// The request that a handler works for.
pub struct Context {
    sink: ReplySink,
    cancel: Cancel,
    meta: Map<String, Value>,
    logger: String,
    level: Option<Arc<Mutex<Level>>>,
}

impl Context {
    /// `level` is what the client wants to hear; `None` if logging was not declared.
    pub(super) fn new(
        sink: &ReplySink,
        cancel: &Cancel,
        meta: Option<&RawValue>,
        logger: &str,
        level: Option<Arc<Mutex<Level>>>,
    ) -> Self {
        Context {
            sink: sink.clone(),
            cancel: cancel.clone(),
            meta: meta
                .and_then(|meta| crate::json::from_str(meta.get()).ok())
                .unwrap_or_default(),
            logger: logger.to_owned(),
            level,
        }
    }

    /// What is called: the tool's or prompt's name, the resource's URI.
    pub(super) fn logger(&self) -> &str {
        &self.logger
    }

    /// Cancelled when the client no longer wants the answer or has left. A handler that takes long
    /// must heed it; what it returns afterwards is not sent.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// What the request's `_meta` has under `key`, in any letter case, for example
    /// `agent-working-dir`. Whatever else is there is ignored.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        let same = |(name, _): &(&String, &Value)| name.eq_ignore_ascii_case(key);
        self.meta.iter().find(same).map(|(_, value)| value)
    }

    /// Tells the client how far the work is, if it asked for that with a `progressToken`.
    /// `progress` must grow from one call to the next; `total` is where it ends, if known.
    /// MCP 2025-11-25, basic/utilities/progress.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let token = self
            .meta
            .get("progressToken")
            .and_then(|t| crate::json::from_value(t).ok());
        if let Some(progress_token) = token {
            self.notify(
                "notifications/progress",
                &Progress {
                    progress_token,
                    progress,
                    total,
                    message: message.map(str::to_owned),
                },
            );
        }
    }

    /// Sends a log message, if logging is declared and the client wants this level. `data` may be
    /// any JSON. MCP 2025-11-25, server/utilities/logging.
    pub fn log(&self, level: Level, data: impl Serialize) {
        self.log_as(&self.logger, level, data);
    }

    /// As [`log`](Self::log), by another name than that of what was called.
    pub fn log_as(&self, logger: &str, level: Level, data: impl Serialize) {
        #[derive(Serialize)]
        struct LogMessage<'a, D> {
            level: Level,
            logger: &'a str,
            data: D,
        }
        if self
            .level
            .as_ref()
            .is_some_and(|least| level >= *lock(least))
        {
            self.notify(
                "notifications/message",
                &LogMessage {
                    level,
                    logger,
                    data,
                },
            );
        }
    }

    /// Tells the client that [`Server::live_resources`](super::Server::live_resources) finds others
    /// now than before.
    pub fn resources_changed(&self) {
        self.notify("notifications/resources/list_changed", &Map::new());
    }

    /// Waits for `duration` or until the request is cancelled; says whether it may go on.
    pub fn pause(&self, duration: Duration) -> bool {
        !self.cancel.wait_timeout(duration)
    }

    /// A cancelled request is over for the client, so nothing is said about it any more.
    fn notify(&self, method: &str, params: &impl Serialize) {
        if self.cancel.is_cancelled() {
            return;
        }
        if let Ok(message) = jsonrpc::notification(method, Some(params)) {
            (self.sink)(message);
        }
    }
}
