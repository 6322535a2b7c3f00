//! The client's end of one MCP connection: life cycle, requests, what the server sends unasked.
//!
//! Any number of threads may call at once; each waits in its own slot. Whatever arrives is judged
//! in the thread that read it, see `dispatch`. MCP 2025-11-25, basic/lifecycle, server/*; CORE §3, §8.

mod dispatch;
mod pagination;
mod server_requests;

pub use super::pending_requests::{CallObserver, CallOptions};
pub use pagination::{MAX_LISTING, MAX_PAGES};
pub use server_requests::RequestHandler;
use server_requests::ServerRequests;

use super::error::Error;
use super::jsonrpc::{self, Id, RawJson};
use super::pending_requests::{Outcome, PendingRequests, RequestTimeouts};
use super::transport::{Transport, TransportError};
use super::types::*;
use crate::sys::cancel::Cancel;
use crate::text::{printable, redact};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How long a request waits where the options say nothing.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a request waits in all, however much progress it reports.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// How much of a bad line or answer is quoted, in characters.
const QUOTED: usize = 200;

/// How to behave on one connection.
#[derive(Clone)]
pub struct Options {
    /// What the server is called in logs.
    pub name: String,
    /// Who we say that we are.
    pub client: Implementation,
    /// Our capabilities, beside those that come with the `handler`.
    pub capabilities: serde_json::Map<String, serde_json::Value>,
    /// How long `initialize` and each later request wait.
    pub timeouts: RequestTimeouts,
    /// Goes into the `_meta` of every request but `initialize` (SERVER §9.2).
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// Text that must never be shown, should the server say it.
    pub secrets: Vec<String>,
    /// Answers the server's own requests; they are refused without it.
    pub request_handler: Option<Arc<dyn RequestHandler>>,
    /// The folders that `roots/list` gives. Not declared, and refused, if absent: some servers then
    /// forget the folders that they were started with.
    pub roots: Option<Vec<Root>>,
}

impl Options {
    /// The defaults for a server of this name.
    pub fn new(name: &str) -> Self {
        Options {
            name: name.to_owned(),
            client: Implementation {
                name: "gosling".into(),
                title: None,
                version: env!("CARGO_PKG_VERSION").into(),
            },
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

    /// The capabilities for `initialize`: only what is answered is declared.
    fn declared(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut all = self.capabilities.clone();
        if self.request_handler.is_some() {
            all.insert("sampling".to_owned(), json!({}));
            all.insert("elicitation".to_owned(), json!({"form": {}, "url": {}}));
        }
        if self.roots.is_some() {
            all.insert("roots".to_owned(), json!({}));
        }
        all
    }
}

/// What a server sends unasked. Called in the thread that reads the connection, so it must not
/// block.
pub trait NotificationHandler: Send + Sync {
    /// A notification, other than those that the client handles by itself. `request` is the id of
    /// our request that it belongs to, where it says so.
    fn notification(&self, method: &str, params: Option<&RawValue>, request: Option<i64>);
}

/// Hears nothing.
pub struct IgnoreNotifications;

impl NotificationHandler for IgnoreNotifications {
    fn notification(&self, _: &str, _: Option<&RawValue>, _: Option<i64>) {}
}

/// What went by on a connection that should not have.
#[derive(Default, Debug)]
pub struct Counters {
    /// Lines or events that are no JSON-RPC message.
    pub malformed: AtomicU64,
    /// Answers to requests that were never sent or were answered already.
    pub unexpected: AtomicU64,
    /// Notifications of any kind.
    pub notifications: AtomicU64,
    /// ServerRequests of the server that were answered with -32601.
    pub refused: AtomicU64,
}

/// A connection to one MCP server, initialized. Dropping it closes it.
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    transport: Arc<dyn Transport>,
    notification_handler: Arc<dyn NotificationHandler>,
    pending: PendingRequests,
    counters: Counters,
    server: OnceLock<InitializeResult>,
    requests: ServerRequests,
    /// For the threads that answer the server's requests.
    this: Weak<Inner>,
}

#[derive(Serialize)]
struct InitializeParams<'a> {
    #[serde(rename = "protocolVersion")]
    protocol_version: &'a str,
    capabilities: &'a serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "clientInfo")]
    client_info: &'a Implementation,
}

/// The parameters of every request after `initialize`.
#[derive(Serialize)]
struct Params<'a, P> {
    #[serde(flatten)]
    own: P,
    #[serde(rename = "_meta")]
    meta: &'a serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a RawValue,
    #[serde(rename = "_meta")]
    meta: CallMeta<'a>,
}

#[derive(Serialize)]
struct CallMeta<'a> {
    #[serde(flatten)]
    meta: &'a serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "progressToken")]
    progress_token: i64,
}

impl Client {
    /// Starts the transport and initializes the server: offers the newest version, accepts an older
    /// one, then says `notifications/initialized`.
    ///
    /// # Errors
    /// Whatever kept the server from being ready; the transport is closed by then.
    pub fn connect(
        transport: Arc<dyn Transport>,
        options: Options,
        notification_handler: Arc<dyn NotificationHandler>,
        cancel: &Cancel,
    ) -> Result<Client, Error> {
        let client = Client {
            inner: Arc::new_cyclic(|this| Inner {
                options,
                transport,
                notification_handler,
                pending: PendingRequests::default(),
                counters: Counters::default(),
                server: OnceLock::new(),
                requests: ServerRequests::default(),
                this: this.clone(),
            }),
        };
        client.initialize(cancel)?;
        Ok(client)
    }

    fn initialize(&self, cancel: &Cancel) -> Result<(), Error> {
        let inner = &self.inner;
        inner
            .transport
            .start(inner.clone())
            .map_err(Error::Transport)?;
        let capabilities = inner.options.declared();
        let params = InitializeParams {
            protocol_version: VERSIONS[0],
            capabilities: &capabilities,
            client_info: &inner.options.client,
        };
        let answer: InitializeResult = self.request("initialize", |_| Some(&params), cancel)?;
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

    /// What the server said about itself in `initialize`.
    pub fn server(&self) -> &InitializeResult {
        static NOT_INITIALIZED: OnceLock<InitializeResult> = OnceLock::new();
        self.inner.server.get().unwrap_or_else(|| {
            NOT_INITIALIZED.get_or_init(|| InitializeResult {
                protocol_version: String::new(),
                capabilities: ServerCapabilities::default(),
                server_info: Implementation::default(),
                instructions: None,
            })
        })
    }

    /// What went by that should not have.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// Whether the connection still stands.
    pub fn is_open(&self) -> bool {
        !self.inner.pending.is_over()
    }

    /// Why the transport ended the connection, if it has.
    pub fn failure(&self) -> Option<TransportError> {
        self.inner.pending.failure()
    }

    /// Calls a tool. `arguments` is the JSON text of an object, passed on as it is.
    ///
    /// # Errors
    /// See [`Error`]; a tool that ran and failed is an `Ok` with `is_error`.
    pub fn call_tool(
        &self,
        name: &str,
        arguments: &RawValue,
        call: CallOptions<'_>,
        cancel: &Cancel,
    ) -> Result<CallToolResult, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            content: Option<Vec<Content>>,
            structured_content: Option<RawJson>,
            is_error: Option<bool>,
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        self.require(self.server().capabilities.tools.is_some(), "tools")?;
        const METHOD: &str = "tools/call";
        let params = |id| {
            Some(CallParams {
                name,
                arguments,
                meta: CallMeta {
                    meta: &self.inner.options.meta,
                    progress_token: id,
                },
            })
        };
        let answer = self.exchange(METHOD, Some(call), params, cancel)?;
        let answer: Answer = self.decode(METHOD, &answer)?;
        if answer.content.is_none() && answer.structured_content.is_none() {
            return Err(Error::Protocol {
                method: METHOD,
                reason: "the answer has neither `content` nor `structuredContent`".to_owned(),
            });
        }
        Ok(CallToolResult {
            content: answer.content.unwrap_or_default(),
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
        #[derive(Serialize)]
        struct Own<'a> {
            uri: &'a str,
        }
        self.require(self.server().capabilities.resources.is_some(), "resources")?;
        self.request("resources/read", |_| self.params(Own { uri }), cancel)
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn get_prompt(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
        cancel: &Cancel,
    ) -> Result<GetPromptResult, Error> {
        #[derive(Serialize)]
        struct Own<'a> {
            name: &'a str,
            arguments: &'a serde_json::Map<String, serde_json::Value>,
        }
        self.require(self.server().capabilities.prompts.is_some(), "prompts")?;
        self.request(
            "prompts/get",
            |_| self.params(Own { name, arguments }),
            cancel,
        )
    }

    /// Asks for log messages of this level and above: `debug`, `info`, `notice`, `warning`, `error`,
    /// `critical`, `alert` or `emergency` (MCP server/utilities/logging).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn set_level(&self, level: &str, cancel: &Cancel) -> Result<(), Error> {
        #[derive(Serialize)]
        struct Own<'a> {
            level: &'a str,
        }
        self.require(self.server().capabilities.logging.is_some(), "logging")?;
        let _: RawJson =
            self.request("logging/setLevel", |_| self.params(Own { level }), cancel)?;
        Ok(())
    }

    /// Asks to be told with `notifications/resources/updated` when a resource changes, or no more.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn subscribe(&self, uri: &str, on: bool, cancel: &Cancel) -> Result<(), Error> {
        #[derive(Serialize)]
        struct Own<'a> {
            uri: &'a str,
        }
        let resources = self.server().capabilities.resources.as_ref();
        let able = resources.is_some_and(|resources| resources.subscribe == Some(true));
        self.require(able, "resources.subscribe")?;
        let method = match on {
            true => "resources/subscribe",
            false => "resources/unsubscribe",
        };
        let _: RawJson = self.request(method, |_| self.params(Own { uri }), cancel)?;
        Ok(())
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn ping(&self, cancel: &Cancel) -> Result<(), Error> {
        let _: RawJson = self.request("ping", |_| None::<()>, cancel)?;
        Ok(())
    }

    /// Ends the connection and what belongs to it. Whoever still waits gets an error.
    pub fn close(&self) {
        self.inner.pending.fail(TransportError::Closed);
        self.inner.requests.end();
        self.inner.transport.close();
        self.inner.requests.close(&self.inner.options.name);
        self.inner.log_skipped();
    }

    fn require(&self, declared: bool, capability: &'static str) -> Result<(), Error> {
        match declared {
            true => Ok(()),
            false => Err(Error::NotDeclared { capability }),
        }
    }

    fn params<P: Serialize>(&self, own: P) -> Option<Params<'_, P>> {
        Some(Params {
            own,
            meta: &self.inner.options.meta,
        })
    }

    fn request<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Fn(i64) -> Option<P>,
        cancel: &Cancel,
    ) -> Result<R, Error> {
        self.decode(method, &self.ask(method, params, cancel)?)
    }

    fn ask<P: Serialize>(
        &self,
        method: &'static str,
        params: impl Fn(i64) -> Option<P>,
        cancel: &Cancel,
    ) -> Result<RawJson, Error> {
        self.exchange(method, None, params, cancel)
    }

    /// Sends one request and waits for its answer. `params` may depend on the id, because a
    /// progress token does.
    fn exchange<P: Serialize>(
        &self,
        method: &'static str,
        call: Option<CallOptions<'_>>,
        params: impl Fn(i64) -> Option<P>,
        cancel: &Cancel,
    ) -> Result<RawJson, Error> {
        let message = |id| jsonrpc::request(&Id::Number(id), method, params(id).as_ref());
        self.send(method, call, &message, cancel)
    }

    fn send(
        &self,
        method: &'static str,
        call: Option<CallOptions<'_>>,
        message: &dyn Fn(i64) -> serde_json::Result<Vec<u8>>,
        cancel: &Cancel,
    ) -> Result<RawJson, Error> {
        let inner = &self.inner;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled { method });
        }
        let timeouts = inner.options.timeouts;
        let registered = match call {
            Some(call) => inner.pending.register_call(timeouts, call),
            None => inner.pending.register(timeouts),
        };
        let outcome = match registered {
            Err(Outcome::Failed(error)) => return Err(Error::Unsent(error)),
            Err(over) => over,
            Ok((id, slot)) => {
                let sent = message(id)
                    .map_err(|e| Outcome::Broken(e.to_string()))
                    .and_then(|bytes| {
                        let sent = inner.transport.send(bytes, Some(id));
                        sent.map_err(Outcome::Failed)
                    });
                match sent {
                    Ok(()) => inner
                        .transport
                        .read_while_waiting(&|| slot.is_finished() || cancel.is_cancelled()),
                    // What ended the connection, if it has, explains more and was there first.
                    Err(outcome) => {
                        inner.pending.complete(id, outcome);
                    }
                }
                let outcome = inner.pending.wait(id, &slot, cancel);
                inner.abandon(method, id, &outcome);
                if let Outcome::Failed(error) = &outcome
                    && !self.is_open()
                    && !inner.transport.may_have_been_sent(id)
                {
                    return Err(Error::Unsent(error.clone()));
                }
                outcome
            }
        };
        match outcome {
            Outcome::Answer(text) => Ok(text),
            Outcome::Refused(error) => Err(Error::refused(method, error, &inner.options.secrets)),
            Outcome::Failed(error) => Err(Error::Transport(error)),
            Outcome::Broken(reason) => Err(Error::Protocol { method, reason }),
            Outcome::TimedOut => Err(Error::TimedOut {
                method,
                after: timeouts.idle,
            }),
            Outcome::Cancelled => Err(Error::Cancelled { method }),
        }
    }

    /// Every result of MCP is an object; a derived reader would take an array for one.
    fn decode<R: DeserializeOwned>(
        &self,
        method: &'static str,
        result: &RawValue,
    ) -> Result<R, Error> {
        let reason = match jsonrpc::begins_with(result.get(), '{') {
            true => match crate::json::from_str(result.get()) {
                Ok(decoded) => return Ok(decoded),
                // It quotes what it did not expect, whatever its length.
                Err(error) => {
                    let error = redact(&error.to_string(), &self.inner.options.secrets);
                    printable(&error, QUOTED)
                }
            },
            false => "it is not an object".to_owned(),
        };
        Err(Error::Protocol {
            method,
            reason: format!("the answer has the wrong shape: {reason}"),
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    /// Tells the server that nobody waits any more. `initialize` is never cancelled that way: the
    /// connection is closed instead (MCP basic/utilities/cancellation).
    fn abandon(&self, method: &str, id: i64, outcome: &Outcome) {
        #[derive(Serialize)]
        struct Cancelled<'a> {
            #[serde(rename = "requestId")]
            request: i64,
            reason: &'a str,
        }
        let reason = match outcome {
            Outcome::TimedOut => "the deadline passed",
            Outcome::Cancelled => "the caller no longer waits",
            _ => return,
        };
        self.transport.abandon(id);
        self.requests
            .cancel_from(id, self.pending.oldest_call().is_none());
        if method != "initialize" {
            let params = Cancelled {
                request: id,
                reason,
            };
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
