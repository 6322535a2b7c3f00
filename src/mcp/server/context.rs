//! The request that a handler works on, and the messages that it may send to the client.

use super::client_questions::{AskError, ClientQuestions};
use super::reply::ReplySink;
use super::{Level, Server};
use crate::jsonrpc;
use crate::types::Progress;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The request that a handler works on.
pub struct Context {
    server: Arc<Server>,
    sink: ReplySink,
    cancel: Cancel,
    meta: Map<String, Value>,
    logger: String,
    level: Option<Arc<Mutex<Level>>>,
    questions: Option<Arc<ClientQuestions>>,
}

impl Context {
    /// `level` is the lowest level for the client; `None` if logging is not declared. `questions` is `None` where
    /// answers of the client cannot arrive.
    pub(super) fn new(
        server: &Arc<Server>,
        sink: &ReplySink,
        cancel: &Cancel,
        meta: Option<&RawValue>,
        logger: &str,
        level: Option<Arc<Mutex<Level>>>,
        questions: Option<Arc<ClientQuestions>>,
    ) -> Self {
        Context {
            server: server.clone(),
            sink: sink.clone(),
            cancel: cancel.clone(),
            meta: meta
                .and_then(|meta| gosling_text::json::from_str(meta.get()).ok())
                .unwrap_or_default(),
            logger: logger.to_owned(),
            level,
            questions,
        }
    }

    /// Asks the client, and waits for its answer.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        capability: &'static str,
        method: &str,
        params: Option<&impl Serialize>,
    ) -> Result<T, AskError> {
        let questions = self.questions.as_ref().ok_or(AskError::Quick)?;
        questions.ask(capability, method, params, &self.sink, &self.cancel)
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) fn logger(&self) -> &str {
        &self.logger
    }

    /// The server, for example to [add](Server::add_tool) something to it.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Cancelled when the client cancels the request or leaves. A long handler must check it; its result is
    /// dropped then.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The value of `key` in the request's `_meta`, for any letter case, for example `agent-working-dir`.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        let same = |(name, _): &(&String, &Value)| name.eq_ignore_ascii_case(key);
        self.meta.iter().find(same).map(|(_, value)| value)
    }

    /// Reports progress if the request has a `progressToken`. `progress` must grow from call to call; `total`
    /// is the final value, if known. MCP 2025-11-25, basic/utilities/progress.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let token = self
            .meta
            .get("progressToken")
            .and_then(|t| gosling_text::json::from_value(t).ok());
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

    /// Sends a log message if logging is declared and the client's level allows it. `data` may be any JSON.
    /// MCP 2025-11-25, server/utilities/logging.
    pub fn log(&self, level: Level, data: impl Serialize) {
        self.log_as(&self.logger, level, data);
    }

    /// Sends a log message with another logger name, see [`log`](Self::log).
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

    /// Tells the client that the result of [`Server::live_resources`](super::Server::live_resources) has
    /// changed.
    pub fn resources_changed(&self) {
        self.notify("notifications/resources/list_changed", &Map::new());
    }

    /// Waits for `duration` or until the request is cancelled; true if it was not cancelled.
    pub fn pause(&self, duration: Duration) -> bool {
        !self.cancel.wait_timeout(duration)
    }

    /// A cancelled request gets no more notifications.
    fn notify(&self, method: &str, params: &impl Serialize) {
        if self.cancel.is_cancelled() {
            return;
        }
        if let Ok(message) = jsonrpc::notification(method, Some(params)) {
            (self.sink)(message);
        }
    }
}
