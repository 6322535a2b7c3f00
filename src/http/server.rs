//! The server: accepts connections, gives each a thread, and ends them all.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::connections::{Connections, SharedConnection};
use super::response::BodyEnd;
use super::{AccessControl, Error, Limits, Response, Router, connection};
use crate::sys;

/// Stack of a connection's thread. Only pages that were used take memory, so that an idle connection
/// costs a few of them whatever this is. The 128 levels of nested objects that serde_json allows take
/// 160 KiB optimized and 400 KiB in a debug build, and an overflow would end the process.
const STACK: usize = 1 << 20;
/// How long to wait before accepting again when the system has no descriptors or memory left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How often to say so.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// How long a thread may take to notice that its socket was shut down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// A running server. Dropping it stops it without waiting for handlers.
#[derive(Debug)]
pub struct Server {
    shared: Arc<ServerState>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

/// What all threads of a server use.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) router: Router,
    pub(super) access_control: AccessControl,
    pub(super) limits: Limits,
    connections: Connections,
    stopping: AtomicBool,
    started: Instant,
}

impl ServerState {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// How long the server has been running.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Server {
    /// Listens on `address` and serves from then on; port 0 lets the system choose one.
    ///
    /// Errs if the address cannot be listened on or the thread that accepts cannot be started.
    pub fn bind(
        address: impl ToSocketAddrs,
        router: Router,
        access_control: AccessControl,
        limits: Limits,
    ) -> io::Result<Server> {
        let listener = Arc::new(TcpListener::bind(address)?);
        sys::net::lengthen_queue(&listener);
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerState {
            router,
            access_control,
            limits,
            connections: Connections::default(),
            stopping: AtomicBool::new(false),
            started: Instant::now(),
        });
        let acceptor = {
            let (listener, shared) = (Arc::clone(&listener), Arc::clone(&shared));
            let name = format!("http {address} acceptor");
            sys::spawn(name, Some(STACK), move || accept(&listener, &shared))?
        };
        Ok(Server {
            shared,
            listener,
            address,
            acceptor: Mutex::new(Some(acceptor)),
        })
    }

    /// The address that clients connect to, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops: accepts no more, closes at once every connection on which no handler runs, gives the
    /// handlers that run up to `grace` to answer, and then shuts their sockets too.
    ///
    /// Returns once all threads have ended, or half a second after that; gives the number of handlers
    /// that still run then. To stop again does no harm. Not to be called by a handler, which would wait
    /// for itself.
    pub fn stop(&self, grace: Duration) -> usize {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let acceptor = self
            .acceptor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(acceptor) = acceptor {
            sys::net::wake_acceptor(&self.listener);
            // It catches what can panic, so there is nothing to learn from its end.
            let _ = acceptor.join();
        }
        let connections = &self.shared.connections;
        connections.close_waiting();
        match connections.wait_empty(grace) {
            0 => 0,
            _ => {
                connections.close_all();
                connections.wait_empty(SHUTDOWN_TIMEOUT)
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// Accepts until the server stops. No error ends it: what a client does to its own connection is skipped,
/// and what the system lacks comes back.
fn accept(listener: &TcpListener, shared: &Arc<ServerState>) {
    let mut last_warning: Option<Instant> = None;
    let mut warn = |error: &io::Error| {
        if last_warning.is_none_or(|last| last.elapsed() > WARNING_INTERVAL) {
            last_warning = Some(Instant::now());
            log::warn!("connection not taken reason={error}");
        }
    };
    loop {
        let accepted = listener.accept();
        if shared.is_stopping() {
            return;
        }
        match accepted {
            Ok((stream, peer)) => {
                if let Err(error) = admit(shared, stream, peer) {
                    warn(&error);
                    thread::sleep(ACCEPT_RETRY_DELAY);
                }
            }
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                warn(&error);
                shared.connections.evict();
                thread::sleep(ACCEPT_RETRY_DELAY);
            }
        }
    }
}

/// Starts a connection's thread. Errs if the system has none to give; the client was told then.
fn admit(shared: &Arc<ServerState>, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    // A flood of clients that connect and leave is not worth a thread each.
    if sys::net::hung_up(&stream) {
        return Ok(());
    }
    let Limits {
        max_connections,
        slot_timeout,
        ..
    } = shared.limits;
    if !shared.connections.make_room(max_connections, slot_timeout) {
        reject_busy(&stream);
        return Ok(());
    }
    let connection = Arc::new(SharedConnection::new(stream, peer, shared.age()));
    let entered = shared.connections.enter(&connection, |id| {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(&connection));
        sys::spawn(format!("http {peer}"), Some(STACK), move || {
            let leaving = LeaveOnDrop {
                shared: &shared,
                id,
            };
            connection::serve(&shared, &connection);
            // The socket closes before the connection counts as gone.
            drop(connection);
            drop(leaving);
        })
    });
    entered.inspect_err(|_| reject_busy(&connection.stream))
}

/// Takes a connection off the connections when its thread ends, in whatever way.
struct LeaveOnDrop<'a> {
    shared: &'a ServerState,
    id: u64,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.shared.connections.leave(self.id);
    }
}

/// Answers 503 without waiting for anything: the acceptor must not depend on a client.
fn reject_busy(mut stream: &TcpStream) {
    if stream.set_nonblocking(true).is_err() {
        return;
    }
    let error = Error::new(
        503,
        "The server is serving all the clients it can: try again soon",
    );
    let response = Response::from(error.header("Retry-After", "1"));
    let mut out = Vec::new();
    response.write_head(&mut out, Some("close"), BodyEnd::Length);
    out.extend_from_slice(&response.body);
    // Unread bytes would turn the close into a reset. What fails here only makes the error_message less polite.
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write(&out);
    let _ = stream.shutdown(Shutdown::Write);
}

/// Whether an error of `accept` concerns one client that is gone, or a signal, so that to go on at once
/// makes progress.
fn is_client_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}
