//! Datagrams to Unix sockets, as service managers take them.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// A socket without a name, which never blocks.
pub struct Datagrams(UnixDatagram);

impl Datagrams {
    /// A socket.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Datagrams(socket))
    }

    /// Sends a message to the socket with this path.
    ///
    /// # Errors
    /// As the sockets of the standard library; also `WouldBlock` if the other side does not keep up.
    pub fn send_to_path(&self, message: &[u8], path: &Path) -> io::Result<()> {
        self.0.send_to(message, path).map(drop)
    }

    /// Sends a message to the socket with this name in the kernel's own table.
    ///
    /// # Errors
    /// As [`send_to_path`](Self::send_to_path); `Unsupported` where there is no such table.
    pub fn send_to_name(&self, message: &[u8], name: &[u8]) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use std::os::linux::net::SocketAddrExt;
            let name = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            self.0.send_to_addr(message, &name).map(drop)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (message, name);
            Err(ErrorKind::Unsupported.into())
        }
    }
}

/// Whether a process has the stream socket with this path open. Never blocks, unlike a connection to a server whose
/// queue is full: a datagram cannot be sent to a stream, which the system says only if there is one.
///
/// # Errors
/// No descriptors are left.
pub fn is_alive(path: &Path) -> io::Result<bool> {
    match UnixDatagram::unbound()?.connect(path) {
        Err(error) => Ok(!matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::NotFound
        )),
        Ok(()) => Ok(true),
    }
}
