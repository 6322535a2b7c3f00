//! A connection inside one process, for builtin servers and for tests of the protocol.

use crate::transport::{MessageHandler, Stream, Transport, TransportError};
use crossbeam_channel::{Receiver as Inbox, Sender, TrySendError, bounded};
use gosling_sys::lock;
use std::sync::{Arc, Mutex};

/// The most messages that wait for the server.
const QUEUE: usize = 1024;

/// The client's end.
pub struct MemoryTransport {
    to_server: Mutex<Option<Sender<Vec<u8>>>>,
    shared: Arc<Shared>,
}

/// The server's end. Dropping it closes the connection.
pub struct ServerEnd {
    inbox: Inbox<Vec<u8>>,
    outbox: Outbox,
}

/// The server's sender; it may be cloned for several threads.
#[derive(Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    handler: Mutex<Option<Arc<dyn MessageHandler>>>,
}

/// A connection: the client's end and the server's.
pub fn pair() -> (MemoryTransport, ServerEnd) {
    let (sender, inbox) = bounded(QUEUE);
    let shared = Arc::new(Shared::default());
    let memory = MemoryTransport {
        to_server: Mutex::new(Some(sender)),
        shared: shared.clone(),
    };
    let outbox = Outbox { shared };
    (memory, ServerEnd { inbox, outbox })
}

impl Transport for MemoryTransport {
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        *lock(&self.shared.handler) = Some(handler);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, _request: Option<i64>) -> Result<(), TransportError> {
        let to_server = lock(&self.to_server).clone();
        match to_server.map(|to_server| to_server.try_send(message)) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(message))) => Err(TransportError::NotReading {
                waiting: QUEUE * message.len(),
            }),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(TransportError::Closed),
        }
    }

    fn close(&self) {
        lock(&self.to_server).take();
        lock(&self.shared.handler).take();
    }
}

impl ServerEnd {
    /// The next message of the client; `None` once it has closed the connection.
    pub fn recv(&self) -> Option<Vec<u8>> {
        self.inbox.recv().ok()
    }

    /// The server's sender.
    pub fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }
}

impl Drop for ServerEnd {
    fn drop(&mut self) {
        let handler = lock(&self.outbox.shared.handler).take();
        if let Some(handler) = handler {
            handler.closed(TransportError::Closed);
        }
    }
}

impl Outbox {
    /// Sends one message to the client; dropped if the client has closed the connection.
    pub fn send(&self, message: &[u8]) {
        let handler = lock(&self.shared.handler).clone();
        if let Some(handler) = handler {
            handler.message(message, Stream::Shared);
        }
    }
}
