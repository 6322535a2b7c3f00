//! TLS on one connection: the server's half of rustls between the socket and the reader and writer of a
//! [`Stream`](crate::http::Stream).
//!
//! Three locks keep the threads of a connection apart. `connection` protects the protocol's state and is held
//! only while bytes in memory are encrypted or decrypted. `incoming` belongs to the thread that reads from the
//! socket, and `outgoing` to the thread that writes to it; each is held during that system call, which the
//! socket's timeout bounds, so that the records of one direction stay in order. A thread that cannot write
//! therefore never delays one that reads. The order of locking is `incoming` or `outgoing`, then `connection`.
//!
//! An idle connection owns no buffer but those of rustls: encrypted input is read into the buffer of the caller
//! and decrypted from there.

use super::Credentials;
use crate::http::{EncryptedSession, Encryption, HandshakeError};
use crate::sys::{lock, without_blocking};
use rustls::ServerConnection;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The largest number of encrypted bytes that one read takes from the socket, about one record.
const MAX_READ: usize = 16 << 10;
/// The number of decrypted bytes from which on nothing more is decrypted until they are read. rustls refuses
/// input above 16 KiB, and one read may add as much again.
const MAX_PLAINTEXT: usize = 16 << 10;
/// The size in bytes of the buffer for a handshake and for the check whether the client has left.
const SMALL_BUFFER: usize = 4 << 10;
/// The largest number of reads of one check whether the client has left.
const MAX_PROBE_READS: usize = 16;
/// The capacity in bytes of the output buffer that a connection keeps.
const MAX_IDLE_BUFFER: usize = 4 << 10;

/// The TLS state of one connection after its handshake.
struct Session {
    connection: Mutex<ServerConnection>,
    /// Encrypted input that waits until decrypted input is read, at most [`MAX_READ`] bytes.
    incoming: Mutex<Vec<u8>>,
    outgoing: Mutex<Outgoing>,
    /// Whether no more input can arrive: the client has closed its side, or broke the protocol.
    ended: AtomicBool,
}

/// Encrypted output that the socket has not accepted yet.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    /// The number of `bytes` that were sent.
    sent: usize,
}

impl Encryption for Credentials {
    fn accept(
        &self,
        socket: &TcpStream,
        deadline: Instant,
        max_bytes: usize,
    ) -> Result<Box<dyn EncryptedSession>, HandshakeError> {
        Ok(Box::new(Session::accept(
            self, socket, deadline, max_bytes,
        )?))
    }
}

impl Session {
    /// As [`Encryption::accept`].
    fn accept(
        credentials: &Credentials,
        socket: &TcpStream,
        deadline: Instant,
        max_bytes: usize,
    ) -> Result<Session, HandshakeError> {
        let mut buffer = [0; SMALL_BUFFER];
        let mut count = read_until(socket, &mut buffer, deadline)?;
        if buffer[0].is_ascii_uppercase() {
            return Err(HandshakeError::PlainHttp);
        }
        // Made only now, so that a client that sends nothing costs no memory for TLS.
        let connection =
            ServerConnection::new(credentials.server_config()).map_err(|_| HandshakeError::Gone)?;
        let session = Session {
            connection: Mutex::new(connection),
            incoming: Mutex::default(),
            outgoing: Mutex::default(),
            ended: AtomicBool::new(false),
        };
        let mut received = count;
        loop {
            let fed = session.feed(&buffer[..count], &mut lock(&session.incoming));
            session.send_until(socket, deadline)?;
            if fed.is_err() {
                // The session has kept the reason.
                if let Err(error) = lock(&session.connection).process_new_packets() {
                    log::debug!("TLS handshake refused reason={:?}", error.to_string());
                }
                return Err(HandshakeError::Refused);
            }
            if !lock(&session.connection).is_handshaking() {
                return Ok(session);
            }
            if received > max_bytes {
                return Err(HandshakeError::Refused);
            }
            count = read_until(socket, &mut buffer, deadline)?;
            received += count;
        }
    }

    /// Sends everything that the handshake has produced.
    fn send_until(&self, socket: &TcpStream, deadline: Instant) -> Result<(), HandshakeError> {
        let mut outgoing = lock(&self.outgoing);
        self.take_output(&mut outgoing);
        while !outgoing.is_empty() {
            let timeout = time_left(deadline)?;
            let sent = socket
                .set_write_timeout(Some(timeout))
                .and_then(|()| outgoing.send(|bytes| (&*socket).write(bytes)));
            match sent {
                Ok(()) => {}
                Err(error) if is_wait(&error) => {}
                Err(_) => return Err(HandshakeError::Gone),
            }
        }
        Ok(())
    }

    /// Decrypts `bytes`. Those that must wait until decrypted input is read are appended to `incoming`.
    fn feed(&self, mut bytes: &[u8], incoming: &mut Vec<u8>) -> io::Result<()> {
        let mut connection = lock(&self.connection);
        loop {
            let Ok(state) = connection.process_new_packets() else {
                self.ended.store(true, Ordering::SeqCst);
                return Err(ErrorKind::InvalidData.into());
            };
            if state.peer_has_closed() {
                self.ended.store(true, Ordering::SeqCst);
                return Ok(());
            }
            if bytes.is_empty() {
                return Ok(());
            }
            if state.plaintext_bytes_to_read() >= MAX_PLAINTEXT {
                incoming.extend_from_slice(bytes);
                return Ok(());
            }
            // Fails if the buffer for one record is full.
            if !matches!(connection.read_tls(&mut bytes), Ok(1..)) {
                self.ended.store(true, Ordering::SeqCst);
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    /// Notes that the socket has no more input.
    fn end_input(&self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = lock(&self.connection).read_tls(&mut io::empty());
    }

    /// Decrypted bytes that are there already, or the end of the input; `None` if more must be read first.
    fn take_plaintext(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        match lock(&self.connection).reader().read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            read => Some(read),
        }
    }

    /// Sends what the protocol answers to input, if that is possible at once. Otherwise the next write sends it.
    fn answer(&self, socket: &TcpStream) {
        let has_output = lock(&self.connection).wants_write();
        if has_output && let Some(mut outgoing) = try_lock(&self.outgoing) {
            self.take_output(&mut outgoing);
            // The next read or write finds a failure.
            let _ = outgoing.send(|bytes| without_blocking::send_now(socket, bytes));
        }
    }

    /// Moves what rustls has encrypted into `outgoing`.
    fn take_output(&self, outgoing: &mut Outgoing) {
        let mut connection = lock(&self.connection);
        while connection.wants_write() {
            // Writing to memory does not fail.
            let _ = connection.write_tls(&mut outgoing.bytes);
        }
    }
}

impl EncryptedSession for Session {
    fn read(&self, socket: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = lock(&self.incoming);
        if let Some(read) = self.take_plaintext(buffer) {
            return read;
        }
        let fed = if incoming.is_empty() {
            let most = buffer.len().min(MAX_READ);
            match (&*socket).read(&mut buffer[..most])? {
                0 => {
                    self.end_input();
                    Ok(())
                }
                count => self.feed(&buffer[..count], &mut incoming),
            }
        } else {
            let bytes = std::mem::take(&mut *incoming);
            self.feed(&bytes, &mut incoming)
        };
        self.answer(socket);
        fed?;
        let read = self.take_plaintext(buffer);
        read.unwrap_or_else(|| Err(ErrorKind::Interrupted.into()))
    }

    fn write(&self, socket: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut outgoing = lock(&self.outgoing);
        if !outgoing.is_empty() {
            outgoing.send(|bytes| (&*socket).write(bytes))?;
            if !outgoing.is_empty() {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        let taken = {
            let mut connection = lock(&self.connection);
            connection.writer().write_vectored(slices)?
        };
        self.take_output(&mut outgoing);
        match outgoing.send(|bytes| (&*socket).write(bytes)) {
            Err(error) if !is_wait(&error) => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&self, socket: &TcpStream) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        outgoing.send(|bytes| (&*socket).write(bytes))?;
        if outgoing.is_empty() {
            Ok(())
        } else {
            Err(ErrorKind::Interrupted.into())
        }
    }

    fn has_unsent(&self) -> bool {
        !lock(&self.outgoing).is_empty()
    }

    fn close(&self, socket: &TcpStream, how: Shutdown) -> io::Result<()> {
        // RFC 8446 §6.1.
        lock(&self.connection).send_close_notify();
        self.answer(socket);
        socket.shutdown(how)
    }

    /// Decrypts what has arrived, within [`MAX_PLAINTEXT`]; false while more is pending.
    fn hung_up(&self, socket: &TcpStream) -> bool {
        if self.ended.load(Ordering::SeqCst) {
            return true;
        }
        // The thread that reads notices the end itself.
        let Some(mut incoming) = try_lock(&self.incoming) else {
            return false;
        };
        let mut buffer = [0; SMALL_BUFFER];
        for _ in 0..MAX_PROBE_READS {
            let is_full = match lock(&self.connection).process_new_packets() {
                Ok(state) => state.plaintext_bytes_to_read() >= MAX_PLAINTEXT,
                Err(_) => return true,
            };
            if is_full || !incoming.is_empty() {
                return false;
            }
            match without_blocking::receive_now(socket, &mut buffer) {
                Ok(0) => self.end_input(),
                // A failure sets `ended`.
                Ok(count) => drop(self.feed(&buffer[..count], &mut incoming)),
                Err(error) => return !is_wait(&error),
            }
            if self.ended.load(Ordering::SeqCst) {
                return true;
            }
        }
        false
    }
}

/// Omits the state, which contains keys.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Sends as much as one call of `write` accepts, and frees the buffer once all is sent.
    fn send(&mut self, write: impl FnOnce(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        if !self.is_empty() {
            match write(&self.bytes[self.sent..])? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => self.sent += count,
            }
        }
        if self.is_empty() {
            self.sent = 0;
            self.bytes.clear();
            self.bytes.shrink_to(MAX_IDLE_BUFFER);
        }
        Ok(())
    }
}

/// Reads once, until `deadline`.
fn read_until(
    socket: &TcpStream,
    buffer: &mut [u8],
    deadline: Instant,
) -> Result<usize, HandshakeError> {
    loop {
        let timeout = time_left(deadline)?;
        let read = socket
            .set_read_timeout(Some(timeout))
            .and_then(|()| (&*socket).read(buffer));
        match read {
            Ok(0) => return Err(HandshakeError::Gone),
            Ok(count) => return Ok(count),
            Err(error) if is_wait(&error) => {}
            Err(_) => return Err(HandshakeError::Gone),
        }
    }
}

fn time_left(deadline: Instant) -> Result<Duration, HandshakeError> {
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left.max(Duration::from_millis(1))),
        _ => Err(HandshakeError::Gone),
    }
}

/// Whether a read or write failed because it would have to wait longer, or because of a signal.
fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests;
