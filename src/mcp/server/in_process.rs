//! A transport to a server in the same process. It has no thread, queue or framing: the sending thread
//! dispatches the message.

use super::reply::ReplySink;
use super::{Connection, GRACE, Server};
use crate::transport::{MessageHandler, Stream, Transport, TransportError};
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Slot = Mutex<Option<Arc<dyn MessageHandler>>>;

/// The transport. Closing it ends the server's running calls.
pub struct InProcess {
    /// `None` after it was closed.
    connection: Mutex<Option<Arc<Connection>>>,
    handler: Arc<Slot>,
    sink: ReplySink,
}

impl InProcess {
    /// A new connection to the server.
    pub fn new(server: impl Into<Arc<Server>>) -> Self {
        let handler = Arc::new(Slot::default());
        let listening = Arc::downgrade(&handler);
        let sink: ReplySink = Arc::new(move |message: Vec<u8>| {
            let handler = listening.upgrade().and_then(|slot| lock(&slot).clone());
            if let Some(handler) = handler {
                handler.message(&message, Stream::Shared);
            }
        });
        let connection = Connection::new(server, &Cancel::new())
            .refusing()
            .notifying(sink.clone());
        InProcess {
            connection: Mutex::new(Some(Arc::new(connection))),
            handler,
            sink,
        }
    }
}

impl Transport for InProcess {
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        *lock(&self.handler) = Some(handler);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, _request: Option<i64>) -> Result<(), TransportError> {
        let connection = lock(&self.connection).clone();
        let connection = connection.ok_or(TransportError::Closed)?;
        connection.receive(&message, &self.sink);
        Ok(())
    }

    fn holds_state(&self, unused: Duration) -> bool {
        let connection = lock(&self.connection).clone();
        connection.is_some_and(|connection| connection.server().holds_state(unused))
    }

    fn close(&self) {
        let connection = lock(&self.connection).take();
        lock(&self.handler).take();
        if let Some(connection) = connection {
            connection.close(GRACE);
        }
    }
}
