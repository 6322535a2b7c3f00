//! Socket operations that the standard library lacks: a non-blocking peek, a longer backlog, waking what waits.
#![allow(unsafe_code)]

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

/// The length of the accept queue. The standard library sets 128, which one burst fills; a client that connects
/// to a full queue retries after a whole second.
const BACKLOG: libc::c_int = 4096;

/// Whether the peer has closed its side or the connection broke. Does not block and does not consume input.
/// False while unread input is pending.
pub fn hung_up(stream: &TcpStream) -> bool {
    loop {
        match receive(stream, &mut [0], libc::MSG_PEEK) {
            Ok(received) => return received == 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

pub(crate) fn receive(stream: &TcpStream, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    let (start, len) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: the descriptor is open for as long as `stream` is borrowed, and the kernel writes at most the
    // bytes that `buffer` has room for.
    let received =
        unsafe { libc::recv(stream.as_raw_fd(), start, len, flags | libc::MSG_DONTWAIT) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// Shuts down the input of a socket, or both sides, and ends reads and writes of these that wait in other threads.
pub fn shutdown(stream: &TcpStream, how: Shutdown) {
    // Fails if the peer has disconnected.
    let _ = stream.shutdown(how);
}

/// Does nothing: no child inherits a socket that the standard library has accepted.
pub fn keep_from_children(_: &TcpStream) {}

/// Lengthens the accept queue, as far as the system allows.
pub fn lengthen_queue(listener: &TcpListener) {
    // SAFETY: a second `listen` on an open listening socket only changes the length of its queue; if it
    // fails the queue stays as it was.
    unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
}

/// Wakes a thread that blocks in `accept` on `listener`, which then accepts no more connections. Needs no
/// descriptor, so it works when none is left.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn wake_acceptor(listener: &TcpListener) {
    // SAFETY: `shutdown` on an open socket; on a listening one it ends the wait in `accept`.
    unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod wake_by_connecting;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub use wake_by_connecting::wake_acceptor;
