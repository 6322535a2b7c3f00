//! One connection to the server under test: it can send anything, and records everything that comes.
//!
//! Unlike the [client](crate::mcp::client), it accepts and remembers what a client would refuse, so that checks
//! can tell what was wrong. All that it keeps is bounded.

use super::answer::{RawAnswer, ServerReply};
use super::client_kind::{ClientKind, initialize_params};
use super::inbox::{ANSWERED_ONCE, Arrival, Inbox, InboxThread};
use super::run_timeouts::RunTimeouts;
use crate::extension::{Context, ExtensionConfig};
use crate::findings::{CheckFindings, ShownExchange};
use crate::mcp::transport::http::HttpOptions;
use crate::mcp::transport::stdio::StdioTransport;
use crate::mcp::transport::{Transport, TransportError};
use crate::sys::cancel::Cancel;
use crate::text::{printable, redact};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// The longest text of an exchange in a report, in characters.
const MAX_EXCERPT: usize = 500;
/// The text of an exchange before it is escaped, in bytes.
const MAX_EXCERPT_BYTES: usize = 4 << 10;

/// How often a call that takes long is asked for progress.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A connection.
pub(crate) struct RawConnection {
    transport: Arc<dyn Transport>,
    pub(crate) process: Option<Arc<StdioTransport>>,
    pub(crate) http: Option<HttpOptions>,
    pub(crate) inbox: Arc<Inbox>,
    inbox_thread: InboxThread,
    timeouts: Arc<RunTimeouts>,
    pub(crate) secrets: Vec<String>,
    last_id: AtomicI64,
    /// The result of `initialize`.
    pub(crate) initialized: Value,
    /// When the server was started.
    pub(crate) begin: Instant,
}

impl RawConnection {
    /// Starts the server, or prepares its address. Sends nothing.
    ///
    /// # Errors
    /// One sentence: the server could not be started.
    pub(crate) fn open(
        context: &Context,
        config: &ExtensionConfig,
        client: ClientKind,
        timeouts: &Arc<RunTimeouts>,
        cancel: &Cancel,
    ) -> Result<RawConnection, String> {
        let begin = Instant::now();
        let started = context.open(config, cancel).map_err(|e| e.to_string())?;
        let http = match config {
            ExtensionConfig::StreamableHttp(config) => context.http_options(config).ok(),
            _ => None,
        };
        let http = http.map(|(options, _)| options);
        let secrets = started.secrets().to_vec();
        let (inbox, inbox_thread, handler) = Inbox::start(client, started.process.is_some())
            .map_err(|e| format!("no thread could be started: {e}"))?;
        started
            .transport
            .start(handler)
            .map_err(|e| e.to_string())?;
        inbox.set_transport(&started.transport);
        Ok(RawConnection {
            transport: started.transport,
            process: started.process,
            http,
            inbox,
            inbox_thread,
            timeouts: timeouts.clone(),
            secrets,
            last_id: AtomicI64::new(0),
            initialized: Value::Null,
            begin,
        })
    }

    /// Sends `initialize` for a version of MCP, and keeps the result.
    pub(crate) fn initialize(&mut self, version: &str, client: ClientKind) -> ServerReply {
        let reply = self.request("initialize", initialize_params(client, version));
        if let RawAnswer::Result(result) = &reply.answer {
            self.initialized = result.clone();
            self.inbox.set_capabilities(&result["capabilities"]);
            if let Some(version) = result["protocolVersion"].as_str() {
                self.transport.negotiated(version);
            }
        }
        reply
    }

    /// Sends `notifications/initialized`.
    pub(crate) fn notify_initialized(&self) {
        self.notify("notifications/initialized", None);
    }

    /// The details of a declared capability.
    pub(crate) fn capability(&self, name: &str) -> Option<&Value> {
        self.initialized["capabilities"]
            .get(name)
            .filter(|details| !details.is_null())
    }

    /// Sends a request and waits for its answer. `params` may be null for none.
    pub(crate) fn request(&self, method: &str, params: Value) -> ServerReply {
        self.wait(self.begin_request(method, params))
    }

    /// Sends `ping` and waits for its answer.
    pub(crate) fn ping(&self) -> ServerReply {
        self.request("ping", json!({}))
    }

    /// Sends a request many times, and only then waits for the answers.
    pub(crate) fn request_at_once(
        &self,
        count: usize,
        method: &str,
        params: &Value,
    ) -> Vec<ServerReply> {
        let pending = (0..count).map(|_| self.begin_request(method, params.clone()));
        let pending: Vec<_> = pending.collect();
        pending
            .into_iter()
            .map(|request| self.wait(request))
            .collect()
    }

    /// Sends a request without waiting.
    pub(crate) fn begin_request(&self, method: &str, params: Value) -> SentRequest {
        let number = self.next_id();
        self.begin_with_id(json!(number), number, method, params)
    }

    /// Sends a request with an id of any type, and waits for its answer.
    pub(crate) fn request_with_id(&self, id: Value, method: &str, params: Value) -> ServerReply {
        let number = self.next_id();
        self.wait(self.begin_with_id(id, number, method, params))
    }

    /// A token that no other request has.
    pub(crate) fn progress_token(&self) -> Value {
        json!(format!("gosling-{}", self.next_id()))
    }

    fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn begin_with_id(&self, id: Value, number: i64, method: &str, params: Value) -> SentRequest {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.begin_unframed(&id, number, message.to_string(), None)
    }

    /// Sends a request as this text; over stdio with this end of the line, if it is given.
    pub(crate) fn request_as(&self, id: i64, text: String, end: Option<&str>) -> ServerReply {
        let number = self.next_id();
        self.wait(self.begin_unframed(&json!(id), number, text, end))
    }

    fn begin_unframed(
        &self,
        id: &Value,
        number: i64,
        text: String,
        end: Option<&str>,
    ) -> SentRequest {
        self.inbox.expect(id, number);
        let sent = self.excerpt(text.as_bytes());
        let begin = Instant::now();
        let failed = self.send(text, Some(number), end).err();
        SentRequest {
            number,
            sent,
            begin,
            failed,
        }
    }

    fn send(
        &self,
        text: String,
        request: Option<i64>,
        end: Option<&str>,
    ) -> Result<(), TransportError> {
        match (end, &self.process) {
            (Some(end), Some(process)) => process.send_unframed((text + end).into_bytes(), request),
            _ => self.transport.send(text.into_bytes(), request),
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let _ = self.send(message.to_string(), None, None);
    }

    /// Sends bytes over stdio, as they are.
    pub(crate) fn send_unframed(&self, bytes: &[u8]) {
        if let Some(process) = &self.process {
            let _ = process.send_unframed(bytes.to_vec(), None);
        }
    }

    /// Waits for the answer to a request.
    fn wait(&self, pending: SentRequest) -> ServerReply {
        let timeout = self.timeouts.current();
        let response = match &pending.failed {
            Some(error) => Arrival::Failed(error.clone()),
            None => self.inbox.wait(pending.number, pending.begin + timeout),
        };
        self.reply(pending, response, timeout)
    }

    /// Waits for the answer to a call. A call that reports progress and takes longer than `patience` is cancelled
    /// instead: `None`.
    pub(crate) fn wait_for_call(
        &self,
        pending: SentRequest,
        token: &Value,
        patience: Duration,
    ) -> Option<ServerReply> {
        let end = pending.begin + self.timeouts.current();
        let mut until = pending.begin + patience;
        while pending.failed.is_none() && until < end {
            let response = self.inbox.wait(pending.number, until);
            if !matches!(response, Arrival::None) {
                return Some(self.reply(pending, response, patience));
            }
            until += POLL_INTERVAL;
            if self.inbox.has_progress(token) {
                let params = json!({"requestId": pending.number, "reason": "it takes too long"});
                self.notify("notifications/cancelled", Some(params));
                self.transport.abandon(pending.number);
                return None;
            }
        }
        Some(self.wait(pending))
    }

    fn reply(&self, pending: SentRequest, response: Arrival, timeout: Duration) -> ServerReply {
        let is_unreachable = matches!(
            response,
            Arrival::Failed(TransportError::Refused(_) | TransportError::Unreachable(_))
        );
        let (answer, received) = match response {
            Arrival::Message { answer, text } => (answer, self.excerpt(text.as_bytes())),
            Arrival::Failed(error) => {
                let text = self.redacted(&error.to_string());
                let answer = match error {
                    TransportError::Status { .. }
                    | TransportError::Denied(_)
                    | TransportError::SessionExpired { .. }
                    | TransportError::TooManyRequests { .. } => RawAnswer::Refused(text.clone()),
                    _ => RawAnswer::Silence(text.clone()),
                };
                (answer, text)
            }
            Arrival::None => {
                self.timeouts.note_silence(pending.begin);
                self.transport.abandon(pending.number);
                let text = format!("no answer within {} s", timeout.as_secs_f32());
                (RawAnswer::Silence(text.clone()), text)
            }
        };
        ServerReply {
            answer,
            is_unreachable,
            exchange: ShownExchange {
                sent: pending.sent,
                received,
            },
        }
    }

    /// Whether the connection still works, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.inbox.is_closed()
    }

    /// Closes the connection, ends the server, and records what it did wrong.
    pub(crate) fn close(mut self, findings: &mut CheckFindings) {
        self.transport.close();
        self.inbox_thread.end();
        self.record(findings);
    }

    /// Records what the server did wrong so far, whatever was asked.
    pub(crate) fn record(&self, findings: &mut CheckFindings) {
        let unasked = |text: &str| ShownExchange {
            sent: String::new(),
            received: self.excerpt(text.as_bytes()),
        };
        for (check, detail, text) in self.inbox.take_faults() {
            findings.fail(check, (self.redacted(&detail), unasked(&text)));
        }
        for text in self.inbox.take_strays() {
            // One may answer a message that could not be read, at any later time.
            if !is_error_without_id(&text) {
                let detail = "a response came without a request";
                findings.fail(ANSWERED_ONCE, (detail, unasked(&text)));
            }
        }
    }

    /// A part of a message for a report, without secrets.
    pub(crate) fn excerpt(&self, bytes: &[u8]) -> String {
        let cut = &bytes[..bytes.len().min(MAX_EXCERPT_BYTES)];
        printable(&self.redacted(&String::from_utf8_lossy(cut)), MAX_EXCERPT)
    }

    fn redacted(&self, text: &str) -> String {
        redact(text, &self.secrets)
    }
}

fn is_error_without_id(text: &str) -> bool {
    let message: Value = crate::text::json::from_str(text).unwrap_or_default();
    message["id"].is_null() && message["error"].is_object()
}

impl Drop for RawConnection {
    fn drop(&mut self) {
        self.transport.close();
    }
}

/// A request that was sent.
pub(crate) struct SentRequest {
    number: i64,
    sent: String,
    begin: Instant,
    failed: Option<TransportError>,
}
