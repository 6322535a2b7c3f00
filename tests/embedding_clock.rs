//! A program with a clock of its own: what expires does so when that says it.
#![cfg(feature = "keys")]

mod support;

use gosling::agent::{Registry, Stores};
use gosling::http::{AccessControl, Limits, Server};
use gosling::parts::PARTS;
use gosling::store::Paths;
use gosling::sys::clock::{self, Utc};
use ring::digest::{SHA256, digest};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use support::{TEST_TIMEOUT, temp_dir};

/// The seconds by which the clock is ahead of that of the system.
static AHEAD: AtomicU64 = AtomicU64::new(0);

fn now() -> SystemTime {
    SystemTime::now() + Duration::from_secs(AHEAD.load(Ordering::SeqCst))
}

/// The begin of the answer to a client with this key.
fn status(at: SocketAddr, key: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let request = format!(
        "GET /sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Secret-Key: {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.chars().take("HTTP/1.1 200".len()).collect()
}

#[test]
fn a_key_expires_by_the_clock_of_the_program() {
    clock::set(now);
    let root = temp_dir();
    let paths = Paths::under(root.path());
    let key = "gosling_a key of a client";
    let hash = digest(&SHA256, key.as_bytes());
    let hash: String = hash
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let end = Utc::from_unix(clock::unix_seconds() + 3_600);
    let keys = format!(
        "ada:\n  role: read\n  sha256: {hash}\n  created: 2026-01-01T00:00:00Z\n  expires: {end}\n"
    );
    std::fs::create_dir_all(&paths.config).unwrap();
    std::fs::write(paths.config.join("keys.yaml"), keys).unwrap();

    let registry = Arc::new(Registry::new(Stores::new(&paths), PARTS, true));
    let router = gosling::api::router(registry.clone());
    let access = AccessControl::new(Some(b"another".to_vec()), Vec::new());
    let server = Server::bind(("127.0.0.1", 0), router, access, Limits::default()).unwrap();
    let at = server.local_addr();
    assert_eq!(status(at, key), "HTTP/1.1 200");
    AHEAD.store(3_000, Ordering::SeqCst);
    assert_eq!(status(at, key), "HTTP/1.1 200");
    AHEAD.store(3_600, Ordering::SeqCst);
    assert_eq!(status(at, key), "HTTP/1.1 401");
    server.stop(Duration::from_secs(1));
    registry.close();
}
