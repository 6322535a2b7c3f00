//! Receives and sends without blocking, also on a blocking socket.
#![allow(unsafe_code)]

use crate::net::receive;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Receives what has arrived, without blocking, also on a blocking socket; 0 at the end of the input.
///
/// # Errors
/// `WouldBlock` if nothing has arrived, or what the system says.
pub fn receive_now(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    receive(stream, buffer, 0)
}

/// Sends as many bytes as the socket accepts without blocking, also on a blocking socket.
///
/// # Errors
/// `WouldBlock` if it accepts none, or what the system says.
pub fn send_now(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let (start, len) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: the descriptor is open for as long as `stream` is borrowed, and the kernel reads only `bytes`.
    // The standard library has SIGPIPE ignored.
    let sent = unsafe { libc::send(stream.as_raw_fd(), start, len, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
