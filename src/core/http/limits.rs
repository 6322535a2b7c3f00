//! The limits of the HTTP server: sizes, connections and timeouts.

use crate::sys::{share_of_descriptors, share_of_memory};
use std::time::Duration;

/// The limits of an HTTP server. The defaults suit a server with one user.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Size in bytes of a request line with its header fields (64 KiB). A longer one gets 414 or 431.
    pub max_head_bytes: usize,
    /// Number of header fields of a request (100). More get 431.
    pub max_headers: usize,
    /// Size in bytes of a request's body (50 MiB, and no more than a sixteenth of the memory that this process may
    /// have). A longer one gets 413; if its length is declared, before the server reads any of it.
    pub max_body_bytes: usize,
    /// Number of connections served at a time (512, and no more than half of the descriptors that this process may
    /// have open). For one more, the server closes the oldest connection that has not sent the key, or else the one
    /// idle longest. If there is neither, the new connection waits for [`slot_timeout`](Self::slot_timeout).
    pub max_connections: usize,
    /// Time that a new connection waits while `max_connections` are served (250 ms); then it gets 503.
    /// Later connections wait in the system's queue.
    pub slot_timeout: Duration,
    /// Time from the first byte of a head to its last (10 s). A slower request gets 408. Also the time of a TLS
    /// handshake, from the connection on; one that is slower, or larger than `max_head_bytes`, ends the
    /// connection.
    pub head_timeout: Duration,
    /// Time that a connection may wait for the first byte of a request (120 s). Then the server closes it.
    pub idle_timeout: Duration,
    /// Time from the end of the head to the end of the body (60 s). A slower request gets 408.
    pub body_timeout: Duration,
    /// Time from the first byte of a response to its last (30 s). Then the server closes the connection.
    pub write_timeout: Duration,
    /// Time that the server discards the rest of an unread body before it closes the connection (1 s), so
    /// that the client reads the response instead of a reset.
    pub linger_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_head_bytes: 64 << 10,
            max_headers: 100,
            max_body_bytes: share_of_memory(50 << 20),
            max_connections: share_of_descriptors(512),
            slot_timeout: Duration::from_millis(250),
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            linger_timeout: Duration::from_secs(1),
        }
    }
}
