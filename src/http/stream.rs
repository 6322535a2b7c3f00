//! The byte stream of one connection.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::sys::net;

/// The byte stream of one connection.
///
/// All methods take `&self`, so that threads can share it: one may wait in a read while another writes and a
/// third shuts it down. Each read or write waits once, up to its timeout. A write may keep a part of the bytes
/// that it takes: [`flush`](Write::flush) sends them. A read, write or flush that fails with `Interrupted` has
/// made progress and must be repeated, which the adapters of the standard library do.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
}

impl Stream {
    /// A stream over `socket`, without encryption.
    pub(super) fn new(socket: TcpStream) -> Stream {
        Stream { socket }
    }

    /// Sets `TCP_NODELAY`.
    pub(super) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_nodelay(nodelay)
    }

    /// Makes reads and writes fail with `WouldBlock` instead of waiting.
    pub(super) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// Sets how long one wait for input may take. A read that times out fails with `WouldBlock` or `TimedOut`.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// Sets how long one wait for the client to take output may take. A write that times out fails with
    /// `WouldBlock` or `TimedOut`.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(timeout)
    }

    /// Whether writes have kept bytes that a [`flush`](Write::flush) must send.
    pub(super) fn has_unsent(&self) -> bool {
        false
    }

    /// Shuts down one side of the connection or both, from any thread. Wakes threads that wait in a read or a
    /// write.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    /// Whether the client has closed its side or the connection broke. Does not block.
    pub fn hung_up(&self) -> bool {
        net::hung_up(&self.socket)
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.socket).read(buffer)
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.socket).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.socket).write_vectored(slices)
    }

    /// Sends what earlier writes kept. Without encryption they keep nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
