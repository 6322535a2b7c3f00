//! The byte stream of one connection, with or without TLS.

use super::{EncryptedSession, Encryption, HandshakeError};
use crate::metric_counters::METRICS;
use crate::sys::{TimeLimit, net};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The byte stream of one connection, with or without TLS.
///
/// All methods take `&self`, so that threads can share it: one may wait in a read while another writes and a
/// third shuts it down. Each read or write waits once, up to its timeout. A write may keep a part of the bytes
/// that it takes: [`flush`](Write::flush) sends them. A read, write or flush that fails with `Interrupted` has
/// made progress and must be repeated, which the adapters of the standard library do.
///
/// With TLS, a read decrypts in the buffer that it is given, so a large one (4 KiB or more) saves system calls.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    /// Set by the handshake, before anything else reads or writes.
    session: OnceLock<Box<dyn EncryptedSession>>,
    /// The bytes that were sent, before encryption.
    sent: AtomicU64,
}

impl Stream {
    /// A stream over `socket`, without encryption.
    pub(super) fn new(socket: TcpStream) -> Stream {
        net::keep_from_children(&socket);
        Stream {
            socket,
            session: OnceLock::new(),
            sent: AtomicU64::new(0),
        }
    }

    /// Counts bytes that were sent; how many there are now.
    pub(super) fn count(&self, sent: u64) -> u64 {
        METRICS.sent.add(sent);
        self.sent.fetch_add(sent, Ordering::Relaxed) + sent
    }

    /// Performs the handshake until `deadline`, with at most `max_bytes` of input. From then on, reads and writes are
    /// those of the session. If it fails, the stream remains one without encryption.
    pub(super) fn encrypt(
        &self,
        encryption: &dyn Encryption,
        deadline: Instant,
        max_bytes: usize,
    ) -> Result<(), HandshakeError> {
        let session = encryption.accept(&self.socket, deadline, max_bytes)?;
        // Only the thread of the connection calls this, once.
        let _ = self.session.set(session);
        Ok(())
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

    /// Writes all bytes, and sends them.
    ///
    /// # Errors
    /// As a socket; with `TimedOut` if that takes longer than `limit`. The timeout of one write must not be much
    /// longer.
    pub fn write_within(mut self: &Stream, mut bytes: &[u8], limit: Duration) -> io::Result<()> {
        let deadline = TimeLimit::new(limit).end();
        loop {
            let sent = match bytes {
                [] => self.flush().map(|()| 0),
                _ => self.write(bytes),
            };
            match sent {
                Ok(0) if bytes.is_empty() => return Ok(()),
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.count(written as u64);
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if Instant::now() > deadline && (!bytes.is_empty() || self.has_unsent()) {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }

    /// Whether writes have kept bytes that a [`flush`](Write::flush) must send.
    pub fn has_unsent(&self) -> bool {
        let session = self.session.get();
        session.is_some_and(|session| session.has_unsent())
    }

    /// Ends the output, or with [`Shutdown::Both`] the connection, after all output was sent. With TLS the
    /// client is told that the output is complete, if it reads. Does not block.
    pub fn close(&self, how: Shutdown) -> io::Result<()> {
        match self.session.get() {
            Some(session) => session.close(&self.socket, how),
            None => self.socket.shutdown(how),
        }
    }

    /// Breaks the connection, from any thread: both sides of the socket are shut down, without notice to the
    /// client. Wakes threads that wait in a read or a write.
    pub fn abort(&self) {
        net::shutdown(&self.socket, Shutdown::Both);
    }

    /// Lets a thread that waits in a read notice the end of the input, from any thread.
    pub fn stop_reading(&self) {
        net::shutdown(&self.socket, Shutdown::Read);
    }

    /// Whether the client has closed its side or the connection broke. Does not block. If the client sent
    /// something before it left, this may be false until that has been read.
    pub fn hung_up(&self) -> bool {
        match self.session.get() {
            Some(session) => session.hung_up(&self.socket),
            None => net::hung_up(&self.socket),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.session.get() {
            Some(session) => session.read(&self.socket, buffer),
            None => (&self.socket).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.session.get() {
            Some(session) => session.write(&self.socket, &[IoSlice::new(bytes)]),
            None => (&self.socket).write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.session.get() {
            Some(session) => session.write(&self.socket, slices),
            None => (&self.socket).write_vectored(slices),
        }
    }

    /// Sends what earlier writes kept. Without encryption they keep nothing.
    fn flush(&mut self) -> io::Result<()> {
        let session = self.session.get();
        session.map_or(Ok(()), |session| session.flush(&self.socket))
    }
}
