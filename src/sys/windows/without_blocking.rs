//! Receives and sends without blocking, also on a blocking socket.

use crate::net::{READABLE, WRITABLE, is_ready};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// What a socket takes at once that has room. The system takes more, but does not promise it.
const CHUNK: usize = 16 << 10;

/// Receives what has arrived, without blocking, also on a blocking socket; 0 at the end of the input. One thread at a
/// time may receive.
///
/// # Errors
/// `WouldBlock` if nothing has arrived, or what the system says.
pub fn receive_now(mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    if !is_ready(stream, READABLE) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    stream.read(buffer)
}

/// Sends as many bytes as the socket accepts without blocking, also on a blocking socket. One thread at a time may
/// send.
///
/// # Errors
/// `WouldBlock` if it accepts none, or what the system says.
pub fn send_now(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    if !is_ready(stream, WRITABLE) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    stream.write(&bytes[..bytes.len().min(CHUNK)])
}
