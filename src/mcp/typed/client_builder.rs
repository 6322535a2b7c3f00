//! Connects a client: who it is, and its callbacks.

use super::event::{Event, EventCallback};
use crate::client::{
    Client, IgnoreNotifications, NotificationHandler, Options, RequestHandler, RequestTimeouts,
};
use crate::error::Error;
use crate::jsonrpc::{ErrorObject, METHOD_NOT_FOUND};
use crate::transport::stdio::{StdioOptions, StdioTransport};
use crate::transport::{Transport, TransportError};
use crate::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Implementation, Root,
};
use gosling_sys::cancel::Cancel;
use gosling_sys::process::Command;
use std::sync::Arc;

/// What a client says about itself, and what it answers.
///
/// It declares a capability for each callback that it was given, and for nothing else.
pub struct ClientBuilder {
    options: Options,
    events: Arc<dyn NotificationHandler>,
    callbacks: Callbacks,
    cancel: Cancel,
}

type Ask<P, R> = dyn Fn(P, &Cancel) -> Result<R, ErrorObject> + Send + Sync;

#[derive(Default)]
struct Callbacks {
    elicit: Option<Box<Ask<ElicitParams, ElicitResult>>>,
    sample: Option<Box<Ask<CreateMessageParams, CreateMessageResult>>>,
}

impl Client {
    /// Begins a client of this name and version, which the server is told.
    pub fn builder(name: &str, version: &str) -> ClientBuilder {
        let own = Implementation::new(name, version);
        ClientBuilder {
            options: Options::new("server", own),
            events: Arc::new(IgnoreNotifications),
            callbacks: Callbacks::default(),
            cancel: Cancel::new(),
        }
    }
}

impl ClientBuilder {
    /// Sets the client's name for users.
    pub fn title(mut self, title: &str) -> Self {
        self.options.client.title = Some(title.to_owned());
        self
    }

    /// Sets the server's name in logs and thread names; without it, `server`.
    pub fn server_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.options.name);
        self
    }

    /// Sets the time limits of `initialize` and of each later request.
    pub fn timeouts(mut self, timeouts: RequestTimeouts) -> Self {
        self.options.timeouts = timeouts;
        self
    }

    /// Sets texts to redact in everything that the server sends.
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.options.secrets = secrets.into_iter().collect();
        self
    }

    /// Sets the token that cancels the start.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Offers these folders to the server. MCP 2025-11-25, client/roots.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.options.roots = Some(roots.into_iter().collect());
        self
    }

    /// Sets what gets the server's events. It runs in the thread that reads the connection, so it must not block.
    pub fn on_event(mut self, callback: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.events = Arc::new(EventCallback(callback));
        self
    }

    /// Sets what answers the server's questions to the user; it runs in a thread of its own for each. The token fires
    /// when nobody waits for the answer any more. MCP 2025-11-25, client/elicitation.
    pub fn on_elicit<F>(mut self, callback: F) -> Self
    where
        F: Fn(ElicitParams, &Cancel) -> Result<ElicitResult, ErrorObject> + Send + Sync + 'static,
    {
        self.callbacks.elicit = Some(Box::new(callback));
        self
    }

    /// Sets what answers the server's questions to a model, see [`on_elicit`](Self::on_elicit). MCP 2025-11-25,
    /// client/sampling.
    pub fn on_sample<F>(mut self, callback: F) -> Self
    where
        F: Fn(CreateMessageParams, &Cancel) -> Result<CreateMessageResult, ErrorObject>
            + Send
            + Sync
            + 'static,
    {
        self.callbacks.sample = Some(Box::new(callback));
        self
    }

    /// Connects over a transport and initializes the server.
    ///
    /// # Errors
    /// Why the initialization failed; the transport is closed then.
    pub fn connect(mut self, transport: impl Transport + 'static) -> Result<Client, Error> {
        if self.callbacks.elicits() || self.callbacks.samples() {
            self.options.request_handler = Some(Arc::new(self.callbacks));
        }
        let transport = Arc::new(transport);
        Client::connect(transport, self.options, self.events, &self.cancel)
    }

    /// Starts a server as a child process and connects to its stdin and stdout.
    ///
    /// # Errors
    /// The program could not be started, or as [`connect`](Self::connect).
    pub fn spawn(self, command: Command) -> Result<Client, Error> {
        let mut options = StdioOptions::new(&self.options.name);
        options.secrets.clone_from(&self.options.secrets);
        let transport = StdioTransport::spawn(command, options, &self.cancel);
        let transport = transport.map_err(|error| {
            let why = format!("the server's program could not be started: {error}");
            Error::Unsent(TransportError::Config(why))
        })?;
        self.connect(transport)
    }
}

impl RequestHandler for Callbacks {
    fn samples(&self) -> bool {
        self.sample.is_some()
    }

    fn elicits(&self) -> bool {
        self.elicit.is_some()
    }

    fn sample(
        &self,
        _caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let callback = self.sample.as_ref().ok_or_else(no_callback)?;
        callback(params, cancel)
    }

    fn elicit(
        &self,
        _caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        let callback = self.elicit.as_ref().ok_or_else(no_callback)?;
        callback(params, cancel)
    }
}

fn no_callback() -> ErrorObject {
    ErrorObject::new(METHOD_NOT_FOUND, "this client does not support it")
}
