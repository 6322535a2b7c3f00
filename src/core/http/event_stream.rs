//! Event streams: a response body that a handler writes while it runs (HTML Living Standard §9.2).
//!
//! The handler's thread writes. A second thread checks ten times a second whether the client is still
//! connected, and sends a keep-alive event when nothing was sent for [`KEEP_ALIVE_INTERVAL`], so that the
//! client and proxies keep the stream open.

use super::Stream;
use super::listener::shown;
use crate::json;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time without output after which the stream sends a keep-alive event.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// The interval at which the stream checks whether the client is still connected.
const HANGUP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The size in bytes at which queued events are sent without a flush.
const FLUSH_BYTES: usize = 32 << 10;
/// The capacity in bytes above which the buffer is shrunk after a flush.
const MAX_IDLE_BUFFER: usize = 256 << 10;
/// The number of bytes reserved for a chunk's size and line end: `0000abcd\r\n`.
const CHUNK_HEADER: usize = 10;

/// An open event stream.
///
/// Its methods do not fail: when the client has disconnected, [`gone`](Self::gone) is cancelled, and events are
/// discarded.
pub struct EventStream {
    shared: Arc<Shared>,
    poller: Option<(Sender<()>, JoinHandle<()>)>,
    broken_off: bool,
}

/// For a body that does not consist of events: bytes are sent as they are. It fails when the client has disconnected.
impl Write for EventStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(FLUSH_BYTES)];
        self.add(|out| out.extend_from_slice(bytes));
        if self.shared.gone.is_cancelled() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        EventStream::flush(self);
        Ok(())
    }
}

struct Shared {
    stream: Arc<Stream>,
    /// Whether the body is chunked; otherwise the end of the connection ends it.
    chunked: bool,
    /// The timeout of one write.
    limit: Duration,
    /// The keep-alive text: a whole event or comment.
    keep_alive: &'static str,
    gone: Cancel,
    out: Mutex<Out>,
}

struct Out {
    /// The queued events, after [`CHUNK_HEADER`] bytes reserved for the chunk's size.
    buffer: Vec<u8>,
    /// When something was last sent.
    last: Instant,
}

impl EventStream {
    /// Opens the event stream on `stream`, after the head was sent.
    pub(super) fn open(
        stream: &Arc<Stream>,
        peer: Option<SocketAddr>,
        chunked: bool,
        limit: Duration,
        keep_alive: &'static str,
    ) -> EventStream {
        let shared = Arc::new(Shared {
            stream: Arc::clone(stream),
            chunked,
            limit,
            keep_alive,
            gone: Cancel::new(),
            out: Mutex::new(Out {
                buffer: vec![0; CHUNK_HEADER],
                last: Instant::now(),
            }),
        });
        let (end, ended) = bounded(0);
        let polled = Arc::clone(&shared);
        // If the thread cannot start, the next write detects that the client has left.
        let poller = sys::spawn(format!("poller {}", shown(peer)), None, move || {
            polled.poll(&ended)
        });
        EventStream {
            shared,
            poller: poller.ok().map(|thread| (end, thread)),
            broken_off: false,
        }
    }

    /// Queues an event with the JSON that `write` appends as its data. It is sent by [`flush`](Self::flush), at
    /// the latest with the next keep-alive.
    pub fn queue(&mut self, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        self.add(|out| {
            let start = out.len();
            out.extend_from_slice(b"data: ");
            match write(out) {
                Ok(()) => {
                    json::in_one_line(&mut out[start..]);
                    out.extend_from_slice(b"\n\n");
                }
                Err(error) => {
                    out.truncate(start);
                    log::error!("an event has no JSON form reason={error}");
                }
            }
        });
    }

    /// Queues an event with an id, from which a client can resume, and with `json` as its data, unchanged. An
    /// event without data only sets the id.
    pub fn queue_with_id(&mut self, id: impl Display, json: &[u8]) {
        let mut out = lock(&self.shared.out);
        out.buffer
            .extend_from_slice(format!("id: {}\ndata: ", in_one_line(id)).as_bytes());
        // A client that does not read must not cost a copy of a large event.
        let sent = json.chunks(FLUSH_BYTES).all(|part| {
            let start = out.buffer.len();
            out.buffer.extend_from_slice(part);
            json::in_one_line(&mut out.buffer[start..]);
            out.buffer.len() < FLUSH_BYTES || self.shared.flush(&mut out)
        });
        out.buffer.extend_from_slice(b"\n\n");
        drop(out);
        self.shared.cancel_unless(sent);
    }

    /// Queues a comment, which clients ignore.
    pub fn queue_comment(&mut self, text: impl Display) {
        self.add(|out| out.extend_from_slice(format!(": {}\n\n", in_one_line(text)).as_bytes()));
    }

    /// Closes the connection without the end of the body.
    pub(super) fn break_off(&mut self, error: &io::Error) {
        if !self.shared.gone.is_cancelled() {
            log::error!("a body was broken off reason={error}");
        }
        self.broken_off = true;
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = lock(&self.shared.out);
        write(&mut out.buffer);
        let sent = out.buffer.len() < FLUSH_BYTES || self.shared.flush(&mut out);
        drop(out);
        self.shared.cancel_unless(sent);
    }

    /// Sends the queued events.
    pub fn flush(&mut self) {
        let sent = self.shared.flush(&mut lock(&self.shared.out));
        self.shared.cancel_unless(sent);
    }

    /// Checks at once whether the client is still connected.
    pub fn is_connected(&self) -> bool {
        if self.shared.stream.hung_up() {
            self.shared.gone.cancel();
        }
        !self.shared.gone.is_cancelled()
    }

    /// Cancelled when the client has disconnected or does not read within the write timeout.
    pub fn gone(&self) -> &Cancel {
        &self.shared.gone
    }

    /// Ends the body. False if the connection cannot be reused.
    pub(super) fn close(mut self) -> bool {
        self.flush();
        self.stop();
        if self.broken_off || self.shared.gone.is_cancelled() {
            // With TLS, the end of the connection would otherwise tell the client that the body is complete.
            self.shared.stream.abort();
        } else if self.shared.chunked {
            let sent = self.shared.write(b"0\r\n\r\n");
            self.shared.cancel_unless(sent);
        }
        self.shared.chunked && !self.broken_off && !self.shared.gone.is_cancelled()
    }

    fn stop(&mut self) {
        if let Some((end, thread)) = self.poller.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Polls the connection and sends keep-alives until the stream ends or the client disconnects.
    fn poll(&self, ended: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(HANGUP_POLL_INTERVAL) {
            if self.stream.hung_up() {
                self.gone.cancel();
                return;
            }
            let sent = self.keep_alive(&mut lock(&self.out));
            self.cancel_unless(sent);
        }
    }

    fn keep_alive(&self, out: &mut Out) -> bool {
        if out.last.elapsed() < KEEP_ALIVE_INTERVAL {
            return true;
        }
        if out.buffer.len() == CHUNK_HEADER {
            out.buffer.extend_from_slice(self.keep_alive.as_bytes());
        }
        self.flush(out)
    }

    /// Cancels the token if a write failed. Must be called without the lock, because a hook of the token may
    /// take it.
    fn cancel_unless(&self, sent: bool) {
        if !sent {
            self.gone.cancel();
        }
    }

    /// Sends the queued events with one write; false if that failed. The lock is held during the write, so that
    /// two frames are never interleaved.
    fn flush(&self, out: &mut Out) -> bool {
        let length = out.buffer.len() - CHUNK_HEADER;
        if length == 0 {
            return true;
        }
        let sent = if self.chunked {
            let size = format!("{length:08x}\r\n");
            out.buffer[..CHUNK_HEADER].copy_from_slice(size.as_bytes());
            out.buffer.extend_from_slice(b"\r\n");
            self.write(&out.buffer)
        } else {
            self.write(&out.buffer[CHUNK_HEADER..])
        };
        out.buffer.truncate(CHUNK_HEADER);
        out.buffer.shrink_to(MAX_IDLE_BUFFER);
        out.last = Instant::now();
        sent
    }

    fn write(&self, bytes: &[u8]) -> bool {
        self.gone.is_cancelled() || self.stream.write_within(bytes, self.limit).is_ok()
    }
}

/// Text that cannot begin another field.
fn in_one_line(text: impl Display) -> String {
    text.to_string().replace(['\r', '\n'], " ")
}
