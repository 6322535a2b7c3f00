//! The server: accepts connections, starts a thread for each, and stops them all.

use super::connections::{Connections, SharedConnection};
use super::listener::{Listener, shown};
use super::response::BodyEnd;
use super::server_state::ServerState;
use super::{
    AccessControl, Encryption, Error, Limits, Response, Router, Stream, connection_thread,
};
use crate::metric_counters::{METRICS, Refusal};
use crate::sys;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Stack size of a connection's thread. Only touched pages take memory, so an idle connection costs a few
/// pages. The 128 levels of nested objects that serde_json allows take 160 KiB in a release build and 400 KiB
/// in a debug build; an overflow would end the process.
const STACK: usize = 1 << 20;
/// How long the acceptor waits when the system has no descriptors or memory left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// The minimum time between two warnings about that.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// How long a thread may take to notice that its socket was shut down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// A listener with the thread that accepts from it.
type Acceptor = (Arc<dyn Listener>, JoinHandle<()>);

/// A running server. Dropping it stops it without waiting for handlers.
#[derive(Debug)]
pub struct Server {
    shared: Arc<ServerState>,
    address: Option<SocketAddr>,
    acceptors: Mutex<Vec<Acceptor>>,
}

impl Server {
    /// Listens on `address` and serves from then on; with port 0 the system chooses one.
    ///
    /// Fails if the server cannot listen on the address or start the acceptor thread.
    pub fn bind(
        address: impl ToSocketAddrs,
        router: Router,
        access_control: AccessControl,
        limits: Limits,
    ) -> io::Result<Server> {
        let mut server = Server::new(router, access_control, limits, None);
        server.listen(address)?;
        Ok(server)
    }

    /// A server that does not listen yet. With `encryption`, every connection from an address begins with its
    /// handshake; a request without TLS gets 400.
    pub fn new(
        router: Router,
        access_control: AccessControl,
        limits: Limits,
        encryption: Option<Arc<dyn Encryption>>,
    ) -> Server {
        let shared = Arc::new(ServerState {
            router: Arc::new(router),
            access_control,
            limits,
            encryption,
            connections: Connections::default(),
            stopping: AtomicBool::new(false),
            started: Instant::now(),
        });
        Server {
            shared,
            address: None,
            acceptors: Mutex::default(),
        }
    }

    /// Listens on `address`, too, and serves from then on.
    ///
    /// # Errors
    /// The server cannot listen there, or not start the acceptor's thread.
    pub fn listen(&mut self, address: impl ToSocketAddrs) -> io::Result<()> {
        let listener = TcpListener::bind(address)?;
        sys::net::lengthen_queue(&listener);
        self.accept_from(Arc::new(listener))
    }

    /// The same with a listener.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn accept_from(&mut self, listener: Arc<dyn Listener>) -> io::Result<()> {
        self.address = self.address.or(listener.address());
        let name = format!("http {} acceptor", listener.name());
        let (shared, accepts) = (Arc::clone(&self.shared), Arc::clone(&listener));
        let acceptor = sys::spawn(name, Some(STACK), move || accept(&*accepts, &shared))?;
        sys::lock(&self.acceptors).push((listener, acceptor));
        Ok(())
    }

    /// The first address that clients connect to, with the actual port; an unspecified one if there is none.
    pub fn local_addr(&self) -> SocketAddr {
        (self.address).unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into())
    }

    /// Stops the server: accepts no more connections, closes connections on which no handler runs, waits up to
    /// `grace` for the running handlers, then closes their connections too.
    ///
    /// Returns when all threads have ended, at most half a second after `grace`, with the number of handlers
    /// that still run. A second call does nothing. A handler must not call this: it would wait for itself.
    pub fn stop(&self, grace: Duration) -> usize {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let acceptors = std::mem::take(&mut *sys::lock(&self.acceptors));
        for (listener, acceptor) in acceptors {
            listener.close();
            // The acceptor catches panics, so its result carries no information.
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

/// Accepts connections until the server stops. No error ends the loop: errors of one client are skipped, and
/// exhausted resources are waited for.
fn accept(listener: &dyn Listener, shared: &Arc<ServerState>) {
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

/// Starts a connection's thread. If the system cannot start one, answers the client with 503 and fails.
fn admit(shared: &Arc<ServerState>, socket: TcpStream, peer: Option<SocketAddr>) -> io::Result<()> {
    let stream = Stream::new(socket);
    // Skips clients that have already left, so that a flood of them costs no threads.
    if stream.hung_up() {
        return Ok(());
    }
    let has_tls = shared.encryption.is_some() && peer.is_some();
    let Limits {
        max_connections,
        slot_timeout,
        ..
    } = shared.limits;
    if !shared.connections.make_room(max_connections, slot_timeout) {
        reject_busy(&stream, has_tls);
        return Ok(());
    }
    let connection = Arc::new(SharedConnection::new(stream, peer, shared.age()));
    let entered = shared.connections.enter(&connection, |id| {
        let shared = Arc::clone(shared);
        let connection = Arc::clone(&connection);
        sys::spawn(format!("http {}", shown(peer)), Some(STACK), move || {
            let leaving = LeaveOnDrop {
                shared: &shared,
                id,
            };
            METRICS.connections.add(1);
            connection_thread::serve(&shared, &connection);
            // The socket closes before the connection is removed from the table.
            drop(connection);
            drop(leaving);
        })
    });
    entered.inspect_err(|_| reject_busy(&connection.stream, has_tls))
}

/// Removes a connection from the table when its thread ends, even by a panic.
struct LeaveOnDrop<'a> {
    shared: &'a ServerState,
    id: u64,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        METRICS.connections_ended.add(1);
        self.shared.connections.leave(self.id);
    }
}

/// Sends 503 without blocking: the acceptor must not wait for a client. With TLS it would have to, for the
/// handshake, so that the connection just ends.
fn reject_busy(mut stream: &Stream, has_tls: bool) {
    METRICS.refuse(Refusal::Busy);
    if has_tls || stream.set_nonblocking(true).is_err() {
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
    // Unread input would turn the close into a reset. Errors are ignored: the connection closes anyway.
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write(&out);
    let _ = stream.close(Shutdown::Write);
}

/// Whether an error of `accept` concerns one client or is a signal, so that the acceptor can continue at once.
fn is_client_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}
