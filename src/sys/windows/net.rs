//! Socket operations that the standard library lacks: a peek that does not block, waking what waits.
#![allow(unsafe_code)]

#[path = "../net/wake_by_connecting.rs"]
mod wake_by_connecting;

use crate::windows::{cancel_operations, keep_handle};
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::windows::io::{AsRawSocket, RawHandle, RawSocket};
pub use wake_by_connecting::wake_acceptor;

/// Input, or the end of it.
pub(crate) const READABLE: i16 = 0x0100;
#[cfg(feature = "parts")]
pub(crate) const WRITABLE: i16 = 0x0010;

/// `WSAPOLLFD`.
#[repr(C)]
struct Poll {
    socket: RawSocket,
    events: i16,
    returned: i16,
}

#[link(name = "ws2_32")]
unsafe extern "system" {
    fn WSAPoll(polls: *mut Poll, count: u32, milliseconds: i32) -> i32;
}

/// Whether the peer has closed its side or the connection broke. Does not block and does not consume input.
/// False while unread input is pending.
pub fn hung_up(stream: &TcpStream) -> bool {
    if !is_ready(stream, READABLE) {
        return false;
    }
    match stream.peek(&mut [0]) {
        Ok(received) => received == 0,
        Err(error) => {
            let kind = error.kind();
            kind != io::ErrorKind::WouldBlock && kind != io::ErrorKind::Interrupted
        }
    }
}

/// Whether the socket is ready for this now, or has failed.
pub(crate) fn is_ready(stream: &TcpStream, events: i16) -> bool {
    let mut poll = Poll {
        socket: stream.as_raw_socket(),
        events,
        returned: 0,
    };
    // SAFETY: one structure that outlives the call, with a socket that is open as long as `stream` is borrowed.
    unsafe { WSAPoll(&raw mut poll, 1, 0) != 0 }
}

/// Shuts down the input of a socket, or both sides, and ends reads and writes that wait in other threads, which fail
/// with `TimedOut`. Both are ended also where only the input is shut down.
pub fn shutdown(stream: &TcpStream, how: Shutdown) {
    // Fails if the peer has disconnected. What begins later ends at once, but what waits already goes on to wait.
    let _ = stream.shutdown(how);
    cancel_operations(stream.as_raw_socket() as RawHandle);
}

/// Keeps an accepted socket from the children that start from now on. It may be inherited although that from which it
/// was accepted is not, as under Wine, and a connection is not closed as long as a child has it.
pub fn keep_from_children(stream: &TcpStream) {
    keep_handle(stream.as_raw_socket() as RawHandle);
}

/// Does nothing: this system does not lengthen the queue of a socket that listens already.
pub fn lengthen_queue(_: &TcpListener) {}
