//! Streamable HTTP: every message of the client is a POST, and the server answers with JSON or
//! with a stream of events. MCP 2025-11-25, basic/transports; older versions speak the same.
//!
//! Each request has a thread of its own, and so its own connection; whoever no longer waits
//! [`abandon`](Transport::abandon)s it, which shuts down that connection and no other. What needs no
//! answer (notifications, and responses to the server) goes out one after the other from one
//! thread that lives while there is something to send. Across these the order is kept where it
//! matters:
//! - what needs no answer is sent after all earlier requests have been written, so that a
//!   `notifications/cancelled` finds the request that it cancels;
//! - requests wait until the server has accepted `notifications/initialized` and then answered the GET for
//!   its own stream, if that takes no longer than two seconds: what a tool asks for is broken_stream with many servers
//!   if it comes before that stream. So they do when that stream broke, where nothing says how long to stay
//!   away: the next request brings it back first.
//!
//! An event stream that ends before the answer came is resumed where it ended, as long as the server
//! gives its events ids. An answer counts on whichever stream it comes.
//!
//! Redirects are followed on the server itself only, and not where a POST would become a GET: headers
//! would take secrets to another. Whether a failed request is sent again is up to whoever asked; the kinds
//! of [`TransportError`] say what became of it. That a server lets nobody in is said in the log where nobody
//! waits to be told.
//!
//! A request has no deadline of its own but those for connecting and writing: how long to wait for
//! an answer is up to the client. What needs no answer is given up after ten seconds, silently: if
//! it mattered, the requests that follow say so.
//!
//! Proxies are taken from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`),
//! except for loopback addresses, and so are the authorities that certify servers (`SSL_CERT_FILE`, instead
//! of those of the web).

pub mod auth_challenge;
mod event_stream;
mod exchange;
mod status;

use super::{MessageHandler, Transport, TransportError};
use crate::outbound::sse::Decoder;
use crate::outbound::{Addresses, Line, Place, Target};
use crate::sys;
use crate::sys::lock;
use exchange::Exchange;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use ureq::http::Method;
use ureq::http::header::HeaderValue;

/// How many lines are kept for reuse.
const MAX_IDLE_CONNECTIONS: usize = 4;
/// How many messages that need no answer may wait.
const MAX_ONE_WAY_QUEUE: usize = 1024;
/// How long sending one of them may take.
const ONE_WAY_TIMEOUT: Duration = Duration::from_secs(10);
/// What they are in the log.
const ONE_WAY_LABEL: &str = "a message that needs no answer";
/// How long requests wait for the answer to the GET that is_initialized the server's own stream.
const STANDALONE_STREAM_TIMEOUT: Duration = Duration::from_secs(2);
/// How long closing waits for what needs no answer and was sent before: it may say what is cancelled.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the server may take to end the session.
const END_SESSION_TIMEOUT: Duration = Duration::from_secs(1);
/// A connection idle for longer is not used again: common servers (Node, uvicorn) close theirs
/// after five seconds, and a request that meets the closing one may be broken_stream.
const MAX_IDLE_TIME: Duration = Duration::from_secs(4);
/// How long closing may take in all.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What a connection to a Streamable HTTP server needs.
///
/// There is no `Debug`, because header values are secrets.
#[derive(Clone)]
pub struct HttpOptions {
    /// `http` or `https`, with or without a path. User and password do not belong here.
    pub uri: String,
    /// Sent with every request; variables in the values are already replaced. What the protocol
    /// itself sends (`Accept`, `Content-Type`, `Mcp-*`, `Last-Event-ID`) wins over these.
    pub headers: Vec<(String, String)>,
    /// Of the extension: names the threads.
    pub name: String,
    /// Refuse every host but this one.
    pub offline: bool,
    /// How long looking up the host's name may take, and then connecting with TLS and proxies.
    pub connect_timeout: Duration,
    /// The most bytes in one message of the server.
    pub max_message: usize,
}

impl HttpOptions {
    /// Options with the defaults: no headers, online, 10 s to connect, 64 MiB a message.
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
    /// It was said that a message that needs no answer was refused.
    refusal_logged: AtomicBool,
    /// Something that a thread may wait for in `state` is different.
    changed: Condvar,
}

/// What the server and the client agreed on.
#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

#[derive(Default)]
struct State {
    closed: bool,
    idle: Vec<Line>,
    running: Vec<Arc<Exchange>>,
    threads: Vec<JoinHandle<()>>,
    one_way_queue: VecDeque<OneWayMessage>,
    /// Of the thread that sends them.
    one_way_sender: Option<Arc<Exchange>>,
    listening: bool,
    /// The server's own stream broke and is to be initialized_sent again after a pause, which a request may cut short.
    reopening: bool,
    /// How far the server's own stream had come when it was given up because the server was not there.
    broken_stream: Option<Decoder>,
    /// Answers may come on the server's own stream.
    standalone_answers: bool,
    startup: Startup,
}

/// How far the life cycle's startup has come: MCP basic/lifecycle, initialization.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Startup {
    /// Nothing has to wait: no version is agreed on yet, or the startup is over.
    #[default]
    Ready,
    /// A version is agreed on: what is sent next says that this client is ready.
    Negotiated,
    /// That is under way, and requests wait for it.
    SendingInitialized,
    /// The server knows. Until it has also answered whether it offers a stream of its own, or until this
    /// time, requests wait: many servers drop what they would have asked or said on it before.
    OpeningStream(Instant),
}

/// A message that needs no answer.
struct OneWayMessage {
    message: Vec<u8>,
    /// The requests that it must not overtake.
    after: Vec<Arc<Exchange>>,
    is_initialized: bool,
}

impl HttpTransport {
    /// A transport for this server. Nothing is sent yet.
    ///
    /// # Errors
    /// `Config`, when the URI or a header cannot be used, or when offline rules forbid the host.
    pub fn new(options: HttpOptions) -> Result<Self, TransportError> {
        let place = Place {
            uri: &options.uri,
            headers: &options.headers,
            offline: options.offline,
            connect_timeout: options.connect_timeout,
            silence: None,
            idle: MAX_IDLE_TIME,
        };
        let target = Target::new(&place, Addresses::default()).map_err(TransportError::Config)?;
        let shared = Shared {
            target,
            // A thread's name may not contain NUL.
            name: options.name.replace('\0', ""),
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

    /// Scheme, host and port of the server: what may be shown of its address.
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
        if std::mem::take(&mut state.reopening) {
            state.startup = Startup::OpeningStream(Instant::now() + STANDALONE_STREAM_TIMEOUT);
            self.shared.changed.notify_all();
        }
        let waits = matches!(
            state.startup,
            Startup::SendingInitialized | Startup::OpeningStream(_)
        );
        (self.shared).spawn(&mut state, "post", request, move |shared, exchange| {
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
        // A version that no header can carry is none that the client knows.
        lock(&self.shared.session).version = HeaderValue::from_str(version).ok();
        lock(&self.shared.state).startup = Startup::Negotiated;
    }

    /// Ends what is under way, tells the server, and waits for the threads. Whoever is still
    /// looking up a name or connecting cannot be interrupted: such a thread is left behind and
    /// ends with its own deadline.
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
    /// Runs `job` in a thread that owns a line to the server while it lasts.
    fn spawn(
        self: &Arc<Self>,
        state: &mut State,
        role: &str,
        request: Option<i64>,
        job: impl FnOnce(&Arc<Shared>, &Exchange) + Send + 'static,
    ) -> Result<Arc<Exchange>, TransportError> {
        state.threads.retain(|thread| !thread.is_finished());
        let line = state.idle.pop().unwrap_or_else(|| self.target.line());
        let exchange = Arc::new(Exchange::new(request, line));
        let (shared, running) = (self.clone(), exchange.clone());
        let name = format!("mcp {} {role}", self.name);
        let thread = sys::spawn(name, None, move || {
            let running = RunningExchange {
                shared,
                exchange: running,
            };
            // Nobody else sets it.
            let _ = running.exchange.thread.set(thread::current().id());
            job(&running.shared, &running.exchange);
        })
        .map_err(|e| TransportError::Unreachable(format!("no thread for the message: {e}")))?;
        state.running.push(exchange.clone());
        state.threads.push(thread);
        Ok(exchange)
    }

    fn request(self: &Arc<Self>, exchange: &Exchange, id: i64, message: &[u8]) {
        let outcome = self.post_request(exchange, id, message);
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

    /// Ends the exchange of this request, if there is one, without a word to the handler.
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
        let is_initialized = state.startup == Startup::Negotiated;
        if is_initialized {
            state.startup = Startup::SendingInitialized;
        }
        let unwritten = |e: &&Arc<Exchange>| e.request.is_some() && !e.line.wire.written();
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
                earlier.line.wire.wait_written(deadline);
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

    /// The server knows that this client is ready, or will not know it.
    fn initialized_sent(self: &Arc<Self>, accepted: bool) {
        let mut state = lock(&self.state);
        if accepted {
            self.open_stream(&mut state, None);
        }
        if state.startup == Startup::SendingInitialized {
            state.startup = match accepted && state.listening {
                true => Startup::OpeningStream(Instant::now() + STANDALONE_STREAM_TIMEOUT),
                false => Startup::Ready,
            };
        }
        self.changed.notify_all();
    }

    /// The server has answered whether it offers a stream of its own.
    fn stream_answered(&self) {
        let mut state = lock(&self.state);
        if let Startup::OpeningStream(_) = state.startup {
            state.startup = Startup::Ready;
            self.changed.notify_all();
        }
    }

    /// Opens the server's own stream, or again what was `broken_stream` of it.
    fn open_stream(self: &Arc<Self>, state: &mut State, broken_stream: Option<Decoder>) {
        if state.closed || state.listening {
            return;
        }
        // Without a thread there is no stream, as with a server that does not offer one.
        let spawned = self.spawn(state, "events", None, |shared, exchange| {
            let broken_stream = shared.follow_standalone_stream(exchange, broken_stream);
            shared.expect_standalone_answers(false);
            let mut state = lock(&shared.state);
            state.listening = false;
            state.broken_stream = broken_stream;
        });
        state.listening = spawned.is_ok();
        state.standalone_answers = state.listening;
    }

    /// The server answers: if its own stream was broken_stream because it could not be reopen_broken_stream, it can be now.
    fn reopen_broken_stream(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        if let Some(broken_stream) = state.broken_stream.take() {
            self.open_stream(&mut state, Some(broken_stream));
        }
    }

    fn wait_until_ready(&self, exchange: &Exchange) {
        let mut state = lock(&self.state);
        while !exchange.is_aborted() {
            state = match state.startup {
                Startup::Ready | Startup::Negotiated => return,
                Startup::SendingInitialized => {
                    (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner)
                }
                Startup::OpeningStream(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    (self.changed.wait_timeout(state, left))
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    /// Wakes those who wait on `changed` for something that is not guarded by `state`.
    fn wake(&self) {
        // Whoever looked before the change is waiting once the lock is free.
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
            (one_way_sender.as_ref())
                .is_some_and(|one_way_sender| Arc::ptr_eq(one_way_sender, exchange))
        };
        (running.iter().filter(|exchange| !notifies(exchange)))
            .for_each(|exchange| exchange.abort());
        self.wake();
        let line = self.flush_one_way_queue();
        if let Some(one_way_sender) = one_way_sender {
            one_way_sender.abort();
            self.wake();
        }
        self.end_session(line);
        let all_ended = self.wait_ended(deadline);
        for thread in threads {
            let is_other = thread.thread().id() != thread::current().id();
            if is_other && (all_ended || thread.is_finished()) {
                // A panic in it has been reported where it happened.
                let _ = thread.join();
            }
        }
        // Dropped after the lock is released: it may own this transport.
        let _receiver = lock(&self.handler).take();
    }

    /// Lets what needs no answer be sent, for a moment: a server that has no session to end does not know
    /// otherwise that nobody waits any more. What cannot be sent by then never is. Gives a line to end the
    /// session with.
    fn flush_one_way_queue(&self) -> Option<Line> {
        let (mut state, _) = (self.changed)
            .wait_timeout_while(lock(&self.state), FLUSH_TIMEOUT, |state| {
                state.one_way_sender.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.one_way_queue.clear();
        let line = state.idle.pop();
        state.idle.clear();
        line
    }

    /// MCP basic/transports, session management.
    fn end_session(&self, line: Option<Line>) {
        if lock(&self.session).id.is_none() {
            return;
        }
        let exchange = Exchange::new(None, line.unwrap_or_else(|| self.target.line()));
        // A server that does not let clients end sessions answers 405; there is nothing to do.
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

    /// Waits for all threads but this one, which may be one of them: a handler may close.
    fn wait_ended(&self, deadline: Instant) -> bool {
        let this = thread::current().id();
        let mut state = lock(&self.state);
        while state.running.iter().any(|e| e.thread.get() != Some(&this)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = (self.changed.wait_timeout(state, left))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

/// Takes an exchange off the list however its thread ends.
struct RunningExchange {
    shared: Arc<Shared>,
    exchange: Arc<Exchange>,
}

impl Drop for RunningExchange {
    fn drop(&mut self) {
        let line = &self.exchange.line;
        line.wire.end();
        let mut state = lock(&self.shared.state);
        state.running.retain(|e| !Arc::ptr_eq(e, &self.exchange));
        if !state.closed && !self.exchange.is_aborted() && state.idle.len() < MAX_IDLE_CONNECTIONS {
            state.idle.push(line.clone());
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}
