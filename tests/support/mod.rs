//! Shared by several test files: temporary folders, a real server with an asserting client, and MCP servers
//! that misbehave by a script.
#![allow(dead_code)] // Each test file uses its own part.

pub mod acp_client;
pub mod acp_record;
pub mod client;
pub mod process;
pub mod scripted;
pub mod server;
pub mod session_events;
pub mod system;
pub mod turns;
pub mod watchdog;
pub mod web_socket;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of all waits. Only a failing test waits so long.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A folder of its own for one test, deleted when dropped.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        watchdog::ended(&self.0);
    }
}

pub fn temp_dir() -> TempDir {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let (root, prefix) = (
        std::env::temp_dir(),
        format!("gosling-test-{}", std::process::id()),
    );
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{prefix}-{n}"));
        match std::fs::create_dir(&path) {
            // Left by a killed process with the same id.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => {
                made.unwrap();
                watchdog::begun(&path, &root.join(prefix));
                return TempDir(path);
            }
        }
    }
}

/// Polls until `look` returns a value.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
