//! The transport of the HTTP listener: one message in a text message of a WebSocket.

use super::{Connection, MessageWriter, Outbox};
use crate::agent::Registry;
use crate::http::web_socket::{GOING_AWAY, Message, UNSUPPORTED_DATA, WebSocket, WebSocketSender};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The longest message of a client, in bytes.
pub const MAX_WEB_SOCKET_MESSAGE: usize = 16 << 20;
/// How long cancelled turns may take to end after the client has left.
const TURN_GRACE: Duration = Duration::from_secs(2);
/// How long the last messages may take to be written.
const WRITE_GRACE: Duration = Duration::from_millis(500);

/// Serves the client of a WebSocket on the calling thread, until it leaves or the registry is closed.
pub fn serve_web_socket(registry: &Arc<Registry>, socket: &mut WebSocket<'_, '_>) {
    let sender = socket.sender().clone();
    let gone = registry.cancel().child();
    let writer = TextWriter(sender.clone());
    let outbox = match Outbox::new("acp web socket", writer, gone.clone()) {
        Ok(outbox) => outbox,
        Err(error) => return log::error!("ACP client not served reason={error}"),
    };
    let end = gone.on_cancel({
        let sender = sender.clone();
        move || sender.stop_receiving()
    });
    let connection = Connection::new(registry.clone(), outbox.clone(), &gone);
    while let Some(message) = socket.receive() {
        match message {
            Message::Text(text) => connection.receive(&text),
            Message::Binary(_) => {
                sender.close(UNSUPPORTED_DATA, "A message must be text");
                break;
            }
        }
    }
    connection.close(TURN_GRACE);
    outbox.close(WRITE_GRACE);
    if gone.is_cancelled() {
        sender.close(GOING_AWAY, "");
    }
    drop(end);
}

/// Writes each message as a text message.
struct TextWriter(WebSocketSender);

impl MessageWriter for TextWriter {
    fn write(&mut self, messages: &[Vec<u8>]) -> io::Result<()> {
        self.0.send_texts(messages)
    }
}
