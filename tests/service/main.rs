//! gosling as a service: its manager, where it listens, reloads, proxies, and what it prints for these.
#![cfg(feature = "service")]

mod artefacts;
mod disks;
mod drain;
mod hosts;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "../support/http_peer.rs"]
mod http_peer;
mod listeners;
mod logs;
mod manager;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "../support/model_server.rs"]
mod model_server;
#[path = "../support/policy_file.rs"]
mod policy_file;
mod proxies;
mod reload;
#[path = "../support/mod.rs"]
mod support;

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn at(socket: UnixDatagram) -> Self {
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Manager(socket)
    }

    /// The next message. A process that was stopped or frozen goes on with `Interrupted`, not with what it waited for.
    #[track_caller]
    fn heard(&self) -> String {
        let mut buffer = [0; 4096];
        let length = loop {
            match self.0.recv(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                length => break length.expect("a message in time"),
            }
        };
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// Waits for a message with this line.
    #[track_caller]
    fn hears(&self, line: &str) -> String {
        for _ in 0..1000 {
            let heard = self.heard();
            if heard.lines().any(|it| it == line) {
                return heard;
            }
        }
        panic!("{line} was not heard");
    }
}
