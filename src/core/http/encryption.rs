//! What TLS is to this server: a handshake, and from then on another way to read and write. A build with TLS has it
//! in `tls`.

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

/// Encrypts the connections of a server.
pub trait Encryption: Debug + Send + Sync {
    /// Performs the handshake on `socket` until `deadline`, and reads at most `max_bytes` for it. Sets the timeouts
    /// of the socket.
    ///
    /// # Errors
    /// When there is no session, and the connection ends.
    fn accept(
        &self,
        socket: &TcpStream,
        deadline: Instant,
        max_bytes: usize,
    ) -> Result<Box<dyn EncryptedSession>, HandshakeError>;
}

/// Why a handshake did not succeed.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The first byte is that of an HTTP request without TLS.
    PlainHttp,
    /// The client sent something else than a handshake that this server accepts, and was sent an alert.
    Refused,
    /// The client has left, or the handshake took too long.
    Gone,
}

/// The state of one connection after its handshake; a [`Stream`](super::Stream) gives it its socket with each call.
///
/// Threads share it as they share the stream, whose methods say what these do. Their buffers are never on the stack
/// of a connection without encryption, of which every page that is touched stays with the connection: a call by way
/// of this trait is not inlined.
pub trait EncryptedSession: Debug + Send + Sync {
    /// Reads decrypted bytes. Reads from `socket` at most once; fails with `Interrupted` if that was not enough.
    ///
    /// # Errors
    /// As a socket. A connection that ends without the client's notice fails with `UnexpectedEof`.
    fn read(&self, socket: &TcpStream, buffer: &mut [u8]) -> io::Result<usize>;

    /// Encrypts bytes and sends them. What `socket` does not accept is sent by the next write or
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    /// As a socket; with `Interrupted` if the bytes of earlier writes were not all sent.
    fn write(&self, socket: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Sends what earlier writes kept, with one write to `socket`.
    ///
    /// # Errors
    /// As a socket; with `Interrupted` if more is left.
    fn flush(&self, socket: &TcpStream) -> io::Result<()>;

    /// Whether [`flush`](Self::flush) has something to send.
    fn has_unsent(&self) -> bool;

    /// Tells the client that no more output follows, if it reads, then shuts down the side or sides of `socket` that
    /// `how` names. Does not block.
    ///
    /// # Errors
    /// As a socket.
    fn close(&self, socket: &TcpStream, how: Shutdown) -> io::Result<()>;

    /// Whether the client has closed its side, broke the protocol, or the connection broke. Does not block.
    fn hung_up(&self, socket: &TcpStream) -> bool;
}
