//! One connection to the server under test: it can send anything, and records everything that comes.
//!
//! Unlike the [client](crate::mcp::client), it accepts and remembers what a client would refuse, so that checks
//! can tell what was wrong. All that it keeps is bounded.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::inbox::{Inbox, InboxThread, Response};
use crate::extension::{Context, ExtensionConfig};
use crate::mcp::transport::http::HttpOptions;
use crate::mcp::transport::stdio::StdioTransport;
use crate::mcp::transport::{Transport, TransportError};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::text::{printable, redact};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest text of an exchange in a report, in characters.
const MAX_EXCERPT: usize = 500;
/// The text of an exchange before it is escaped, in bytes.
const MAX_EXCERPT_BYTES: usize = 4 << 10;

/// How often a call that takes long is asked for progress.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// After so many requests without an answer, none is waited for.
const MAX_SILENCES: usize = 30;

/// How long a request may take. Servers that do not answer get less time after a while, so that a run ends.
pub(super) struct Timeouts {
    request: Duration,
    silences: Mutex<Silences>,
    /// When the run is over.
    end: Instant,
}

/// The waits that were in vain. Those at the same time count once.
#[derive(Default)]
struct Silences {
    count: usize,
    last: Option<Instant>,
}

impl Timeouts {
    pub(super) fn new(request: Duration, end: Instant) -> Self {
        Timeouts {
            request,
            end,
            silences: Mutex::default(),
        }
    }

    pub(super) fn current(&self) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        let request = match lock(&self.silences).count {
            0..3 => self.request,
            3..8 => self.request.min(Duration::from_secs(2)),
            8..MAX_SILENCES => self.request.min(Duration::from_millis(500)),
            _ => Duration::ZERO,
        };
        request.min(left)
    }

    /// Notes that a wait which began at `begin` was in vain.
    fn note_silence(&self, begin: Instant) {
        let mut silences = lock(&self.silences);
        if silences.last.is_none_or(|last| last <= begin) {
            silences.count += 1;
            silences.last = Some(Instant::now());
        }
    }
}

/// What the client says that it can do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientKind {
    /// Everything that Goose Desktop does, user interfaces included.
    Full,
    /// Nothing.
    Bare,
}

impl ClientKind {
    pub(super) fn capabilities(self) -> Value {
        match self {
            ClientKind::Bare => json!({}),
            ClientKind::Full => json!({
                "roots": {"listChanged": true},
                "sampling": {},
                "elicitation": {},
                "extensions": {
                    "io.modelcontextprotocol/ui": {"mimeTypes": [super::ui::MIME_TYPE]},
                },
            }),
        }
    }
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Result(Value),
    Error {
        code: i64,
        message: String,
    },
    /// Not JSON-RPC: the HTTP status refuses the request.
    Refused(String),
    /// There is no answer, and why.
    Silence(String),
}

/// A request with its outcome.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) exchange: Exchange,
    /// There is no server at the address.
    pub(super) is_unreachable: bool,
}

impl Reply {
    /// The result, if it is one.
    pub(super) fn result(&self) -> Option<&Value> {
        match &self.answer {
            Answer::Result(result) => Some(result),
            _ => None,
        }
    }

    /// Whether there is any answer.
    pub(super) fn is_answered(&self) -> bool {
        !matches!(self.answer, Answer::Silence(_))
    }

    /// Whether it is the error of an unknown method.
    pub(super) fn is_unknown_method(&self) -> bool {
        matches!(self.answer, Answer::Error { code: -32601, .. })
    }

    /// The outcome in a few words.
    pub(super) fn describe(&self) -> String {
        match &self.answer {
            Answer::Result(_) => "a result".to_owned(),
            Answer::Error { code, message } => {
                format!("the error {code} ({})", printable(message, 120))
            }
            Answer::Refused(reason) | Answer::Silence(reason) => reason.clone(),
        }
    }
}

/// A connection.
pub(super) struct Session {
    transport: Arc<dyn Transport>,
    pub(super) process: Option<Arc<StdioTransport>>,
    pub(super) http: Option<HttpOptions>,
    pub(super) inbox: Arc<Inbox>,
    inbox_thread: InboxThread,
    timeouts: Arc<Timeouts>,
    pub(super) secrets: Vec<String>,
    last_id: AtomicI64,
    /// The result of `initialize`.
    pub(super) initialized: Value,
    /// When the server was started.
    pub(super) begin: Instant,
}

impl Session {
    /// Starts the server, or prepares its address. Sends nothing.
    ///
    /// # Errors
    /// One sentence: the server could not be started.
    pub(super) fn open(
        context: &Context,
        config: &ExtensionConfig,
        client: ClientKind,
        timeouts: &Arc<Timeouts>,
        cancel: &Cancel,
    ) -> Result<Session, String> {
        let begin = Instant::now();
        let started = context.open(config, cancel).map_err(|e| e.to_string())?;
        let secrets = started.secrets().to_vec();
        let (inbox, inbox_thread, handler) = Inbox::start(client, started.process.is_some())
            .map_err(|e| format!("no thread could be started: {e}"))?;
        started
            .transport
            .start(handler)
            .map_err(|e| e.to_string())?;
        inbox.set_transport(&started.transport);
        Ok(Session {
            transport: started.transport,
            process: started.process,
            http: started.http,
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
    pub(super) fn initialize(&mut self, version: &str, client: ClientKind) -> Reply {
        let reply = self.request(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": client.capabilities(),
                "clientInfo": {"name": "gosling-check", "version": env!("CARGO_PKG_VERSION")},
            }),
        );
        if let Answer::Result(result) = &reply.answer {
            self.initialized = result.clone();
            self.inbox.set_capabilities(&result["capabilities"]);
            if let Some(version) = result["protocolVersion"].as_str() {
                self.transport.negotiated(version);
            }
        }
        reply
    }

    /// Sends `notifications/initialized`.
    pub(super) fn notify_initialized(&self) {
        self.notify("notifications/initialized", None);
    }

    /// The details of a declared capability.
    pub(super) fn capability(&self, name: &str) -> Option<&Value> {
        self.initialized["capabilities"]
            .get(name)
            .filter(|details| !details.is_null())
    }

    /// Sends a request and waits for its answer. `params` may be null for none.
    pub(super) fn request(&self, method: &str, params: Value) -> Reply {
        self.wait(self.begin_request(method, params))
    }

    /// Sends a request without waiting.
    pub(super) fn begin_request(&self, method: &str, params: Value) -> Pending {
        let number = self.next_id();
        self.begin_with_id(json!(number), number, method, params)
    }

    /// Sends a request with an id of any type, and waits for its answer.
    pub(super) fn request_with_id(&self, id: Value, method: &str, params: Value) -> Reply {
        let number = self.next_id();
        self.wait(self.begin_with_id(id, number, method, params))
    }

    /// A token that no other request has.
    pub(super) fn progress_token(&self) -> Value {
        json!(format!("gosling-{}", self.next_id()))
    }

    fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn begin_with_id(&self, id: Value, number: i64, method: &str, params: Value) -> Pending {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.begin_unframed(&id, number, message.to_string(), None)
    }

    /// Sends a request as this text; over stdio with this end of the line, if it is given.
    pub(super) fn request_as(&self, id: i64, text: String, end: Option<&str>) -> Reply {
        let number = self.next_id();
        self.wait(self.begin_unframed(&json!(id), number, text, end))
    }

    fn begin_unframed(&self, id: &Value, number: i64, text: String, end: Option<&str>) -> Pending {
        self.inbox.expect(id, number);
        let sent = self.excerpt(text.as_bytes());
        let begin = Instant::now();
        let failed = self.send(text, Some(number), end).err();
        Pending {
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
    pub(super) fn notify(&self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let _ = self.send(message.to_string(), None, None);
    }

    /// Sends bytes over stdio, as they are.
    pub(super) fn send_unframed(&self, bytes: &[u8]) {
        if let Some(process) = &self.process {
            let _ = process.send_unframed(bytes.to_vec(), None);
        }
    }

    /// Waits for the answer to a request.
    pub(super) fn wait(&self, pending: Pending) -> Reply {
        let timeout = self.timeouts.current();
        self.wait_for(pending, timeout)
    }

    /// Waits for the answer to a call. A call that reports progress and takes longer than `patience` is cancelled
    /// instead: `None`.
    pub(super) fn wait_for_call(
        &self,
        pending: Pending,
        token: &Value,
        patience: Duration,
    ) -> Option<Reply> {
        let end = pending.begin + self.timeouts.current();
        let mut until = pending.begin + patience;
        while pending.failed.is_none() && until < end {
            let response = self.inbox.wait(pending.number, until);
            if !matches!(response, Response::None) {
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

    fn wait_for(&self, pending: Pending, timeout: Duration) -> Reply {
        let response = match &pending.failed {
            Some(error) => Response::Failed(error.clone()),
            None => self.inbox.wait(pending.number, pending.begin + timeout),
        };
        self.reply(pending, response, timeout)
    }

    fn reply(&self, pending: Pending, response: Response, timeout: Duration) -> Reply {
        let is_unreachable = matches!(
            response,
            Response::Failed(TransportError::Refused(_) | TransportError::Unreachable(_))
        );
        let (answer, received) = match response {
            Response::Message { answer, text } => (answer, self.excerpt(text.as_bytes())),
            Response::Failed(error) => {
                let text = self.redacted(&error.to_string());
                let answer = match error {
                    TransportError::Status { .. }
                    | TransportError::Denied(_)
                    | TransportError::SessionExpired { .. }
                    | TransportError::TooManyRequests { .. } => Answer::Refused(text.clone()),
                    _ => Answer::Silence(text.clone()),
                };
                (answer, text)
            }
            Response::None => {
                self.timeouts.note_silence(pending.begin);
                self.transport.abandon(pending.number);
                let text = format!("no answer within {} s", timeout.as_secs_f32());
                (Answer::Silence(text.clone()), text)
            }
        };
        Reply {
            answer,
            is_unreachable,
            exchange: Exchange {
                sent: pending.sent,
                received,
            },
        }
    }

    /// Whether the connection still works, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.inbox.is_closed()
    }

    /// Closes the connection, ends the server, and records what it did wrong.
    pub(super) fn close(mut self, findings: &mut Findings) {
        self.transport.close();
        self.inbox_thread.end();
        self.record(findings);
    }

    /// Records what the server did wrong so far, whatever was asked.
    pub(super) fn record(&self, findings: &mut Findings) {
        for (check, detail, text) in self.inbox.take_faults() {
            let exchange = Exchange {
                sent: String::new(),
                received: self.excerpt(text.as_bytes()),
            };
            findings.fail(check, self.redacted(&detail), exchange);
        }
        for text in self.inbox.take_strays() {
            if is_error_without_id(&text) {
                // It may answer a message that could not be read, at any later time.
                continue;
            }
            let exchange = Exchange {
                sent: String::new(),
                received: self.excerpt(text.as_bytes()),
            };
            let detail = "a response came without a request".to_owned();
            findings.fail(Check::AnsweredOnce, detail, exchange);
        }
    }

    /// A part of a message for a report, without secrets.
    pub(super) fn excerpt(&self, bytes: &[u8]) -> String {
        let cut = &bytes[..bytes.len().min(MAX_EXCERPT_BYTES)];
        printable(&self.redacted(&String::from_utf8_lossy(cut)), MAX_EXCERPT)
    }

    fn redacted(&self, text: &str) -> String {
        redact(text, &self.secrets)
    }
}

fn is_error_without_id(text: &str) -> bool {
    let message: Value = crate::json::from_str(text).unwrap_or_default();
    message["id"].is_null() && message["error"].is_object()
}

impl Drop for Session {
    fn drop(&mut self) {
        self.transport.close();
    }
}

/// A request that was sent.
pub(super) struct Pending {
    number: i64,
    sent: String,
    begin: Instant,
    failed: Option<TransportError>,
}
