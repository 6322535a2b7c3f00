//! Event streams: a response that is written while its handler runs (HTML Living Standard §9.2).
//!
//! The handler's thread writes. A second thread looks ten times a second whether the client is still
//! there, and says something when the handler has been silent for [`KEEP_ALIVE_INTERVAL`], so that the client and
//! whatever lies between know that the stream lives.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use serde::Serialize;

use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::{lock, net};

/// How long a stream may be silent before it says that it lives.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// How often it is looked whether the client is still there.
const HANGUP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// What is queued goes out at this size, whatever else follows.
const FLUSH_BYTES: usize = 32 << 10;
/// A buffer that grew beyond this for one event is given back after it.
const MAX_IDLE_BUFFER: usize = 256 << 10;
/// Room for a chunk's size and its line end: `0000abcd\r\n`.
const SIZE: usize = 10;

/// An open event stream, as its handler sees it.
///
/// Nothing here fails: when the client is gone, [`gone`](Self::gone) is cancelled and what is sent goes
/// nowhere.
pub struct EventStream {
    shared: Arc<Shared>,
    pulse: Option<(Sender<()>, JoinHandle<()>)>,
}

struct Shared {
    socket: Arc<TcpStream>,
    /// Whether the body is sent in chunks; otherwise the end of the connection ends it.
    chunked: bool,
    /// How long one write may take.
    limit: Duration,
    /// What is sent when there is nothing else to send: a whole event or comment.
    keep_alive: &'static str,
    gone: Cancel,
    out: Mutex<Out>,
}

struct Out {
    /// What is queued, after room for the chunk's size.
    buffer: Vec<u8>,
    /// When something was sent last.
    last: Instant,
}

impl EventStream {
    /// The stream on `socket`, after the head.
    pub(super) fn open(
        socket: &Arc<TcpStream>,
        peer: SocketAddr,
        chunked: bool,
        limit: Duration,
        keep_alive: &'static str,
    ) -> EventStream {
        let shared = Arc::new(Shared {
            socket: Arc::clone(socket),
            chunked,
            limit,
            keep_alive,
            gone: Cancel::new(),
            out: Mutex::new(Out {
                buffer: vec![0; SIZE],
                last: Instant::now(),
            }),
        });
        let (end, ended) = bounded(0);
        let beating = Arc::clone(&shared);
        // Without it, a client that left is noticed at the next write.
        let pulse = sys::spawn(format!("pulse {peer}"), None, move || beating.beat(&ended));
        EventStream {
            shared,
            pulse: pulse.ok().map(|thread| (end, thread)),
        }
    }

    /// Queues an event whose data is `value` as JSON. What is queued goes out with
    /// [`flush`](Self::flush), at the latest with the next keep-alive.
    pub fn queue(&mut self, value: &impl Serialize) {
        self.add(|out| {
            let start = out.len();
            out.extend_from_slice(b"data: ");
            match serde_json::to_writer(&mut *out, value) {
                Ok(()) => {
                    in_one_line(&mut out[start..]);
                    out.extend_from_slice(b"\n\n");
                }
                Err(error) => {
                    out.truncate(start);
                    log::error!("an event has no JSON form reason={error}");
                }
            }
        });
    }

    /// Queues an event with an id, by which a client says later how far it came, and with `json`, which
    /// is passed through, as its data. An event without data only tells the id.
    pub fn queue_with_id(&mut self, id: impl Display, json: &[u8]) {
        self.add(|out| {
            out.extend_from_slice(format!("id: {id}\ndata: ").as_bytes());
            let start = out.len();
            out.extend_from_slice(json);
            in_one_line(&mut out[start..]);
            out.extend_from_slice(b"\n\n");
        });
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = lock(&self.shared.out);
        write(&mut out.buffer);
        let sent = out.buffer.len() < FLUSH_BYTES || self.shared.flush(&mut out);
        drop(out);
        self.shared.notice(sent);
    }

    /// Sends what is queued.
    pub fn flush(&mut self) {
        let sent = self.shared.flush(&mut lock(&self.shared.out));
        self.shared.notice(sent);
    }

    /// Looks at once whether the client is still there, which is noticed after a while anyway.
    pub fn is_connected(&self) -> bool {
        if net::hung_up(&self.shared.socket) {
            self.shared.gone.cancel();
        }
        !self.shared.gone.is_cancelled()
    }

    /// Cancelled when the client has left: it hung up, or takes nothing any more.
    pub fn gone(&self) -> &Cancel {
        &self.shared.gone
    }

    /// Ends the body. False if the connection is of no more use.
    pub(super) fn close(mut self) -> bool {
        self.flush();
        self.stop();
        if self.shared.chunked {
            let sent = self.shared.write(b"0\r\n\r\n");
            self.shared.notice(sent);
        }
        self.shared.chunked && !self.shared.gone.is_cancelled()
    }

    fn stop(&mut self) {
        if let Some((end, thread)) = self.pulse.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// JSON that was passed through as it came may be laid out in lines, and a line end would end the data.
/// In a string there is no bare one, so this changes no value.
fn in_one_line(json: &mut [u8]) {
    for byte in json {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Looks after the stream until it ends or the client does.
    fn beat(&self, ended: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(HANGUP_POLL_INTERVAL) {
            if net::hung_up(&self.socket) {
                self.gone.cancel();
                return;
            }
            let sent = self.keep_alive(&mut lock(&self.out));
            self.notice(sent);
        }
    }

    fn keep_alive(&self, out: &mut Out) -> bool {
        if out.last.elapsed() < KEEP_ALIVE_INTERVAL {
            return true;
        }
        if out.buffer.len() == SIZE {
            out.buffer.extend_from_slice(self.keep_alive.as_bytes());
        }
        self.flush(out)
    }

    /// To be called without the lock, because what hangs on the token may want it.
    fn notice(&self, sent: bool) {
        if !sent {
            self.gone.cancel();
        }
    }

    /// Sends what is queued, with one write; false if that failed. Done under the lock, because a frame
    /// must not be interrupted by another; whoever waits for it would have to wait for the socket anyway.
    fn flush(&self, out: &mut Out) -> bool {
        let length = out.buffer.len() - SIZE;
        if length == 0 {
            return true;
        }
        let sent = if self.chunked {
            let size = format!("{length:08x}\r\n");
            out.buffer[..SIZE].copy_from_slice(size.as_bytes());
            out.buffer.extend_from_slice(b"\r\n");
            self.write(&out.buffer)
        } else {
            self.write(&out.buffer[SIZE..])
        };
        out.buffer.truncate(SIZE);
        out.buffer.shrink_to(MAX_IDLE_BUFFER);
        out.last = Instant::now();
        sent
    }

    fn write(&self, bytes: &[u8]) -> bool {
        self.gone.is_cancelled() || self.write_all(bytes).is_ok()
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + self.limit;
        while !bytes.is_empty() {
            match (&*self.socket).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if Instant::now() > deadline && !bytes.is_empty() {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}
