//! Datagrams to Unix sockets, as service managers of Unix take them: there are none here.

use std::io;
use std::path::Path;

/// A socket that cannot be made.
pub enum Datagrams {}

fn refused() -> io::Error {
    let text = "Windows has no such sockets";
    io::Error::new(io::ErrorKind::Unsupported, text)
}

impl Datagrams {
    /// A socket.
    ///
    /// # Errors
    /// Always `Unsupported`.
    pub fn new() -> io::Result<Self> {
        Err(refused())
    }

    /// Sends a message to the socket with this path.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn send_to_path(&self, _: &[u8], _: &Path) -> io::Result<()> {
        match *self {}
    }

    /// Sends a message to the socket with this name.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn send_to_name(&self, _: &[u8], _: &[u8]) -> io::Result<()> {
        match *self {}
    }
}

/// Whether a process has the stream socket with this path open.
///
/// # Errors
/// Always `Unsupported`.
pub fn is_alive(_: &Path) -> io::Result<bool> {
    Err(refused())
}
