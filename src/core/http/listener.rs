//! Where a server accepts connections. Those of TCP are here; a part may have others.

use crate::sys::net;
use std::fmt::Debug;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Accepts connections, in a thread of the server.
pub trait Listener: Debug + Send + Sync {
    /// Waits for the next connection, of any kind of socket; also returns the address of its client, if it has one.
    ///
    /// # Errors
    /// As a listener of the standard library; at once after [`close`](Self::close).
    fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)>;

    /// Ends, from another thread: accepts no more connections.
    fn close(&self);

    /// The address that clients connect to, with the actual port; `None` for a socket without one, whose connections
    /// are not encrypted.
    fn address(&self) -> Option<SocketAddr>;

    /// What it is, for people.
    fn name(&self) -> String;
}

impl Listener for TcpListener {
    fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        TcpListener::accept(self).map(|(stream, peer)| (stream, Some(peer)))
    }

    fn close(&self) {
        net::wake_acceptor(self);
    }

    fn address(&self) -> Option<SocketAddr> {
        self.local_addr().ok()
    }

    fn name(&self) -> String {
        shown(Listener::address(self))
    }
}

/// A peer, for the names of threads.
pub(super) fn shown(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "local".to_owned(), |peer| peer.to_string())
}
