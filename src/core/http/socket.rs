//! A stream with absolute deadlines and a read buffer.

use super::{Limits, Stream};
use crate::metric_counters::METRICS;
use crate::sys::TimeLimit;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size in bytes of the buffer of an idle connection: one page, enough for an ordinary request.
const IDLE_BUFFER: usize = 4 << 10;
/// Size in bytes of a body's first allocation, whatever length the client declared.
const FIRST_ALLOCATION: usize = 64 << 10;
/// How much later than its deadline a wait may end. A socket timeout within this tolerance is not set again,
/// which saves a system call.
const DEADLINE_TOLERANCE: Duration = Duration::from_millis(100);
/// Number of bytes of an unread body that the server discards before it closes the connection.
const MAX_DISCARDED: usize = 1 << 20;

/// The socket of one connection.
///
/// The system's timeouts restart with every read, so a client that sends one byte per second would never reach
/// them. Here each wait has an [`Instant`] at which it ends, and the timeout is set to the time left.
pub struct Socket<'a> {
    stream: &'a Arc<Stream>,
    limits: &'a Limits,
    read_timeout: Duration,
    write_timeout: Duration,
    // The filled part is `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<'a> Socket<'a> {
    /// Prepares `stream`: sets `TCP_NODELAY` and the timeouts that most waits need.
    pub(super) fn new(stream: &'a Arc<Stream>, limits: &'a Limits) -> io::Result<Socket<'a>> {
        let read_timeout = limits.idle_timeout.max(DEADLINE_TOLERANCE);
        let write_timeout = limits.write_timeout.max(DEADLINE_TOLERANCE);
        // Other sockets than those of TCP never delay.
        let _ = stream.set_nodelay(true);
        stream.set_read_timeout(Some(read_timeout))?;
        stream.set_write_timeout(Some(write_timeout))?;
        Ok(Socket {
            stream,
            limits,
            read_timeout,
            write_timeout,
            buffer: Vec::new(),
            start: 0,
            end: 0,
        })
    }

    /// The stream itself, which other threads may use at the same time.
    pub fn stream(&self) -> &'a Arc<Stream> {
        self.stream
    }

    /// The limits of the server.
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// The bytes that were read and not consumed yet.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Removes the first `count` bytes of [`Socket::buffered`].
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Frees the buffer if a large head has grown it. Called before the connection becomes idle.
    pub fn shrink_buffer(&mut self) {
        if self.buffer.len() > IDLE_BUFFER && self.buffered().is_empty() {
            (self.buffer, self.start, self.end) = (Vec::new(), 0, 0);
        }
    }

    /// Reads once, appends to [`Socket::buffered`] and returns the number of bytes, 0 at the end of the stream.
    /// Grows the buffer if it is full, so the caller must bound what it leaves there.
    ///
    /// # Errors
    /// As the stream; with `TimedOut` at `deadline`.
    pub fn fill(&mut self, deadline: Instant) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            let length = (self.buffer.len() * 2).max(IDLE_BUFFER);
            self.buffer.resize(length, 0);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.read(&mut buffer[self.end..], deadline);
        self.buffer = buffer;
        self.end += *read.as_ref().unwrap_or(&0);
        read
    }

    /// Reads a body of `length` bytes and appends it to `body`, whose memory grows with the bytes that arrive.
    ///
    /// Fails with `UnexpectedEof` if the stream ends early, with `TimedOut` at `deadline`.
    pub(super) fn read_sized(
        &mut self,
        length: usize,
        deadline: Instant,
        body: &mut Vec<u8>,
    ) -> io::Result<()> {
        body.reserve_exact(length.min(FIRST_ALLOCATION.max(self.buffered().len())));
        let ahead = length.min(self.buffered().len());
        body.extend_from_slice(&self.buffered()[..ahead]);
        self.consume(ahead);
        let missing = length - ahead;
        if missing == 0 {
            return Ok(());
        }
        let mut rest = DeadlineReader {
            socket: self,
            deadline,
        }
        .take(missing as u64);
        match rest.read_to_end(body)? {
            read if read == missing => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Sends `head` and `body`, with one system call unless the socket accepts less at a time.
    ///
    /// Fails with `TimedOut` after [`Limits::write_timeout`].
    pub(super) fn send(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let deadline = TimeLimit::new(self.limits.write_timeout).end();
        let mut slices = [IoSlice::new(head), IoSlice::new(body)];
        let mut left = match body {
            [] => &mut slices[..1],
            _ => &mut slices[..],
        };
        while !left.is_empty() || self.stream.has_unsent() {
            let remaining = remaining(deadline)?;
            if !is_close_enough(self.write_timeout, remaining) {
                self.stream.set_write_timeout(Some(remaining))?;
                self.write_timeout = remaining;
            }
            let sent = match left {
                [] => (&**self.stream).flush().map(|()| 0),
                _ => (&**self.stream).write_vectored(left),
            };
            match sent {
                Ok(0) if !left.is_empty() => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.stream.count(written as u64);
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(error) if is_retryable(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the write side and discards input for up to [`Limits::linger_timeout`], so that the client reads the
    /// last response: closing a socket with unread input resets the connection, and a reset discards what the
    /// client has not read yet (RFC 9112 §9.6).
    pub(super) fn linger(&mut self) {
        if self.stream.close(Shutdown::Write).is_err() {
            return;
        }
        let deadline = TimeLimit::new(self.limits.linger_timeout).end();
        let mut discarded = 0;
        while discarded < MAX_DISCARDED {
            self.consume(self.buffered().len());
            match self.fill(deadline) {
                Ok(0) | Err(_) => return,
                Ok(count) => discarded += count,
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            let remaining = remaining(deadline)?;
            if !is_close_enough(self.read_timeout, remaining) {
                self.stream.set_read_timeout(Some(remaining))?;
                self.read_timeout = remaining;
            }
            match (&**self.stream).read(buffer) {
                Err(error) if is_retryable(&error) => {}
                done => {
                    METRICS.received.add(*done.as_ref().unwrap_or(&0) as u64);
                    return done;
                }
            }
        }
    }
}

/// Reads from a socket until a deadline, for the standard library's adapters.
struct DeadlineReader<'w, 'a> {
    socket: &'w mut Socket<'a>,
    deadline: Instant,
}

impl Read for DeadlineReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer, self.deadline)
    }
}

/// The time left until `deadline`, at least 1 ms. Fails with `TimedOut` after it.
fn remaining(deadline: Instant) -> io::Result<Duration> {
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left.max(Duration::from_millis(1))),
        _ => Err(ErrorKind::TimedOut.into()),
    }
}

/// Whether a wait of `remaining` can use the `timeout` that is already set: it ends at most
/// [`DEADLINE_TOLERANCE`] too late, and so rarely too early that waiting again costs less than setting it
/// again. With the default limits, a client that sends head and body separately needs no system call for its
/// deadlines.
fn is_close_enough(timeout: Duration, remaining: Duration) -> bool {
    timeout <= remaining + DEADLINE_TOLERANCE && timeout >= remaining / 4
}

/// Whether a read or write failed because of a socket timeout or a signal, so that its deadline decides.
fn is_retryable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests;
