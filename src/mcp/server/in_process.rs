//! A server in the client's own process, as the client's transport. There is no thread, no queue and no
//! framing between the two: what the client sends is dispatched by the thread that sends it.

use super::reply::Sink;
use super::{Connection, GRACE, Server};
use crate::mcp::transport::{Receiver, Stream, Transport, TransportError};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::sync::{Arc, Mutex};

type Slot = Mutex<Option<Arc<dyn Receiver>>>;

/// The transport. Closing it ends the server's running calls and lets go of the server.
pub struct InProcess {
    /// Until it is closed.
    connection: Mutex<Option<Arc<Connection>>>,
    receiver: Arc<Slot>,
    sink: Sink,
}

impl InProcess {
    /// A connection to a server of its own.
    pub fn new(server: impl Into<Arc<Server>>) -> Self {
        let receiver = Arc::new(Slot::default());
        let listening = Arc::downgrade(&receiver);
        let sink: Sink = Arc::new(move |message: Vec<u8>| {
            let receiver = listening.upgrade().and_then(|slot| lock(&slot).clone());
            if let Some(receiver) = receiver {
                receiver.message(&message, Stream::Shared);
            }
        });
        let connection = Connection::new(server, &Cancel::new()).refusing();
        InProcess {
            connection: Mutex::new(Some(Arc::new(connection))),
            receiver,
            sink,
        }
    }
}

impl Transport for InProcess {
    fn start(&self, receiver: Arc<dyn Receiver>) -> Result<(), TransportError> {
        *lock(&self.receiver) = Some(receiver);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, _request: Option<i64>) -> Result<(), TransportError> {
        let connection = lock(&self.connection).clone();
        let connection = connection.ok_or(TransportError::Closed)?;
        connection.receive(&message, &self.sink);
        Ok(())
    }

    fn close(&self) {
        let connection = lock(&self.connection).take();
        lock(&self.receiver).take();
        if let Some(connection) = connection {
            connection.close(GRACE);
        }
    }
}
