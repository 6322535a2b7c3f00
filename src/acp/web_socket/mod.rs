//! WebSockets on the connections of the HTTP server (RFC 6455), without extensions and subprotocols.
//!
//! A handler answers a handshake with [`accept`]. The connection's thread then runs what it was given, which
//! reads messages from a [`WebSocket`]; any thread may send through a [`WebSocketSender`]. The limits are those
//! of the server ([`Limits`](crate::http::Limits)): a message must arrive within its `body_timeout`, and every 64 KiB
//! must be taken within its `write_timeout`. A client of which nothing was heard for a while is asked with a ping, and
//! disconnected if it does not answer.
//!
//! `frame` decodes and encodes without I/O, `handshake` checks the request.

mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handshake;

use crate::http::{Error, Request, Response, Socket, Stream};
use crate::sys::lock;
use frame::{Decoder, Opcode, Received, Violation};
pub use handshake::is_upgrade;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

/// The end of a session as both sides want it (RFC 6455 §7.4.1).
pub const NORMAL_CLOSURE: u16 = 1000;
/// The server stops.
pub const GOING_AWAY: u16 = 1001;
/// A message is of a kind that the server does not take, such as a binary one.
pub const UNSUPPORTED_DATA: u16 = 1003;
const PROTOCOL_ERROR: u16 = 1002;
const POLICY_VIOLATION: u16 = 1008;

/// The part of the server's idle timeout without anything from the client after which it gets a ping (30 s).
const PING_DIVISOR: u32 = 4;
/// How often a client is asked in vain before it is disconnected.
const MAX_PINGS: u32 = 3;
/// How many bytes are written with one time limit, and at least with one system call.
const WRITE_BYTES: usize = 64 << 10;

/// Answers the client's opening handshake. `run` then has the connection, which ends with it, and the WebSocket is
/// closed if `run` has not done so; a message of the client may have `max_message` bytes.
///
/// # Errors
/// 400 if the request is no handshake, 426 if it is of another version.
pub fn accept(
    request: &Request,
    max_message: usize,
    run: impl FnOnce(&mut WebSocket<'_, '_>) + Send + 'static,
) -> Result<Response, Error> {
    let accepted = handshake::accept(request)?;
    let response = Response::upgrade("websocket", move |socket| {
        let mut web_socket = WebSocket {
            sender: WebSocketSender(Arc::new(Shared {
                stream: Arc::clone(socket.stream()),
                timeout: socket.limits().write_timeout,
                control: Mutex::default(),
                out: Mutex::default(),
            })),
            socket,
            decoder: Decoder::new(max_message),
            pings: 0,
            message_deadline: None,
        };
        run(&mut web_socket);
        web_socket.sender.close(NORMAL_CLOSURE, "");
    });
    Ok(response.header("Sec-WebSocket-Accept", &accepted))
}

/// A message of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// UTF-8.
    Text(Vec<u8>),
    /// Any bytes.
    Binary(Vec<u8>),
}

/// A connection after the handshake, for the thread that reads.
pub struct WebSocket<'a, 's> {
    socket: &'a mut Socket<'s>,
    sender: WebSocketSender,
    decoder: Decoder,
    /// How many pings the client has not answered.
    pings: u32,
    /// When the message that has begun must be complete.
    message_deadline: Option<Instant>,
}

impl WebSocket<'_, '_> {
    /// Sends to the client; clones may do so in other threads.
    pub fn sender(&self) -> &WebSocketSender {
        &self.sender
    }

    /// Waits for the next message, and answers pings meanwhile. `None` when the client has closed the
    /// WebSocket, is gone, or has violated the protocol or a limit, which it was told.
    pub fn receive(&mut self) -> Option<Message> {
        loop {
            let (taken, received) = match self.decoder.decode(self.socket.buffered()) {
                Ok(decoded) => decoded,
                Err(Violation { code, reason }) => {
                    log::info!("web socket closed code={code} reason={reason:?}");
                    self.sender.close(code, reason);
                    return None;
                }
            };
            self.socket.consume(taken);
            if !self.decoder.is_within_message() {
                self.message_deadline = None;
            }
            match received {
                Some(Received::Text(text)) => return Some(Message::Text(text)),
                Some(Received::Binary(bytes)) => return Some(Message::Binary(bytes)),
                Some(Received::Ping(payload)) => self.sender.control(Opcode::Pong, payload),
                Some(Received::Pong) => {}
                Some(Received::Close(code)) => {
                    self.sender.close(code.unwrap_or(NORMAL_CLOSURE), "");
                    return None;
                }
                None => self.fill()?,
            }
        }
    }

    /// Waits for further bytes; `None` if there will be none.
    fn fill(&mut self) -> Option<()> {
        loop {
            let now = Instant::now();
            let is_within = self.decoder.is_within_message() || !self.socket.buffered().is_empty();
            let deadline = if is_within {
                let limit = self.socket.limits().body_timeout;
                *self.message_deadline.get_or_insert(now + limit)
            } else {
                self.socket.shrink_buffer();
                now + self.socket.limits().idle_timeout / PING_DIVISOR
            };
            match self.socket.fill(deadline) {
                Ok(0) => return None,
                Ok(_) => {
                    self.pings = 0;
                    return Some(());
                }
                Err(error) if error.kind() != ErrorKind::TimedOut => return None,
                Err(_) if is_within => {
                    self.sender
                        .close(POLICY_VIOLATION, "A message took too long");
                    return None;
                }
                Err(_) if self.pings == MAX_PINGS => return None,
                Err(_) => {
                    self.pings += 1;
                    self.sender.control(Opcode::Ping, Vec::new());
                }
            }
        }
    }
}

/// Sends to the client of a [`WebSocket`]. Clones share the connection, and frames are never interleaved.
#[derive(Clone, Debug)]
pub struct WebSocketSender(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stream: Arc<Stream>,
    timeout: Duration,
    /// The control frame to send as soon as no other thread is writing. Of several only the last must be sent
    /// (RFC 6455 §5.5.3).
    control: Mutex<Option<(Opcode, Vec<u8>)>>,
    out: Mutex<Out>,
}

#[derive(Debug, Default)]
struct Out {
    buffer: Vec<u8>,
    /// Whether a close frame was sent, after which nothing may follow, or a write has failed.
    is_closed: bool,
}

impl WebSocketSender {
    /// Sends a message.
    ///
    /// # Errors
    /// When the WebSocket is closed, or the client has not read within the time limit; it is disconnected then.
    pub fn send(&self, message: &Message) -> io::Result<()> {
        let (opcode, payload) = match message {
            Message::Text(text) => (Opcode::Text, text),
            Message::Binary(bytes) => (Opcode::Binary, bytes),
        };
        self.write(opcode, std::slice::from_ref(payload))
    }

    /// Sends text messages in order, each of which must be UTF-8.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_texts(&self, texts: &[Vec<u8>]) -> io::Result<()> {
        self.write(Opcode::Text, texts)
    }

    /// Sends a close frame, if none was sent yet. No message can be sent after it.
    pub fn close(&self, code: u16, reason: &str) {
        let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
        self.control(Opcode::Close, payload);
    }

    /// Lets [`WebSocket::receive`] return `None`, in the thread that reads.
    pub fn stop_receiving(&self) {
        self.0.stream.stop_reading();
    }

    /// Sends a control frame now, or lets the thread do it that is writing. The thread that reads waits only for a
    /// client that sends pings and does not read the answers, which is disconnected at the write timeout.
    fn control(&self, opcode: Opcode, payload: Vec<u8>) {
        let mut control = lock(&self.0.control);
        if !matches!(&*control, Some((Opcode::Close, _))) {
            *control = Some((opcode, payload));
        }
        drop(control);
        self.write_control();
    }

    fn write_control(&self) {
        while lock(&self.0.control).is_some() {
            let mut out = match self.0.out.try_lock() {
                Ok(out) => out,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // The thread that writes calls this when it has finished.
                Err(TryLockError::WouldBlock) => return,
            };
            if let Some((opcode, payload)) = lock(&self.0.control).take() {
                let _ = self.0.write_frames(&mut out, opcode, &[payload]);
            }
        }
    }

    fn write(&self, opcode: Opcode, payloads: &[Vec<u8>]) -> io::Result<()> {
        let written = self
            .0
            .write_frames(&mut lock(&self.0.out), opcode, payloads);
        self.write_control();
        written
    }
}

impl Shared {
    fn write_frames(&self, out: &mut Out, opcode: Opcode, payloads: &[Vec<u8>]) -> io::Result<()> {
        if out.is_closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        out.is_closed = opcode == Opcode::Close;
        let written = payloads.iter().try_for_each(|payload| {
            frame::encode(opcode, payload, &mut out.buffer);
            match out.buffer.len() {
                ..WRITE_BYTES => Ok(()),
                _ => self.write_buffer(&mut out.buffer),
            }
        });
        let written = written.and_then(|()| self.write_buffer(&mut out.buffer));
        if written.is_err() {
            // A part of a frame may have been sent.
            out.is_closed = true;
            self.stream.abort();
        }
        written
    }

    fn write_buffer(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let mut parts = buffer.chunks(WRITE_BYTES);
        let written = parts.try_for_each(|part| self.stream.write_within(part, self.timeout));
        buffer.clear();
        buffer.shrink_to(WRITE_BYTES);
        written
    }
}
