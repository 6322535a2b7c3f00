//! The transport of the HTTP server, `GET /acp`: one message in a text message of a WebSocket, as Goose Desktop speaks
//! it from 1.41 on.

use super::LiveTurns;
use super::web_socket::{self, GOING_AWAY, Message, UNSUPPORTED_DATA, WebSocket, WebSocketSender};
use super::{Connection, MessageWriter, Outbox};
use crate::agent::Registry;
use crate::http::{Access, Error, Request, Response, Router};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The longest message of a client, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// How long cancelled turns may take to end after the client has left.
const TURN_GRACE: Duration = Duration::from_secs(2);
/// How long the last messages may take to be written.
const WRITE_GRACE: Duration = Duration::from_millis(500);

/// Adds the route to `router`.
pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let (registry, live) = (registry.clone(), Arc::<LiveTurns>::default());
    registry.observe(&live);
    router.get("/acp", Access::TokenKeyed, move |request| {
        connect(&registry, &live, request)
    })
}

/// Desktop finds out with a plain request whether its key is right, and expects 406 then.
fn connect(
    registry: &Arc<Registry>,
    live: &Arc<LiveTurns>,
    request: &Request,
) -> Result<Response, Error> {
    if !web_socket::is_upgrade(request) {
        let error = Error::new(406, "Connect with a WebSocket: `/acp` has nothing else");
        return Err(error.header("Upgrade", "websocket"));
    }
    let (registry, live, routes) = (registry.clone(), live.clone(), request.router());
    web_socket::accept(request, MAX_MESSAGE, move |socket| {
        serve(&registry, live, routes, socket);
    })
}

/// Serves the client of a WebSocket on the calling thread, until it leaves or the registry is closed.
fn serve(
    registry: &Arc<Registry>,
    live: Arc<LiveTurns>,
    routes: Arc<Router>,
    socket: &mut WebSocket<'_, '_>,
) {
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
    let connection = Connection::new(registry.clone(), routes, live, outbox.clone(), &gone);
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
