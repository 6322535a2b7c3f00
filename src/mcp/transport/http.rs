//! Streamable HTTP: every message of the client is a POST, and the server answers with JSON or
//! with a stream of events. MCP 2025-11-25, basic/transports; older versions speak the same.
//!
//! Each request has a thread of its own, and so its own connection; whoever no longer waits
//! [`forget`](Transport::forget)s it, which shuts down that connection and no other. What needs no
//! answer (notifications, and responses to the server) goes out one after the other from one
//! thread that lives while there is something to send. Across these the order is kept where it
//! matters:
//! - what needs no answer is sent after all earlier requests have been written, so that a
//!   `notifications/cancelled` finds the request that it cancels;
//! - requests wait until the server has accepted `notifications/initialized` and then answered the GET for
//!   its own stream, if that takes no longer than two seconds: what a tool asks for is lost with many servers
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

pub mod challenge;
mod events;
mod exchange;
mod status;

use super::{Receiver, Transport, TransportError};
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
const IDLE_LINES: usize = 4;
/// How many messages that need no answer may wait.
const QUEUE: usize = 1024;
/// How long sending one of them may take.
const NOTICE: Duration = Duration::from_secs(10);
/// What they are in the log.
const NOTICES: &str = "a message that needs no answer";
/// How long requests wait for the answer to the GET that opens the server's own stream.
const OWN_STREAM: Duration = Duration::from_secs(2);
/// How long closing waits for what needs no answer and was sent before: it may say what is cancelled.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the server may take to end the session.
const FAREWELL: Duration = Duration::from_secs(1);
/// A connection idle for longer is not used again: common servers (Node, uvicorn) close theirs
/// after five seconds, and a request that meets the closing one may be lost.
const IDLE: Duration = Duration::from_secs(4);
/// How long closing may take in all.
const CLOSE: Duration = Duration::from_secs(2);

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
    receiver: Mutex<Option<Arc<dyn Receiver>>>,
    session: Mutex<Session>,
    work: Mutex<Work>,
    /// It was said that a message that needs no answer was refused.
    noted: AtomicBool,
    /// Something that a thread may wait for in `work` is different.
    changed: Condvar,
}

/// What the server and the client agreed on.
#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

#[derive(Default)]
struct Work {
    closed: bool,
    idle: Vec<Line>,
    running: Vec<Arc<Exchange>>,
    threads: Vec<JoinHandle<()>>,
    notices: VecDeque<Notice>,
    /// Of the thread that sends them.
    notifying: Option<Arc<Exchange>>,
    listening: bool,
    /// The server's own stream broke and is to be opened again after a pause, which a request may cut short.
    between: bool,
    /// How far the server's own stream had come when it was given up because the server was not there.
    lost: Option<Decoder>,
    /// Answers may come on the server's own stream.
    aside: bool,
    opening: Opening,
}

/// How far the life cycle's opening has come: MCP basic/lifecycle, initialization.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Opening {
    /// Nothing has to wait: no version is agreed on yet, or the opening is over.
    #[default]
    Open,
    /// A version is agreed on: what is sent next says that this client is ready.
    Agreed,
    /// That is under way, and requests wait for it.
    Announced,
    /// The server knows. Until it has also answered whether it offers a stream of its own, or until this
    /// time, requests wait: many servers drop what they would have asked or said on it before.
    Listening(Instant),
}

/// A message that needs no answer.
struct Notice {
    message: Vec<u8>,
    /// The requests that it must not overtake.
    after: Vec<Arc<Exchange>>,
    opens: bool,
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
            idle: IDLE,
        };
        let target = Target::new(&place, Addresses::default()).map_err(TransportError::Config)?;
        let shared = Shared {
            target,
            // A thread's name may not contain NUL.
            name: options.name.replace('\0', ""),
            limit: options.max_message,
            receiver: Mutex::default(),
            session: Mutex::default(),
            work: Mutex::default(),
            noted: AtomicBool::new(false),
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
    fn start(&self, receiver: Arc<dyn Receiver>) -> Result<(), TransportError> {
        *lock(&self.shared.receiver) = Some(receiver);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError> {
        let mut work = lock(&self.shared.work);
        if work.closed {
            return Err(TransportError::Closed);
        }
        let Some(id) = request else {
            return self.shared.enqueue(&mut work, message);
        };
        if std::mem::take(&mut work.between) {
            work.opening = Opening::Listening(Instant::now() + OWN_STREAM);
            self.shared.changed.notify_all();
        }
        let waits = matches!(work.opening, Opening::Announced | Opening::Listening(_));
        (self.shared).spawn(&mut work, "post", request, move |shared, exchange| {
            if waits {
                shared.wait_opened(exchange);
            }
            shared.request(exchange, id, &message);
        })?;
        Ok(())
    }

    fn forget(&self, request: i64) {
        self.shared.forget(request);
    }

    fn negotiated(&self, version: &str) {
        // A version that no header can carry is none that the client knows.
        lock(&self.shared.session).version = HeaderValue::from_str(version).ok();
        lock(&self.shared.work).opening = Opening::Agreed;
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
        work: &mut Work,
        role: &str,
        request: Option<i64>,
        job: impl FnOnce(&Arc<Shared>, &Exchange) + Send + 'static,
    ) -> Result<Arc<Exchange>, TransportError> {
        work.threads.retain(|thread| !thread.is_finished());
        let line = work.idle.pop().unwrap_or_else(|| self.target.line());
        let exchange = Arc::new(Exchange::new(request, line));
        let (shared, running) = (self.clone(), exchange.clone());
        let name = format!("mcp {} {role}", self.name);
        let thread = sys::spawn(name, None, move || {
            let running = Running {
                shared,
                exchange: running,
            };
            // Nobody else sets it.
            let _ = running.exchange.thread.set(thread::current().id());
            job(&running.shared, &running.exchange);
        })
        .map_err(|e| TransportError::Unreachable(format!("no thread for the message: {e}")))?;
        work.running.push(exchange.clone());
        work.threads.push(thread);
        Ok(exchange)
    }

    fn request(self: &Arc<Self>, exchange: &Exchange, id: i64, message: &[u8]) {
        let outcome = self.ask(exchange, id, message);
        let error = match outcome {
            Ok(()) => return self.reached(),
            _ if exchange.is_aborted() && lock(&self.work).closed => TransportError::Closed,
            _ if exchange.is_aborted() => return,
            Err(error) => error,
        };
        if let Some(receiver) = self.receiver() {
            receiver.failed(id, error);
        }
    }

    /// Ends the exchange of this request, if there is one, without a word to the receiver.
    fn forget(&self, request: i64) {
        let exchange = {
            let work = lock(&self.work);
            let mut running = work.running.iter();
            running.find(|e| e.request == Some(request)).cloned()
        };
        if let Some(exchange) = exchange {
            exchange.abort();
            self.wake();
        }
    }

    fn enqueue(self: &Arc<Self>, work: &mut Work, message: Vec<u8>) -> Result<(), TransportError> {
        if work.notices.len() >= QUEUE {
            let waiting = work.notices.iter().map(|notice| notice.message.len()).sum();
            return Err(TransportError::NotReading { waiting });
        }
        if work.notifying.is_none() {
            let notifying = self.spawn(work, "notify", None, |shared, exchange| {
                shared.send_notices(exchange);
            })?;
            work.notifying = Some(notifying);
        }
        let opens = work.opening == Opening::Agreed;
        if opens {
            work.opening = Opening::Announced;
        }
        let unwritten = |e: &&Arc<Exchange>| e.request.is_some() && !e.line.wire.written();
        let after = work.running.iter().filter(unwritten).cloned().collect();
        work.notices.push_back(Notice {
            message,
            after,
            opens,
        });
        Ok(())
    }

    fn send_notices(self: &Arc<Self>, exchange: &Exchange) {
        while let Some(notice) = self.next_notice() {
            let deadline = Instant::now() + NOTICE;
            for earlier in &notice.after {
                earlier.line.wire.wait_written(deadline);
            }
            let response = self.post(exchange, &notice.message, Some(NOTICE)).ok();
            if notice.opens {
                let accepted = response.as_ref().is_some_and(|r| r.status().is_success());
                self.opened(accepted);
            }
            if let Some(response) = response {
                self.note_refusal(exchange, NOTICES, response);
            }
        }
    }

    fn next_notice(&self) -> Option<Notice> {
        let mut work = lock(&self.work);
        let notice = work.notices.pop_front();
        if notice.is_none() {
            work.notifying = None;
            self.changed.notify_all();
        }
        notice
    }

    /// The server knows that this client is ready, or will not know it.
    fn opened(self: &Arc<Self>, accepted: bool) {
        let mut work = lock(&self.work);
        if accepted {
            self.open_stream(&mut work, None);
        }
        if work.opening == Opening::Announced {
            work.opening = match accepted && work.listening {
                true => Opening::Listening(Instant::now() + OWN_STREAM),
                false => Opening::Open,
            };
        }
        self.changed.notify_all();
    }

    /// The server has answered whether it offers a stream of its own.
    fn heard(&self) {
        let mut work = lock(&self.work);
        if let Opening::Listening(_) = work.opening {
            work.opening = Opening::Open;
            self.changed.notify_all();
        }
    }

    /// Opens the server's own stream, or again what was `lost` of it.
    fn open_stream(self: &Arc<Self>, work: &mut Work, lost: Option<Decoder>) {
        if work.closed || work.listening {
            return;
        }
        // Without a thread there is no stream, as with a server that does not offer one.
        let spawned = self.spawn(work, "events", None, |shared, exchange| {
            let lost = shared.listen(exchange, lost);
            shared.expect_aside(false);
            let mut work = lock(&shared.work);
            work.listening = false;
            work.lost = lost;
        });
        work.listening = spawned.is_ok();
        work.aside = work.listening;
    }

    /// The server answers: if its own stream was lost because it could not be reached, it can be now.
    fn reached(self: &Arc<Self>) {
        let mut work = lock(&self.work);
        if let Some(lost) = work.lost.take() {
            self.open_stream(&mut work, Some(lost));
        }
    }

    fn wait_opened(&self, exchange: &Exchange) {
        let mut work = lock(&self.work);
        while !exchange.is_aborted() {
            work = match work.opening {
                Opening::Open | Opening::Agreed => return,
                Opening::Announced => {
                    (self.changed.wait(work)).unwrap_or_else(PoisonError::into_inner)
                }
                Opening::Listening(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    (self.changed.wait_timeout(work, left))
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    /// Wakes those who wait on `changed` for something that is not guarded by `work`.
    fn wake(&self) {
        // Whoever looked before the change is waiting once the lock is free.
        drop(lock(&self.work));
        self.changed.notify_all();
    }

    fn receiver(&self) -> Option<Arc<dyn Receiver>> {
        lock(&self.receiver).clone()
    }

    fn close(&self) {
        let deadline = Instant::now() + CLOSE;
        let (running, notifying, threads) = {
            let mut work = lock(&self.work);
            if std::mem::replace(&mut work.closed, true) {
                return;
            }
            let threads = std::mem::take(&mut work.threads);
            (work.running.clone(), work.notifying.clone(), threads)
        };
        let notifies = |exchange: &&Arc<Exchange>| {
            (notifying.as_ref()).is_some_and(|notifying| Arc::ptr_eq(notifying, exchange))
        };
        (running.iter().filter(|exchange| !notifies(exchange)))
            .for_each(|exchange| exchange.abort());
        self.wake();
        let line = self.wait_notified();
        if let Some(notifying) = notifying {
            notifying.abort();
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
        let _receiver = lock(&self.receiver).take();
    }

    /// Lets what needs no answer be sent, for a moment: a server that has no session to end does not know
    /// otherwise that nobody waits any more. What cannot be sent by then never is. Gives a line to end the
    /// session with.
    fn wait_notified(&self) -> Option<Line> {
        let (mut work, _) = (self.changed)
            .wait_timeout_while(lock(&self.work), LAST_WORDS, |work| {
                work.notifying.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner);
        work.notices.clear();
        let line = work.idle.pop();
        work.idle.clear();
        line
    }

    /// MCP basic/transports, session management.
    fn end_session(&self, line: Option<Line>) {
        if lock(&self.session).id.is_none() {
            return;
        }
        let exchange = Exchange::new(None, line.unwrap_or_else(|| self.target.line()));
        // A server that does not let clients end sessions answers 405; there is nothing to do.
        let ended = self.run(&exchange, Method::DELETE, &[], (), Some(FAREWELL), || true);
        if let Ok(response) = ended {
            self.note_refusal(&exchange, "the end of the session", response);
        }
    }

    /// Waits for all threads but this one, which may be one of them: a receiver may close.
    fn wait_ended(&self, deadline: Instant) -> bool {
        let this = thread::current().id();
        let mut work = lock(&self.work);
        while work.running.iter().any(|e| e.thread.get() != Some(&this)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            work = (self.changed.wait_timeout(work, left))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

/// Takes an exchange off the list however its thread ends.
struct Running {
    shared: Arc<Shared>,
    exchange: Arc<Exchange>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let line = &self.exchange.line;
        line.wire.end();
        let mut work = lock(&self.shared.work);
        work.running.retain(|e| !Arc::ptr_eq(e, &self.exchange));
        if !work.closed && !self.exchange.is_aborted() && work.idle.len() < IDLE_LINES {
            work.idle.push(line.clone());
        }
        drop(work);
        self.shared.changed.notify_all();
    }
}
