//! MCP client: the life cycle of one connection, requests, and messages of the server.
//!
//! Any number of threads may send requests; each waits in its own slot. A message of the server is handled in
//! the thread that read it, see `dispatch`. MCP 2025-11-25, basic/lifecycle, server/*; CORE §3, §8.

mod dispatch;
mod pagination;
mod server_requests;

pub use super::pending_requests::{CallObserver, CallOptions, RequestTimeouts};
use server_requests::DuringCall;
pub use server_requests::RequestHandler;

use super::error::Error;
use super::incoming_requests::IncomingRequests;
use super::jsonrpc::{self, Id, RawJson};
use super::pending_requests::{Outcome, PendingRequests, Slot};
use super::transport::{MessageHandler, Transport, TransportError};
use super::types::*;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use gosling_text::{printable, redact};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// The default time limit of a request without progress.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// The time limit of a request, whatever progress it reports.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// The longest quotation of an invalid message, in characters.
const QUOTED: usize = 200;
/// How many phrases about oddities of the server are kept.
const MAX_OVERLOOKED: usize = 20;

/// Options of one connection.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The server's name in logs.
    pub name: String,
    /// This client's name and version, for `initialize`.
    pub client: Implementation,
    /// Capabilities in addition to those of `request_handler` and `roots`.
    pub capabilities: serde_json::Map<String, serde_json::Value>,
    /// The time limits of `initialize` and of each later request.
    pub timeouts: RequestTimeouts,
    /// `_meta` of every request except `initialize` (SERVER §9.2).
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// Texts to redact in everything that the server sends.
    pub secrets: Vec<String>,
    /// Answers the server's requests; without it they are refused.
    pub request_handler: Option<Arc<dyn RequestHandler>>,
    /// The roots for `roots/list`. If absent, the capability is not declared, because some servers replace
    /// the directories of their command line by the client's roots.
    pub roots: Option<Vec<Root>>,
}

impl Options {
    /// The defaults for a server of this name, and for a client that tells it who it is.
    pub fn new(name: &str, client: Implementation) -> Self {
        Options {
            name: name.to_owned(),
            client,
            capabilities: serde_json::Map::new(),
            timeouts: RequestTimeouts {
                idle: DEFAULT_TIMEOUT,
                total: MAX_TIMEOUT,
            },
            meta: serde_json::Map::new(),
            secrets: Vec::new(),
            request_handler: None,
            roots: None,
        }
    }

    /// The capabilities for `initialize`: those that the client has handlers for.
    fn declared(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut all = self.capabilities.clone();
        if let Some(handler) = &self.request_handler {
            if handler.samples() {
                all.insert("sampling".to_owned(), json!({}));
            }
            if handler.elicits() {
                all.insert("elicitation".to_owned(), json!({"form": {}, "url": {}}));
            }
        }
        if self.roots.is_some() {
            all.insert("roots".to_owned(), json!({}));
        }
        all
    }
}

/// Receives notifications of the server. The client calls it in the thread that reads the connection, so it
/// must not block.
pub trait NotificationHandler: Send + Sync {
    /// Handles a notification that the client does not handle itself. `request` is the id of the request that
    /// it belongs to, if known.
    fn notification(&self, method: &str, params: Option<&RawValue>, request: Option<i64>);
}

/// Ignores every notification.
pub struct IgnoreNotifications;

impl NotificationHandler for IgnoreNotifications {
    fn notification(&self, _: &str, _: Option<&RawValue>, _: Option<i64>) {}
}

/// Counts messages that the client skipped or refused.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Lines or events that are not JSON-RPC messages.
    pub malformed: AtomicU64,
    /// Responses to requests that were never sent or were answered already.
    pub unexpected: AtomicU64,
    /// Notifications of any kind.
    pub notifications: AtomicU64,
    /// Requests of the server that were answered with an error.
    pub refused: AtomicU64,
}

/// An initialized connection to one MCP server. Dropping it closes it.
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    /// The text of the members of [`Options::meta`], each with a comma behind it.
    meta_members: String,
    transport: Arc<dyn Transport>,
    notification_handler: Arc<dyn NotificationHandler>,
    pending: PendingRequests,
    counters: Counters,
    /// What was left out of the server's messages, a phrase each.
    overlooked: Mutex<Vec<String>>,
    server: OnceLock<InitializeResult>,
    requests: Arc<IncomingRequests<DuringCall>>,
    /// A reference for the threads that answer the server's requests.
    this: Weak<Inner>,
}

/// Makes the bytes of the request with this id.
type MakeMessage<'a> = dyn Fn(i64) -> serde_json::Result<Vec<u8>> + 'a;

impl Client {
    /// Starts the transport and initializes the server: offers the newest protocol version, accepts an older
    /// one, and sends `notifications/initialized`.
    ///
    /// # Errors
    /// Why the initialization failed; the transport is closed then.
    pub fn connect(
        transport: Arc<dyn Transport>,
        options: Options,
        notification_handler: Arc<dyn NotificationHandler>,
        cancel: &Cancel,
    ) -> Result<Client, Error> {
        let client = Client::new(transport, options, notification_handler);
        client.initialize(cancel)?;
        Ok(client)
    }

    /// A client whose connection was never made, and is closed.
    #[doc(hidden)]
    pub fn closed(name: &str) -> Client {
        let handler = Arc::new(IgnoreNotifications);
        let options = Options::new(name, Implementation::default());
        let client = Client::new(Arc::new(NoTransport), options, handler);
        client.inner.pending.fail(TransportError::Closed);
        client
    }

    fn new(
        transport: Arc<dyn Transport>,
        options: Options,
        notification_handler: Arc<dyn NotificationHandler>,
    ) -> Client {
        Client {
            inner: Arc::new_cyclic(|this| Inner {
                meta_members: meta_members(&options.meta),
                options,
                transport,
                notification_handler,
                pending: PendingRequests::default(),
                counters: Counters::default(),
                overlooked: Mutex::default(),
                server: OnceLock::new(),
                requests: Arc::new(IncomingRequests::new(
                    server_requests::LIMITS,
                    &Cancel::new(),
                )),
                this: this.clone(),
            }),
        }
    }

    fn initialize(&self, cancel: &Cancel) -> Result<(), Error> {
        let inner = &self.inner;
        inner
            .transport
            .start(inner.clone())
            .map_err(Error::Transport)?;
        let params = json!({
            "protocolVersion": VERSIONS[0],
            "capabilities": inner.options.declared(),
            "clientInfo": inner.options.client,
        });
        const METHOD: &str = "initialize";
        let answer = self.ask(METHOD, Some(params), cancel)?;
        let (answer, overlooked) = self.decode_overlooking::<InitializeResult>(METHOD, &answer)?;
        // What a server can do is not beside the point.
        if let Some(wrong) = overlooked.iter().find(|it| it.starts_with("`capabilities")) {
            let reason = printable(&redact(wrong, &inner.options.secrets), QUOTED);
            return Err(Error::wrong_shape(METHOD, &reason));
        }
        inner.overlook(METHOD, &overlooked);
        let version = answer.protocol_version.clone();
        if !VERSIONS.contains(&version.as_str()) {
            return Err(Error::Version {
                offered: VERSIONS[0],
                answered: printable(&redact(&version, &inner.options.secrets), 64),
            });
        }
        inner.transport.negotiated(&version);
        let _ = inner.server.set(answer);
        inner.notify("notifications/initialized", None::<&()>)
    }

    /// The server's answer to `initialize`.
    pub fn server(&self) -> &InitializeResult {
        static NOT_INITIALIZED: OnceLock<InitializeResult> = OnceLock::new();
        self.initialized()
            .unwrap_or_else(|| NOT_INITIALIZED.get_or_init(InitializeResult::default))
    }

    /// The server's answer to `initialize`, if there was one.
    pub fn initialized(&self) -> Option<&InitializeResult> {
        self.inner.server.get()
    }

    /// Whether the server holds something, after it was unused for this time, that its end would lose. Only a server
    /// in this process is asked.
    #[doc(hidden)]
    pub fn holds_state(&self, unused: Duration) -> bool {
        self.inner.transport.holds_state(unused)
    }

    /// What gets the notifications that no call observes.
    #[doc(hidden)]
    pub fn notification_handler(&self) -> Arc<dyn NotificationHandler> {
        self.inner.notification_handler.clone()
    }

    /// The counters of skipped and refused messages.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// What did not fit in the server's messages and was left out, a phrase each; the first few.
    pub fn overlooked(&self) -> Vec<String> {
        lock(&self.inner.overlooked).clone()
    }

    /// Whether the connection is open.
    pub fn is_open(&self) -> bool {
        !self.inner.pending.is_over()
    }

    /// The transport's error, if it ended the connection.
    pub fn failure(&self) -> Option<TransportError> {
        self.inner.pending.failure()
    }

    /// Calls a tool. `arguments` is the JSON text of an object, sent unchanged.
    ///
    /// # Errors
    /// See [`Error`]; a tool that ran and failed is an `Ok` with `is_error`.
    pub fn call_tool_raw(
        &self,
        name: &str,
        arguments: &RawValue,
        call: CallOptions<'_>,
        cancel: &Cancel,
    ) -> Result<CallToolResult, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            /// Some servers write null instead of an empty list.
            #[serde(default, deserialize_with = "jsonrpc::present")]
            content: Option<Option<Vec<Content>>>,
            structured_content: Option<RawJson>,
            is_error: Option<bool>,
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        self.require(self.server().capabilities.tools.is_some(), "tools")?;
        const METHOD: &str = "tools/call";
        let message = |id| {
            let params = [
                r#"{"name":"#,
                &serde_json::to_string(name)?,
                r#","arguments":"#,
                arguments.get(),
                r#","_meta":{"#,
                &self.inner.meta_members,
                r#""progressToken":"#,
                &i64::to_string(&id),
                "}}",
            ]
            .concat();
            jsonrpc::request_raw(&Id::Number(id), METHOD, Some(&params))
        };
        let answer = self.send(METHOD, Some(call), &message, cancel)?;
        let answer: Answer = self.decode(METHOD, &answer)?;
        if answer.content.is_none() && answer.structured_content.is_none() {
            return Err(Error::Protocol {
                method: METHOD,
                reason: "the answer has neither `content` nor `structuredContent`".to_owned(),
            });
        }
        Ok(CallToolResult {
            content: answer.content.flatten().unwrap_or_default(),
            structured_content: answer.structured_content,
            is_error: answer.is_error,
            meta: answer.meta,
        })
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read_resource(&self, uri: &str, cancel: &Cancel) -> Result<ReadResourceResult, Error> {
        self.require(self.server().capabilities.resources.is_some(), "resources")?;
        self.request("resources/read", self.params(json!({ "uri": uri })), cancel)
    }

    /// Gets a prompt, filled in with arguments.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn get_prompt(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
        cancel: &Cancel,
    ) -> Result<GetPromptResult, Error> {
        self.require(self.server().capabilities.prompts.is_some(), "prompts")?;
        let own = json!({"name": name, "arguments": arguments});
        self.request("prompts/get", self.params(own), cancel)
    }

    /// Sets the lowest level of the log messages that the server sends: `debug`, `info`, `notice`, `warning`,
    /// `error`, `critical`, `alert` or `emergency` (MCP server/utilities/logging).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn set_level(&self, level: &str, cancel: &Cancel) -> Result<(), Error> {
        self.require(self.server().capabilities.logging.is_some(), "logging")?;
        let params = self.params(json!({ "level": level }));
        let _: RawJson = self.request("logging/setLevel", params, cancel)?;
        Ok(())
    }

    /// Sends `ping`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn ping(&self, cancel: &Cancel) -> Result<(), Error> {
        let _: RawJson = self.request("ping", None, cancel)?;
        Ok(())
    }

    /// Closes the connection and ends its threads and process. Waiting requests get an error.
    pub fn close(&self) {
        self.inner.pending.fail(TransportError::Closed);
        self.inner.requests.cancel_all();
        self.inner.transport.close();
        self.inner.close_requests();
        self.inner.log_skipped();
    }

    fn require(&self, declared: bool, capability: &'static str) -> Result<(), Error> {
        if declared {
            Ok(())
        } else {
            Err(Error::NotDeclared { capability })
        }
    }

    /// The parameters of a request after `initialize`.
    fn params(&self, mut own: serde_json::Value) -> Option<serde_json::Value> {
        own["_meta"] = self.inner.options.meta.clone().into();
        Some(own)
    }

    fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Option<serde_json::Value>,
        cancel: &Cancel,
    ) -> Result<R, Error> {
        self.decode(method, &self.ask(method, params, cancel)?)
    }

    fn ask(
        &self,
        method: &'static str,
        params: Option<serde_json::Value>,
        cancel: &Cancel,
    ) -> Result<RawJson, Error> {
        let message = |id| jsonrpc::request(&Id::Number(id), method, params.as_ref());
        self.send(method, None, &message, cancel)
    }

    /// Sends one request and waits for its answer.
    fn send(
        &self,
        method: &'static str,
        call: Option<CallOptions<'_>>,
        message: &MakeMessage<'_>,
        cancel: &Cancel,
    ) -> Result<RawJson, Error> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled { method });
        }
        let inner = &self.inner;
        let timeouts = inner.options.timeouts;
        let registered = match call {
            Some(call) => inner.pending.register_call(timeouts, call),
            None => inner.pending.register(timeouts),
        };
        let (id, slot) = match registered {
            Ok(registered) => registered,
            Err(Outcome::Failed(error)) => return Err(Error::Unsent(error)),
            Err(over) => return inner.result(method, over),
        };
        let outcome = inner.exchange(id, &slot, message, cancel);
        inner.abandon(method, id, &outcome);
        match outcome {
            Outcome::Failed(error) if inner.is_unsent(id) => Err(Error::Unsent(error)),
            outcome => inner.result(method, outcome),
        }
    }

    /// Decodes a result. Every result of MCP is an object; a derived deserializer would accept an array, too.
    fn decode<R: DeserializeOwned>(
        &self,
        method: &'static str,
        result: &RawValue,
    ) -> Result<R, Error> {
        self.decode_by(method, result, &mut |json| {
            gosling_text::json::from_str_of_php(json)
        })
    }

    /// As [`decode`](Self::decode), without the members that do not fit; also returns a phrase about each.
    fn decode_overlooking<R: DeserializeOwned>(
        &self,
        method: &'static str,
        result: &RawValue,
    ) -> Result<(R, Vec<String>), Error> {
        let mut overlooked = Vec::new();
        let decoded = self.decode_by(method, result, &mut |json| {
            gosling_text::json::from_str_overlooking(json, &mut overlooked)
        })?;
        Ok((decoded, overlooked))
    }

    fn decode_by<R>(
        &self,
        method: &'static str,
        result: &RawValue,
        decode: &mut dyn FnMut(&str) -> serde_json::Result<R>,
    ) -> Result<R, Error> {
        let reason = if jsonrpc::begins_with(result.get(), '{') {
            match decode(result.get()) {
                Ok(decoded) => return Ok(decoded),
                // The error may quote an unexpected value of any length.
                Err(error) => {
                    let error = redact(&error.to_string(), &self.inner.options.secrets);
                    printable(&error, QUOTED)
                }
            }
        } else {
            "it is not an object".to_owned()
        };
        Err(Error::wrong_shape(method, &reason))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

/// The transport of a connection that was never made.
struct NoTransport;

impl Transport for NoTransport {
    fn start(&self, _: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        Err(TransportError::Closed)
    }

    fn send(&self, _: Vec<u8>, _: Option<i64>) -> Result<(), TransportError> {
        Err(TransportError::Closed)
    }

    fn close(&self) {}
}

fn meta_members(meta: &serde_json::Map<String, serde_json::Value>) -> String {
    if meta.is_empty() {
        return String::new();
    }
    let text = serde_json::Value::Object(meta.clone()).to_string();
    // Without the braces.
    format!("{},", &text[1..text.len() - 1])
}

impl Inner {
    /// Sends a request and waits for its outcome. The waiting thread reads the server's messages for a while.
    fn exchange(
        &self,
        id: i64,
        slot: &Arc<Slot>,
        message: &MakeMessage<'_>,
        cancel: &Cancel,
    ) -> Outcome {
        let sent = message(id)
            .map_err(|e| Outcome::Broken(e.to_string()))
            .and_then(|bytes| {
                let sent = self.transport.send(bytes, Some(id));
                sent.map_err(Outcome::Failed)
            });
        match sent {
            Ok(()) => self
                .transport
                .read_while_waiting(&|| slot.is_finished() || cancel.is_cancelled()),
            // If the connection has ended, the request has that outcome already, which explains more.
            Err(outcome) => {
                self.pending.complete(id, outcome);
            }
        }
        self.pending.wait(id, slot, cancel)
    }

    /// Whether the connection ended before a request was sent.
    fn is_unsent(&self, id: i64) -> bool {
        self.pending.is_over() && !self.transport.may_have_been_sent(id)
    }

    fn result(&self, method: &'static str, outcome: Outcome) -> Result<RawJson, Error> {
        match outcome {
            Outcome::Answer(text) => Ok(text),
            Outcome::Refused(error) => Err(Error::refused(method, error, &self.options.secrets)),
            Outcome::Failed(error) => Err(Error::Transport(error)),
            Outcome::Broken(reason) => Err(Error::Protocol { method, reason }),
            Outcome::TimedOut => Err(Error::TimedOut {
                method,
                after: self.options.timeouts.idle,
            }),
            Outcome::Cancelled => Err(Error::Cancelled { method }),
        }
    }

    /// Logs and keeps what was left out of the server's messages, each phrase once.
    fn overlook(&self, method: &str, phrases: &[String]) {
        for phrase in phrases {
            let phrase = redact(&format!("{method}: {phrase}"), &self.options.secrets);
            let phrase = printable(&phrase, QUOTED);
            let mut all = lock(&self.overlooked);
            if all.len() >= MAX_OVERLOOKED || all.contains(&phrase) {
                continue;
            }
            all.push(phrase.clone());
            drop(all);
            let name = &self.options.name;
            log::warn!("odd message of the server extension={name:?} what={phrase:?}");
        }
    }

    /// Cancels a request at the server after its deadline or its caller's cancellation. `initialize` cannot
    /// be cancelled: the connection is closed instead (MCP basic/utilities/cancellation).
    fn abandon(&self, method: &str, id: i64, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::TimedOut => "the deadline passed",
            Outcome::Cancelled => "the caller cancelled the request",
            _ => return,
        };
        self.transport.abandon(id);
        self.cancel_requests_of(id, self.pending.oldest_call().is_none());
        if method != "initialize" {
            let params = json!({"requestId": id, "reason": reason});
            let _ = self.notify("notifications/cancelled", Some(&params));
        }
    }

    fn notify(&self, method: &'static str, params: Option<&impl Serialize>) -> Result<(), Error> {
        let bytes = jsonrpc::notification(method, params).map_err(|e| Error::Protocol {
            method,
            reason: e.to_string(),
        })?;
        self.transport.send(bytes, None).map_err(Error::Transport)
    }
}
