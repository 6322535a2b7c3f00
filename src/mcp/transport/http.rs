//! The Streamable HTTP transport: every message of the client is a POST, and the server answers with JSON or
//! an event stream. MCP 2025-11-25, basic/transports; earlier versions of Streamable HTTP are compatible.
//!
//! Each request has its own thread and connection; [`abandon`](Transport::abandon) shuts down only that
//! connection. One-way messages (notifications, and responses to the server) are sent one after the other by
//! one thread, which exists while there are any. The order is kept where it matters:
//! - A one-way message is sent after all earlier requests have been written, so that a
//!   `notifications/cancelled` finds its request.
//! - Requests wait until the server has accepted `notifications/initialized` and answered the GET for its
//!   standalone stream, but for two seconds at most: many servers drop a tool's requests to the client if
//!   that stream is not open yet. Requests wait in the same way when that stream broke and the server has not
//!   asked for a delay: the next request reopens the stream first.
//!
//! An event stream that ends before the answer is resumed where it ended, if the server gives its events ids.
//! An answer is accepted on any stream.
//!
//! Redirects are followed within the server only, and not where a POST would become a GET, because headers
//! may contain secrets. The caller decides whether to retry a failed request; the kinds of [`TransportError`]
//! say whether the server may have run it. A refusal (401, 403) that no caller waits for is logged.
//!
//! A request has deadlines for connecting and writing only; the client decides how long to wait for the
//! answer. A one-way message is dropped after ten seconds without an error: if the server is gone, the next
//! request reports it.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), except for
//! loopback addresses, and so do TLS root certificates (`SSL_CERT_FILE`, instead of the bundled ones).

pub(crate) mod auth_challenge;
mod denied;
mod exchange;
#[doc(hidden)]
pub mod header_variables;
mod resumable_stream;
mod status;

pub use denied::{Challenge, Denied};

use super::{MessageHandler, Transport, TransportError};
use exchange::Exchange;
use gosling_outbound::sse::Decoder;
use gosling_outbound::{AddressCache, Connection, Target, TargetOptions};
use gosling_sys as sys;
use gosling_sys::threads::Threads;
use gosling_sys::{caught, lock};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::Method;
use ureq::http::header::HeaderValue;

/// The most idle connections that are kept.
const MAX_IDLE_CONNECTIONS: usize = 4;
/// The most one-way messages that may wait.
const MAX_ONE_WAY_QUEUE: usize = 1024;
/// The time limit for sending one of them.
const ONE_WAY_TIMEOUT: Duration = Duration::from_secs(10);
/// What the log calls them.
const ONE_WAY_LABEL: &str = "a message that needs no answer";
/// How long requests wait for the answer to the GET that opens the standalone stream.
const STANDALONE_STREAM_TIMEOUT: Duration = Duration::from_secs(2);
/// How long `close` waits for one-way messages, which may be cancellations.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the server may take to end the session.
const END_SESSION_TIMEOUT: Duration = Duration::from_secs(1);
/// An idle connection is not reused after this time: common servers (Node, uvicorn) close theirs after five
/// seconds, and a request on a closing connection may be lost.
const MAX_IDLE_TIME: Duration = Duration::from_secs(4);
/// The time limit of `close`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of a connection to a Streamable HTTP server.
///
/// Not `Debug`, because header values are secrets.
#[derive(Clone)]
pub struct HttpOptions {
    /// The address: `http` or `https`, with or without a path, without user and password.
    pub uri: String,
    /// Headers of every request, with expanded variables. Headers of the protocol itself (`Accept`,
    /// `Content-Type`, `Mcp-*`, `Last-Event-ID`) take precedence.
    pub headers: Vec<(String, String)>,
    /// The extension's name, for thread names.
    pub name: String,
    /// Refuse every host except this machine.
    pub offline: bool,
    /// The time limit for looking up the host's name, and again for connecting with TLS and proxies.
    pub connect_timeout: Duration,
    /// The largest message of the server, in bytes.
    pub max_message: usize,
}

impl HttpOptions {
    /// The default options: no headers, online, 10 s to connect, 64 MiB per message.
    pub fn new(name: impl Into<String>, uri: impl Into<String>) -> Self {
        HttpOptions {
            uri: uri.into(),
            headers: Vec::new(),
            name: name.into(),
            offline: false,
            connect_timeout: Duration::from_secs(10),
            max_message: 64 << 20,
        }
    }
}

/// The client's end of a connection to a Streamable HTTP server. Dropping it closes it.
pub struct HttpTransport {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    target: Target,
    limit: usize,
    handler: Mutex<Option<Arc<dyn MessageHandler>>>,
    session: Mutex<Session>,
    state: Mutex<State>,
    /// A refused one-way message was logged.
    refusal_logged: AtomicBool,
    /// Notified after a change in `state`.
    changed: Condvar,
}

/// The session's id and the negotiated protocol version.
#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

#[derive(Default)]
struct State {
    closed: bool,
    idle: Vec<Connection>,
    running: Vec<Arc<Exchange>>,
    threads: Threads,
    one_way_queue: VecDeque<OneWayMessage>,
    /// The exchange of the thread that sends one-way messages.
    one_way_sender: Option<Arc<Exchange>>,
    stream: StandaloneStream,
}

/// The life of the standalone stream, which begins with the initialization: MCP basic/lifecycle, initialization.
/// From `Connecting` to `Pausing` it has a thread.
#[derive(Default)]
enum StandaloneStream {
    /// The version is not negotiated yet, or the server does not offer the stream.
    #[default]
    Closed,
    /// The version is negotiated; the next one-way message is `notifications/initialized`.
    Negotiated,
    /// `notifications/initialized` is being sent, and requests wait for it.
    SendingInitialized,
    /// The server gets a GET for the stream. Requests wait for its answer until this instant, if there is one: many
    /// servers drop their own requests and notifications before that.
    Connecting {
        awaited_until: Option<Instant>,
        brings_answers: bool,
    },
    /// The stream is being read.
    Open,
    /// The stream broke and is reopened after a pause. With `awaited` a request cuts the pause short.
    Pausing { awaited: bool, brings_answers: bool },
    /// The stream was given up here because the server could not be reached.
    Broken(Decoder),
}

impl StandaloneStream {
    /// The server gets a GET, and requests wait for its answer.
    fn awaited(brings_answers: bool) -> Self {
        StandaloneStream::Connecting {
            awaited_until: Some(Instant::now() + STANDALONE_STREAM_TIMEOUT),
            brings_answers,
        }
    }

    /// Whether answers may come on the stream.
    fn brings_answers(&self) -> bool {
        match self {
            StandaloneStream::Open => true,
            StandaloneStream::Connecting { brings_answers, .. }
            | StandaloneStream::Pausing { brings_answers, .. } => *brings_answers,
            _ => false,
        }
    }
}

/// A message that gets no answer.
struct OneWayMessage {
    message: Vec<u8>,
    /// The requests that must be written first.
    after: Vec<Arc<Exchange>>,
    is_initialized: bool,
}

impl HttpTransport {
    /// A transport for this server. Sends nothing yet.
    ///
    /// # Errors
    /// `Config`, if the URI or a header is invalid or offline mode forbids the host.
    pub fn new(options: HttpOptions) -> Result<Self, TransportError> {
        let target_options = TargetOptions {
            uri: &options.uri,
            headers: &options.headers,
            offline: options.offline,
            connect_timeout: options.connect_timeout,
            read_timeout: None,
            idle_timeout: MAX_IDLE_TIME,
        };
        let target = Target::new(&target_options, AddressCache::default())
            .map_err(TransportError::Config)?;
        let shared = Shared {
            target,
            name: options.name.clone(),
            limit: options.max_message,
            handler: Mutex::default(),
            session: Mutex::default(),
            state: Mutex::default(),
            refusal_logged: AtomicBool::new(false),
            changed: Condvar::new(),
        };
        Ok(HttpTransport {
            shared: Arc::new(shared),
        })
    }

    /// Scheme, host and port of the server: the part of its address that is not secret.
    pub fn origin(&self) -> &str {
        &self.shared.target.origin
    }
}

impl Transport for HttpTransport {
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        *lock(&self.shared.handler) = Some(handler);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError> {
        let mut state = lock(&self.shared.state);
        if state.closed {
            return Err(TransportError::Closed);
        }
        let Some(id) = request else {
            return self.shared.enqueue(&mut state, message);
        };
        if let StandaloneStream::Pausing {
            awaited: true,
            brings_answers,
        } = state.stream
        {
            state.stream = StandaloneStream::awaited(brings_answers);
            self.shared.changed.notify_all();
        }
        let waits = matches!(
            state.stream,
            StandaloneStream::SendingInitialized
                | StandaloneStream::Connecting {
                    awaited_until: Some(_),
                    ..
                }
        );
        self.shared
            .spawn(&mut state, "post", request, move |shared, exchange| {
                if waits {
                    shared.wait_until_ready(exchange);
                }
                shared.request(exchange, id, &message);
            })?;
        Ok(())
    }

    fn abandon(&self, request: i64) {
        self.shared.abandon(request);
    }

    fn negotiated(&self, version: &str) {
        // Every version that the client supports is a valid header value.
        lock(&self.shared.session).version = HeaderValue::from_str(version).ok();
        lock(&self.shared.state).stream = StandaloneStream::Negotiated;
    }

    /// Ends running exchanges, ends the session at the server, and waits for the threads. A thread that looks
    /// up a name or connects cannot be interrupted: it is left running until its own deadline.
    fn close(&self) {
        self.shared.close();
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    /// Runs `job` in a new thread with a connection to the server.
    fn spawn(
        self: &Arc<Self>,
        state: &mut State,
        role: &str,
        request: Option<i64>,
        job: impl FnOnce(&Arc<Shared>, &Exchange) + Send + 'static,
    ) -> Result<Arc<Exchange>, TransportError> {
        let connection = state.idle.pop().unwrap_or_else(|| self.target.connection());
        let exchange = Arc::new(Exchange::new(request, connection));
        let shared = self.clone();
        let running = exchange.clone();
        let name = format!("mcp {} {role}", self.name);
        let thread = sys::spawn(name, None, move || {
            let running = RunningExchange {
                shared,
                exchange: running,
            };
            // Only this thread sets it.
            let _ = running.exchange.thread.set(thread::current().id());
            job(&running.shared, &running.exchange);
        })
        .map_err(|e| {
            TransportError::Unreachable(format!("no thread could be started for the message: {e}"))
        })?;
        state.running.push(exchange.clone());
        state.threads.add(thread);
        Ok(exchange)
    }

    fn request(self: &Arc<Self>, exchange: &Exchange, id: i64, message: &[u8]) {
        let outcome = caught("handler of a response", || {
            self.post_request(exchange, id, message)
        });
        let outcome = outcome.unwrap_or_else(|reason| Err(TransportError::ResponseLost(reason)));
        let error = match outcome {
            Ok(()) => return self.reopen_broken_stream(),
            _ if exchange.is_aborted() && lock(&self.state).closed => TransportError::Closed,
            _ if exchange.is_aborted() => return,
            Err(error) => error,
        };
        if let Some(handler) = self.handler() {
            handler.failed(id, error);
        }
    }

    /// Ends the exchange of this request without calling the handler.
    fn abandon(&self, request: i64) {
        let exchange = {
            let state = lock(&self.state);
            let mut running = state.running.iter();
            running.find(|e| e.request == Some(request)).cloned()
        };
        if let Some(exchange) = exchange {
            exchange.abort();
            self.wake();
        }
    }

    fn enqueue(
        self: &Arc<Self>,
        state: &mut State,
        message: Vec<u8>,
    ) -> Result<(), TransportError> {
        if state.one_way_queue.len() >= MAX_ONE_WAY_QUEUE {
            let waiting = state
                .one_way_queue
                .iter()
                .map(|one_way| one_way.message.len())
                .sum();
            return Err(TransportError::NotReading { waiting });
        }
        if state.one_way_sender.is_none() {
            let one_way_sender = self.spawn(state, "notify", None, |shared, exchange| {
                shared.send_one_way_messages(exchange);
            })?;
            state.one_way_sender = Some(one_way_sender);
        }
        let is_initialized = matches!(state.stream, StandaloneStream::Negotiated);
        if is_initialized {
            state.stream = StandaloneStream::SendingInitialized;
        }
        let unwritten =
            |e: &&Arc<Exchange>| e.request.is_some() && !e.connection.progress.is_written();
        let after = state.running.iter().filter(unwritten).cloned().collect();
        state.one_way_queue.push_back(OneWayMessage {
            message,
            after,
            is_initialized,
        });
        Ok(())
    }

    fn send_one_way_messages(self: &Arc<Self>, exchange: &Exchange) {
        while let Some(one_way) = self.next_one_way_message() {
            let deadline = Instant::now() + ONE_WAY_TIMEOUT;
            for earlier in &one_way.after {
                earlier.connection.progress.wait_until_written(deadline);
            }
            let response = self
                .post(exchange, &one_way.message, Some(ONE_WAY_TIMEOUT))
                .ok();
            if one_way.is_initialized {
                let accepted = response.as_ref().is_some_and(|r| r.status().is_success());
                self.initialized_sent(accepted);
            }
            if let Some(response) = response {
                self.log_refusal(exchange, ONE_WAY_LABEL, response);
            }
        }
    }

    fn next_one_way_message(&self) -> Option<OneWayMessage> {
        let mut state = lock(&self.state);
        let one_way = state.one_way_queue.pop_front();
        if one_way.is_none() {
            state.one_way_sender = None;
            self.changed.notify_all();
        }
        one_way
    }

    /// Continues the initialization after `notifications/initialized` was answered or failed.
    fn initialized_sent(self: &Arc<Self>, accepted: bool) {
        let mut state = lock(&self.state);
        state.stream = StandaloneStream::Closed;
        if accepted {
            self.open_stream(&mut state, None, StandaloneStream::awaited(true));
        }
        self.changed.notify_all();
    }

    /// Opens the standalone stream, or resumes a `broken` one, beginning with the state `connecting`.
    fn open_stream(
        self: &Arc<Self>,
        state: &mut State,
        broken: Option<Decoder>,
        connecting: StandaloneStream,
    ) {
        if state.closed {
            return;
        }
        let spawned = self.spawn(state, "events", None, |shared, exchange| {
            let broken = shared.follow_standalone_stream(exchange, broken);
            shared.set_stream(broken.map_or(StandaloneStream::Closed, StandaloneStream::Broken));
        });
        // Without a thread there is no stream, as with a server that does not offer one.
        if spawned.is_ok() {
            state.stream = connecting;
        }
    }

    fn set_stream(&self, stream: StandaloneStream) {
        lock(&self.state).stream = stream;
        self.changed.notify_all();
    }

    /// Reopens a broken standalone stream, because the server can be reached again.
    fn reopen_broken_stream(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        if !matches!(state.stream, StandaloneStream::Broken(_)) {
            return;
        }
        if let StandaloneStream::Broken(decoder) = std::mem::take(&mut state.stream) {
            let connecting = StandaloneStream::Connecting {
                awaited_until: None,
                brings_answers: true,
            };
            self.open_stream(&mut state, Some(decoder), connecting);
        }
    }

    fn wait_until_ready(&self, exchange: &Exchange) {
        let mut state = lock(&self.state);
        while !exchange.is_aborted() {
            state = match state.stream {
                StandaloneStream::SendingInitialized => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                StandaloneStream::Connecting {
                    awaited_until: Some(until),
                    ..
                } => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                _ => return,
            };
        }
    }

    /// Wakes the threads that wait on `changed` for something outside of `state`.
    fn wake(&self) {
        // Once the lock is free, every thread that checked before the change is waiting.
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    fn handler(&self) -> Option<Arc<dyn MessageHandler>> {
        lock(&self.handler).clone()
    }

    fn close(&self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let (running, one_way_sender, threads) = {
            let mut state = lock(&self.state);
            if std::mem::replace(&mut state.closed, true) {
                return;
            }
            let threads = std::mem::take(&mut state.threads);
            (state.running.clone(), state.one_way_sender.clone(), threads)
        };
        let notifies = |exchange: &&Arc<Exchange>| {
            one_way_sender
                .as_ref()
                .is_some_and(|one_way_sender| Arc::ptr_eq(one_way_sender, exchange))
        };
        running
            .iter()
            .filter(|exchange| !notifies(exchange))
            .for_each(|exchange| exchange.abort());
        self.wake();
        let connection = self.flush_one_way_queue();
        if let Some(one_way_sender) = one_way_sender {
            one_way_sender.abort();
            self.wake();
        }
        self.end_session(connection);
        let all_ended = self.wait_ended(deadline);
        threads.join(all_ended);
        // Dropped after the lock is released, because it may own this transport.
        let _receiver = lock(&self.handler).take();
    }

    /// Waits a moment until the one-way messages are sent, and drops the others: a server without sessions
    /// learns about cancellations only from them. Returns a connection for ending the session.
    fn flush_one_way_queue(&self) -> Option<Connection> {
        let (mut state, _) = self
            .changed
            .wait_timeout_while(lock(&self.state), FLUSH_TIMEOUT, |state| {
                state.one_way_sender.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.one_way_queue.clear();
        let connection = state.idle.pop();
        state.idle.clear();
        connection
    }

    /// Ends the session. MCP basic/transports, session management.
    fn end_session(&self, connection: Option<Connection>) {
        if lock(&self.session).id.is_none() {
            return;
        }
        let exchange = Exchange::new(None, connection.unwrap_or_else(|| self.target.connection()));
        // A server that does not let clients end sessions answers 405.
        let ended = self.run(
            &exchange,
            Method::DELETE,
            &[],
            (),
            Some(END_SESSION_TIMEOUT),
            || true,
        );
        if let Ok(response) = ended {
            self.log_refusal(&exchange, "the end of the session", response);
        }
    }

    /// Waits for all threads except the current one, which a handler may run in.
    fn wait_ended(&self, deadline: Instant) -> bool {
        let this = thread::current().id();
        let mut state = lock(&self.state);
        while state.running.iter().any(|e| e.thread.get() != Some(&this)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

/// Removes an exchange from the table when its thread ends.
struct RunningExchange {
    shared: Arc<Shared>,
    exchange: Arc<Exchange>,
}

impl Drop for RunningExchange {
    fn drop(&mut self) {
        let connection = &self.exchange.connection;
        connection.progress.finish_request();
        let mut state = lock(&self.shared.state);
        state.running.retain(|e| !Arc::ptr_eq(e, &self.exchange));
        if !state.closed && !self.exchange.is_aborted() && state.idle.len() < MAX_IDLE_CONNECTIONS {
            state.idle.push(connection.clone());
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}
