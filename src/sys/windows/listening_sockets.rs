//! What service managers of Unix pass on, and sockets with a path: neither exists here.

use std::fs::Metadata;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// A listening stream socket of another process, or with a path: there is none.
#[derive(Debug)]
pub enum ListeningSocket {}

fn refused(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, text)
}

impl ListeningSocket {
    /// Lets it not wait.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match *self {}
    }

    /// The next connection.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        match *self {}
    }

    /// Where it listens.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match *self {}
    }

    /// Waits for a connection, or for the pipe.
    pub fn is_told_before_a_connection(&self, _: &io::PipeReader) -> bool {
        match *self {}
    }
}

/// Waits until there is something to read from the pipe, or it has ended.
pub fn wait_told(pipe: &io::PipeReader) {
    let _ = io::Read::read(&mut &*pipe, &mut [0]);
}

/// Whether this is a socket with a path: no.
pub fn is_socket(_: &Metadata) -> bool {
    false
}

/// No socket can be passed on: why, for each of so many.
pub fn take_inherited(count: u16) -> Vec<io::Result<ListeningSocket>> {
    let none = || Err(refused("Windows passes on no sockets"));
    std::iter::repeat_with(none).take(count.into()).collect()
}

/// No socket with a path can be made.
///
/// # Errors
/// Always `Unsupported`.
pub fn listen_privately(_: &Path) -> io::Result<ListeningSocket> {
    Err(refused("on Windows, gosling has no sockets with a path"))
}

/// Gives the path of a socket this mode.
///
/// # Errors
/// Always `Unsupported`.
pub fn open_path(_: &Path, _: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A clock that never goes back, in microseconds since this was first asked.
pub fn monotonic_micros() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_micros() as u64
}
