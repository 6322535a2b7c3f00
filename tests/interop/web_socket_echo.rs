//! Sends every message of a WebSocket back: `web-socket-echo`. Prints the address on which it listens, and ends
//! with its stdin.

use gosling::acp::web_socket;
use gosling::http::{Access, AccessControl, Limits, Router, Server};
use std::io::{self, Read};
use std::time::Duration;

/// The largest message of the public test suite has 16 MiB.
const MAX_MESSAGE: usize = 16 << 20;

fn main() -> io::Result<()> {
    let router = Router::new().get("/", Access::Public, |request| {
        web_socket::accept(request, MAX_MESSAGE, |socket| {
            while let Some(message) = socket.receive() {
                if socket.sender().send(&message).is_err() {
                    break;
                }
            }
        })
    });
    let guard = AccessControl::new(None, Vec::new());
    let server = Server::bind("127.0.0.1:0", router, guard, Limits::default())?;
    println!("{}", server.local_addr());
    io::stdin().read_to_end(&mut Vec::new())?;
    server.stop(Duration::ZERO);
    Ok(())
}
